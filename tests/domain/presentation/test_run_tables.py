"""Tables and tiles of one run."""

import pytest

from campaigns.domain.analysis.thresholds import ThresholdJudge
from campaigns.domain.metrics.figures import figures_of
from campaigns.domain.metrics.injector_end import InjectorEnd, TlsHandshakes
from campaigns.domain.metrics.kept_requests import KeptRequest, KeptRequests
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.snapshot import Timing, Total, length_counter
from campaigns.domain.other_tools.reports import REPORTS, ReportHead, jmeter
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.target import Origin
from campaigns.domain.plan.threshold import parse_rule
from campaigns.domain.presentation.latency_table import steps_table
from campaigns.domain.presentation.report_tables import parts_table, session_tables, tls_facts
from campaigns.domain.presentation.report_words import RunStatus, run_sentence, run_tiles
from campaigns.domain.presentation.request_tables import errors_of, slowest_table
from campaigns.domain.presentation.sentences import plain_text
from tests.values import make_second, plan_spec

THOUSAND = {"response": Timing.of([20_400] * 1000), "service": Timing.of([20_300] * 1000)}


def rows_of(**timings):
    table = parts_table(Total(timings=THOUSAND | timings))
    keys = [column.key for column in table.columns]
    return {
        row.label: dict(zip(keys, (cell.text for cell in row.cells), strict=True))
        for row in table.rows
    }


def test_a_run_shows_its_times_without_what_the_injector_added_beside_those_as_measured():
    rows = rows_of(undelayed=Timing.of([20_000] * 500))
    assert [*rows] == ["response", "service", "without the injector's part"]
    assert (rows["response"]["p50"], rows["response"]["n"]) == ("20.4", "1,000")
    left = rows["without the injector's part"]
    assert (left["mean"], left["p50"]) == ("20.0", "20.0")
    assert left["n"] == "500", "of so many it is known"


def test_where_no_reading_was_timed_nothing_is_said_of_the_injectors_part():
    assert [*rows_of()] == ["response", "service"]


SIX = Plan.from_json(plan_spec(model="over", requests=6, over_s=12))


def test_a_rate_above_the_planned_one_is_not_said_to_be_a_part_of_it():
    """Six requests, one every two seconds, take little more than ten."""
    for lasted_s, value, line in [
        (11, "0.545", "0.500 planned over 12 s"),
        (11.9999, "0.500", "of 0.500 planned"),
        (15, "0.400", "of 0.500 planned"),
    ]:
        total = Total()
        total.add(make_second(0, [20_000] * 6))
        run = RunStatus("done", "complete", None, "", figures_of(total, lasted_s), SIX)
        assert (run_tiles(run)[0]["value"], run_tiles(run)[0]["lines"][0]) == (value, line)


def test_where_all_has_failed_there_are_no_tiles_of_times():
    figures = figures_of(Total({"failed": 9, "started": 9}), 10.0)
    for state, keys in (("done", ["rate", "errors"]), ("running", None)):
        tiles = run_tiles(RunStatus(state, "complete", None, "", figures, SIX))
        assert [each["key"] for each in tiles] == (keys or ["rate", "p50", "p95", "p99", "errors"])


def test_a_percentile_has_both_ends_where_they_differ_by_more_than_a_twentieth():
    for quieter_us, value, line in [
        (20_000, "20.4", "of 1,000 ok requests"),
        (12_000, "12.0 to 20.4", "up to 5.40\u202fms are this machine's waiting"),
    ]:
        without = {
            "undelayed": Timing.of([15_000] * 1000),
            "quieter": Timing.of([quieter_us] * 500),
        }
        total = Total({"ok": 1000}, timings=THOUSAND | without)
        run = RunStatus("done", "complete", None, "", figures_of(total, 10.0), SIX)
        tiles = run_tiles(run)[1:4]
        assert [(tile["value"], tile["lines"]) for tile in tiles] == [(value, [line])] * 3


def total_with(**counters) -> Total:
    total = Total({"sessions_started": 30, "sessions_ok": 20, "sessions_failed": 6} | counters)
    total.timings = {
        "session": Timing.of([2_000_000] * 20),
        "session_failed": Timing.of([500_000] * 6),
    }
    return total


def sessions_in(**counters):
    return session_tables(Measurement(SIX, total=total_with(**counters), duration_s=4.0))


def texts(row):
    return [cell.text for cell in row.cells]


