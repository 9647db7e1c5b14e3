"""What each flow of a plan did: its rows, sums of its steps, in tables, reports and rules."""

import pytest

from campaigns.domain.analysis.thresholds import ThresholdJudge
from campaigns.domain.metrics.kept_requests import KeptRequest, KeptRequests
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.other_tools.reports import REPORTS, ReportHead, jmeter
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.threshold import parse_rule
from campaigns.domain.presentation.latency_table import steps_table
from campaigns.domain.presentation.report_tables import session_tables
from campaigns.domain.presentation.request_tables import errors_of, slowest_table
from tests.values import make_second

SPEC = {
    "steps": [{"path": "/"}, {"path": "/list"}, {"path": "/"}, {"path": "/pay"}],
    "load": {"model": "closed", "connections": 5, "requests": 100},
    "flows": [
        {"name": "browse", "share": 90, "steps": 2},
        {"name": "buy", "share": 10, "steps": 2},
    ],
}


def shop(*rules: str) -> Measurement:
    """Two seconds: nine sessions that browsed, one that bought and one that could not pay."""
    plan = Plan.from_json(SPEC | {"thresholds": [parse_rule(rule) for rule in rules]})
    seen = Measurement(plan, judge=ThresholdJudge(plan.thresholds, plan.flows))
    sessions = {
        0: ({"sessions_started": 9, "sessions_ok": 9}, {"session": Timing.of([40_000] * 9)}),
        2: (
            {"sessions_started": 2, "sessions_ok": 1, "sessions_failed": 1},
            {"session": Timing.of([500_000]), "session_failed": Timing.of([90_000])},
        ),
    }
    for second in (0, 1):
        for step, times_us in enumerate(([20_000] * 9, [10_000] * 9, [50_000] * 2, [450_000])):
            counters, timings = sessions[step] if second and step in sessions else ({}, {})
            fields = {"counters": counters, "timings": timings}
            if second and step == 3:
                fields |= {"counters": {"failed": 1}, "errors": {"status_unexpected": 1}}
                fields |= {"statuses": {"500": 1}}
            seen.add(make_second(second, times_us, step, **fields))
    return seen.settle()


def test_the_rows_of_steps_are_below_their_flow_whose_figures_are_their_sums():
    table = steps_table(shop())
    keys = [column.key for column in table.columns]
    rows = [dict(zip(keys, (cell.value for cell in row.cells), strict=True)) for row in table.rows]
    assert [(row.kind, row.label, row.link) for row in table.rows] == [
        ("total", "All steps", {}),
        ("flow", "browse", {"flow": "browse"}),
        ("step", "GET /", {"step": 0}),
        ("step", "GET /list", {"step": 1}),
        ("flow", "buy", {"flow": "buy"}),
        ("step", "GET /", {"step": 2}),
        ("step", "GET /pay", {"step": 3}),
    ]
    assert [row["n"] for row in rows] == [42, 36, 18, 18, 6, 4, 2]
    assert [row["errors"] for row in rows] == [1, 0, 0, 0, 1, 0, 1]
    assert (rows[1]["mean"], rows[4]["mean"], rows[4]["max"]) == (15.0, 183.3, 450.0)
    assert (rows[1]["rate"], rows[4]["rate"]) == (18.0, 3.0)


def test_sessions_of_each_flow_have_their_own_times():
    table, *_ = session_tables(shop())
    assert [(row.label, row.cells[-1].value) for row in table.rows] == [
        ("ok sessions", 10),
        ("failed sessions", 1),
        ("browse: ok sessions", 9),
        ("buy: ok sessions", 1),
        ("buy: failed sessions", 1),
    ]
    assert [row.cells[1].value for row in table.rows[2:]] == [40.0, 500.0, 90.0]


def test_an_error_is_said_with_its_flow():
    seen = shop()
    found = errors_of(seen.failures, seen.plan.full_labels, seen.steps, 43, 2.0)
    assert [row.cells[1].text for row in found.table.rows] == ["buy: GET /pay"]


def test_a_slowest_request_is_said_with_its_flow():
    kept = KeptRequests((KeptRequest(1, 2, 0, 50_000, 200, ""),))
    assert slowest_table(kept, shop().plan).rows[0].cells[0].text == "buy: GET /"


def test_jmeters_columns_have_a_row_for_each_flow():
    lines = jmeter(shop(), ReportHead("shop.test", 80, "keep-alive", None)).splitlines()
    rows = [
        line.split()[:2] for line in lines if line.startswith(("browse", "buy", "  GET", "TOT"))
    ]
    assert rows == [
        ["browse", "36"], ["GET", "/"], ["GET", "/list"],
        ["buy", "7"], ["GET", "/"], ["GET", "/pay"], ["TOTAL", "43"],
    ]  # fmt: skip


def test_the_terminals_report_has_requests_sessions_and_steps_of_each_flow():
    lines = REPORTS["plain"](shop(), ReportHead("shop.test", 80, "keep-alive", None)).splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("ms, by flow"))
    rows = [(line[:24].strip(), *line.split()[-2:]) for line in lines[first + 1 : first + 9]]
    assert rows == [
        ("browse", "0", "18.0"), ("sessions", "0", "4.5"), ("GET /", "0", "9.0"),
        ("GET /list", "0", "9.0"), ("buy", "1", "3.0"), ("sessions", "1", "0.5"),
        ("GET /", "0", "2.0"), ("GET /pay", "1", "1.0"),
    ]  # fmt: skip


def test_a_rule_of_a_flow_is_judged_by_its_steps_alone():
    for rule, measured, passed in [
        ("p95 of browse < 30 ms", 20.0, True),
        ("p95 of buy < 30 ms", 450.0, False),
        ("p95 of step 3 < 60 ms", 50.0, True),
        ("errors of buy < 10 %", 100 / 7, False),
        ("errors of status of browse < 1 %", 0.0, True),
        ("rate of browse > 17 /s", 18.0, True),
        ("session_p95 of buy < 1 s", 0.5, True),
        ("sessions_failed of browse < 1 %", 0.0, True),
        ("sessions_failed of buy < 1 %", 50.0, False),
    ]:
        [verdict] = shop(rule).thresholds
        assert (verdict.rule, verdict.passed) == (rule, passed)
        assert verdict.measured == pytest.approx(measured, abs=1e-5)
        assert verdict.flow == ("" if "step" in rule else rule.split(" of ")[-1].split()[0])


def test_a_rule_of_a_flow_that_was_broken_meanwhile_says_since_when():
    [verdict] = shop("errors of buy < 1").thresholds
    assert verdict.since == 1
