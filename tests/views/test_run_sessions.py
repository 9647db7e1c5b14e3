"""The tables of a run to which whole sessions came."""

import numpy as np
import pytest

from campaigns.domain.metrics.snapshot import Second, Timing
from campaigns.queries.reports import run_report
from tests.factories import (
    begin_run,
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
    store_second,
)
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


def second_of(number: int) -> Second:
    """Ten sessions of five requests, of which one failed at its second."""

    def each(us: int, count: int) -> Timing:
        return Timing.of(np.full(count, us))

    return Second(
        second=number,
        step=0,
        counters={
            "started": 47, "ok": 46, "failed": 1, "connections_opened": 20, "calls_skipped": 3,
            "sessions_started": 10, "sessions_ok": 9, "sessions_failed": 1,
            "session_length_5": 9, "session_length_1": 1,
        },
        errors={"reset": 1},
        statuses={"200": 46},
        timings={
            "response": each(6000, 46), "service": each(6000, 46), "failed": each(9000, 1),
            "session": each(1_200_000, 9), "session_failed": each(400_000, 1),
        },
    )  # fmt: skip


@pytest.fixture
def run(project):
    spec = plan_spec(model="open", rate_per_s=10, duration_s=5, arrival_unit="session")
    rules = [
        {"metric": "sessions_failed", "limit": 1, "unit": "%"},
        {"metric": "session_p95", "limit": 10, "unit": "s"},
    ]
    sessions = {"session": {"calls_per_session": 5}, "thresholds": rules}
    version = make_plan(project, spec={**spec, **sessions})
    endpoint = make_endpoint(make_target(project), "http", 8003)
    run = make_run(make_test(make_campaign(project), version, endpoint=endpoint))
    begin_run(run)
    for number in range(5):
        store_second(run, second_of(number))
    run.refresh_from_db()
    return run


def test_its_report_says_how_long_sessions_took_and_how_far_they_got(run):
    durations, lengths = run_report(run).sessions
    assert [row.label for row in durations.rows] == ["ok sessions", "failed sessions"]
    assert durations.note.startswith("50 due, 45 ok, 5 failed; 2.00 connections each; 15 requests")
    assert [row.label for row in lengths.rows] == ["1 call", "5 calls"]
    assert durations in run_report(run).tables


def test_rules_about_sessions_are_judged(run):
    rows = {row.label: row for row in run_report(run).thresholds.rows}
    assert [cell.text for cell in rows["sessions_failed < 1 %"].cells] == [
        "10 %", "1 %", "broken", "0",
    ]  # fmt: skip
    assert [cell.text for cell in rows["session_p95 < 10 s"].cells][1:3] == ["10 s", "kept"]


def test_the_rate_asked_for_is_that_of_requests(run):
    assert ["Rate planned", "50.0/s"] in dict(run_report(run).facts)["Load, planned and reached"]
