"""What a run of WebSockets costs the target is told of its connections: it has no requests."""

import pytest

from campaigns.models import MachineSecond
from campaigns.queries.answers import campaign_answer
from campaigns.queries.machines import machine_tables
from campaigns.queries.perf_counts import perf_counters
from campaigns.queries.target_costs import target_costs
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_target,
    make_test,
)
from tests.queries.measured import run_in_blocks
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
CPU = {"user_s": 0.3, "system_s": 0.1, "interrupts_s": 0.0, "stolen_s": 0, "idle_s": 1.6}
PERF = {"of": "processes", "lasted_s": 1.0, "counts": {"cycles": [4e8, 100.0]}, "lacks": {}}
MOVED = {"received_bytes": 9000, "sent_bytes": 9000, "loopback_bytes": 0}


@pytest.fixture
def measured(project):
    """ws and wss in three blocks, of which an agent told CPU, bytes and perf counters."""
    campaign = make_campaign(project, repeats=3, order="blocks", perf="processes")
    spec = plan_spec(model="over", requests=2000, over_s=10)
    version = make_plan(project, spec=spec | {"steps": [], "exchange": {"path": "/"}})
    target = make_target(project)
    tests = [
        make_test(campaign, version, endpoint=make_endpoint(target, scheme, port))
        for scheme, port in (("ws", 8001), ("wss", 8002))
    ]
    runs = run_in_blocks(tests, [[10_000] * 3, [20_000] * 3])
    for run in runs:
        times = 1 + (run.test == tests[1])
        did = {**CPU, **{name: times * each for name, each in MOVED.items()}}
        MachineSecond.objects.bulk_create(
            MachineSecond(
                run=run, source="shop-1", second=second, lasted_s=1, busy_s=0.4 * times,
                watched_s=0.2 * times, did={**did, "perf": PERF},
            )
            for second in range(10)
        )  # fmt: skip
    return campaign, runs


def all_words(tables, sentences=()) -> str:
    """Everything that tables and sentences say, in one text."""
    words = ["".join(text for text, _ in sentence) for sentence in sentences]
    for table in tables:
        words += [table.title, table.note]
        words += [f"{each.title} {each.unit} {each.help}" for each in table.columns]
        words += [f"{row.label} {row.note}" for row in table.rows]
    return " | ".join(words).replace("\u202f", " ")


def test_of_a_run(measured):
    said = all_words(machine_tables(measured[1][0]))
    assert "CPU seconds per 1,000 connections" in said
    assert "| per 1,000 connections  Per second ÷ ok connections/s × 1,000." in said
    assert "request" not in said


def test_of_a_campaign(measured):
    campaign, _ = measured
    answer = campaign_answer(campaign)
    found = target_costs(campaign, answer)
    counters = perf_counters(campaign, answer).tables
    tables = [*found.cpu.tables, *found.network.tables, *counters]
    said = all_words(tables, [found.cpu.sentence, found.network.sentence])
    assert "WSS costs the server 100.0 % more CPU per connection than WS" in said
    assert "more bytes per connection than WS" in said
    assert "Network bytes per connection" in said
    assert "cycles per 1,000 connections, millions" in said
    assert "request" not in said
