"""The tables of a WebSocket run and of its campaign: handshakes, messages, close codes."""

import numpy as np
import pytest

from campaigns.domain.metrics.snapshot import Second, Timing
from campaigns.models import Campaign, Run
from campaigns.models.dbtime import db_now
from campaigns.permissions import Actor
from campaigns.queries.columns import columns_of
from campaigns.queries.compared_tests import comparison_of
from campaigns.queries.measurements import points_of
from campaigns.queries.reports import run_report
from campaigns.queries.runs import chart_plan
from campaigns.services.summaries import summarise_run
from tests.factories import (
    begin_run,
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
    plan_spec,
    store_second,
)  # fmt: skip

pytestmark = pytest.mark.django_db


def make_plan_of_exchange(project):
    spec = {**plan_spec(), "steps": [], "connection_mode": "new"}
    return make_plan(project, spec={**spec, "exchange": {"path": "/feed", "messages": 10}})


def second_of(number: int, n: int = 100) -> Second:
    def each(us: int, count: int = n) -> Timing:
        return Timing.of(np.full(count, us))

    return Second(
        second=number,
        step=0,
        counters={
            "started": n, "ok": n, "messages_sent": 10 * n, "messages_received": 10 * n,
            "close_code_1000": n, "window_throttled": 2, "window_resumed": 1,
        },
        statuses={"101": n},
        timings={
            "response": each(6000), "service": each(6000), "connect": each(500),
            "handshake": each(1500), "exchange": each(3000), "close": each(1000),
            "message": each(300, 10 * n),
        },
        vitals={"open_connections": 7},
    )  # fmt: skip


@pytest.fixture
def run(project):
    version = make_plan_of_exchange(project)
    endpoint = make_endpoint(make_target(project), "ws", 8003)
    test = make_test(make_campaign(project), version, endpoint=endpoint, connection_mode="new")
    run = make_run(test)
    begin_run(run)
    for number in range(5):
        store_second(run, second_of(number))
    run.refresh_from_db()
    return run


def test_its_seconds_have_open_connections_and_messages(run):
    point = points_of(run)[0]
    assert (point["open_connections"], point["messages"]) == (7, 1000)
    assert chart_plan(run)["isExchange"]


def test_its_facts_count_websockets_and_the_bursts_of_its_window(run):
    facts = dict(run_report(run).facts)
    handshakes = dict(facts["Handshakes"])
    assert handshakes["WebSockets opened"] == "500"
    assert handshakes["High mark reached"] == "10 times"
    assert handshakes["Refilled after falling below the low mark"] == "5 times"
    assert "Requests per connection" not in handshakes


@pytest.fixture
def finished(run):
    """The run with its summary, as its campaign has it when all is over."""
    for state in ("finalizing", "done"):
        outcome = {"outcome": "complete"} if state == "done" else {}
        Run.objects.filter(pk=run.pk).update(state=state, **outcome)
    Campaign.objects.filter(pk=run.campaign_id).update(started_at=db_now(-60), finished_at=db_now())
    run = Run.objects.get(pk=run.pk)
    summarise_run(run)
    return run


def test_two_runs_are_compared_by_their_handshakes_and_messages(finished, vera):
    asked = {"a": f"run-{finished.pk}", "b": f"test-{finished.test_id}"}
    compared = comparison_of(columns_of(Actor(user=vera), asked))
    labels = [row.label for row in compared.detail.counts.rows]
    assert {"handshake p95, ms", "message p99, ms", "messages/s"} <= set(labels)