def test_ok_and_failed_sessions_have_a_row_each():
    table, *_ = sessions_in(
        connections_opened=58, sessions_dropped=1, calls_skipped=12, calls_retried=1
    )
    assert [row.label for row in table.rows] == ["ok sessions", "failed sessions"]
    assert texts(table.rows[0])[:2] == ["5.00", "2,000"]
    assert texts(table.rows[0])[-1] == "20"
    assert table.note == (
        "30 due, 20 ok, 6 failed; 1 dropped before they started; 3 not finished; "
        "2.00 connections each; 1 request retried after a failure; "
        "12 requests not sent after a failure or a drop."
    )


def test_each_length_has_its_share_of_the_sessions_that_ended():
    *_, table = sessions_in(session_length_5=20, session_length_1=5)
    assert [(row.label, *texts(row)) for row in table.rows] == [
        ("1 call", "5", "20.00"),
        ("5 calls", "20", "80.00"),
    ]


def test_rare_lengths_share_a_row():
    many = {length_counter(n): 1 + (n < 20) for n in range(60)}
    *_, table = sessions_in(**many)
    assert len(table.rows) == 21
    assert (table.rows[-1].label, texts(table.rows[-1])[0]) == ("other lengths", "40")


HTTPS = Origin("https", "shop.test", 443)
FULL = TlsHandshakes(
    "TLSv1.3", "AES", 10, 256, group="X25519", certificate="RSA 2048", chain_bytes=1204,
    bytes_sent=5000, bytes_received=30_000,
)  # fmt: skip
RESUMED = TlsHandshakes(
    "TLSv1.3", "AES", 90, 256, resumed=True, group="X25519", bytes_sent=54_000, bytes_received=9000
)


def facts(*handshakes, endpoint=HTTPS) -> list[list[str]]:
    return tls_facts(endpoint, [InjectorEnd(tls=handshakes, tls_library="OpenSSL 4.0.3")])


def test_the_bytes_of_full_and_resumed_handshakes_are_told_apart():
    assert facts(FULL, RESUMED) == [
        ["Certificate verified", "yes"],
        ["TLSv1.3, AES, X25519, 256 bits, full", "10"],
        ["TLSv1.3, AES, X25519, 256 bits, resumed", "90"],
        ["Certificate", "RSA 2048, 1,204 B sent"],
        ["Bytes of a full handshake, mean", "500 B sent, 3,000 B received"],
        ["Bytes of a resumed handshake, mean", "600 B sent, 100 B received"],
        ["Early data", "never sent"],
        ["Library", "OpenSSL 4.0.3"],
    ]


def test_an_injector_that_counted_no_bytes_has_no_mean_of_them():
    names = [name for name, _ in facts(FULL, TlsHandshakes("TLSv1.2", "AES", 1))]
    assert not any(name.startswith("Bytes") for name in names)


def test_a_headline_has_both_ends_of_a_time_where_the_machine_made_it_longer():
    response = Timing.of([2000] * 2000)
    timings = {"response": response, "service": response, "quieter": Timing.of([900] * 1000)}
    busy = figures_of(Total({"ok": 2000}, timings=timings), 10.0)
    quiet = figures_of(Total({"ok": 2000}, timings={"response": response}), 10.0)
    sentences = [
        plain_text(run_sentence(RunStatus("done", "complete", None, "", each, SIX))).replace(
            "\u202f", " "
        )
        for each in (busy, quiet)
    ]
    assert "0.900 to 2.00 ms on average (p95 0.900 to 2.00 ms)" in sentences[0]
    assert "2.00 ms on average (p95 2.00 ms)" in sentences[1]


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
    measurement = Measurement(plan, judge=ThresholdJudge(plan.thresholds, plan.flows))
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
            measurement.add(make_second(second, times_us, step, **fields))
    return measurement.settle()


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
    visits = shop()
    errors = errors_of(visits.failures, visits.plan.full_labels, visits.steps, 43, 2.0)
    assert [row.cells[1].text for row in errors.table.rows] == ["buy: GET /pay"]


def test_a_slowest_request_is_said_with_its_flow():
    requests = KeptRequests((KeptRequest(1, 2, 0, 50_000, 200, ""),))
    assert slowest_table(requests, shop().plan).rows[0].cells[0].text == "buy: GET /"


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
    for rule, value, is_kept in [
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
        assert (verdict.rule, verdict.passed) == (rule, is_kept)
        assert verdict.measured == pytest.approx(value, abs=1e-5)
        assert verdict.flow == ("" if "step" in rule else rule.split(" of ")[-1].split()[0])


def test_a_rule_of_a_flow_that_was_broken_meanwhile_says_since_when():
    [verdict] = shop("errors of buy < 1").thresholds
    assert verdict.since == 1
