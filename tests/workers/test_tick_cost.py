"""A tick takes as many statements for 200 campaigns, runs or injector hosts as for one."""

import threading
from unittest import mock

import pytest
from django.db import connection
from django.db.models import Q

from campaigns.domain.lifecycle import RunState
from campaigns.engine.queries.engine import head_runs
from campaigns.engine.services import dispatch
from campaigns.models import Campaign, Probe, Run, RunEvent, Shard
from tests.engine.scenes import host, statements
from tests.factories import make_endpoint, make_target
from tests.queues import make_queue
from workers import dispatching
from workers.dispatching import Dispatcher
from workers.side_threads import EndingsThread

pytestmark = pytest.mark.django_db
MANY = 200


def ticks() -> tuple[int, int, int]:
    """The statements of a tick, of one with the rules that can wait, and of what ends runs."""
    dispatcher = Dispatcher(threading.Event())
    dispatcher.tick()
    plain = statements(dispatcher.tick)
    with mock.patch.object(dispatching, "TIDY_EVERY_S", -1):
        tidying = statements(dispatcher.tick)
    return plain, tidying, statements(EndingsThread(threading.Event(), is_active=bool).act)


def queued_without_slots(project, n):
    make_queue(project, n)


def queued_behind_a_busy_target(project, n):
    make_queue(project, n)
    Run.objects.filter(state=RunState.QUEUED).update(machines=["10.0.0.1"])
    busy = Run.objects.filter(state=RunState.PREPARING)
    if not busy.exists():
        host(slots=64)
        make_queue(project, 1, state=RunState.PREPARING)
        busy.update(machines=["10.0.0.1"])


def preparing(project, n):
    make_queue(project, n, state=RunState.PREPARING)


def waiting_for_first_requests(project, n):
    runs = make_queue(project, n)
    campaigns = [run.campaign for run in runs]
    Campaign.objects.filter(pk__in=[each.pk for each in campaigns]).update(opened_at=None)
    endpoint = make_endpoint(make_target(project))
    Probe.objects.bulk_create(
        Probe(endpoint=endpoint, request={}, campaign=each, plan_version=runs[0].test.plan_version)
        for each in campaigns
    )


def late_and_answered(project, n):
    runs = make_queue(project, n)
    dispatch.end_queued(Run.objects.all(), "stopped", "over")
    Campaign.objects.update(finished_at="2026-01-01T00:00Z")
    notes = RunEvent.objects.bulk_create(RunEvent(run=run, kind="late_seconds") for run in runs)
    RunEvent.objects.bulk_create(
        RunEvent(run=note.run, kind="summarised", data={"up_to": note.pk}) for note in notes
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "make",
    [
        queued_without_slots,
        queued_behind_a_busy_target,
        preparing,
        waiting_for_first_requests,
        late_and_answered,
    ],
)
def test_one_object_and_200_take_the_same_statements(project, make):
    counts = []
    for n in (1, MANY - 1):
        make(project, n)
        counts.append(ticks())
    few, many = counts
    assert many == few
    plain, tidying, _ = few
    assert plain <= 15
    assert tidying <= 25


def test_a_tick_admits_some_and_the_next_one_goes_on(project, monkeypatch):
    monkeypatch.setattr(dispatch, "MOST_AT_ONCE", 3)
    host(slots=64)
    make_queue(project, 5)
    project.caps = {"RUNS": 50}
    project.save()
    assert [dispatch.admit_runs() for _ in range(3)] == [3, 2, 0]


def test_a_tick_arms_some_the_oldest_first_and_none_that_is_not_ready(project, monkeypatch):
    monkeypatch.setattr(dispatch, "MOST_AT_ONCE", 2)
    runs = make_queue(project, 4, state=RunState.PREPARING)
    holder = {"worker": "w", "host": "h", "lease_until": "2030-01-01T00:00Z"}
    for shard_state in ("claimed", "ready"):
        Shard.objects.filter(run__in=runs[1:]).update(state=shard_state, **holder)
    assert [dispatch.move_runs() for _ in range(3)] == [2, 1, 0]
    runs[0].refresh_from_db()
    assert runs[0].state == RunState.PREPARING


@pytest.mark.parametrize(
    ("rows", "index"),
    [
        (Run.objects.filter(state=RunState.QUEUED), "run_not_done"),
        (Run.objects.exclude(state=RunState.DONE), "run_not_done"),
        (
            Shard.objects.filter(
                state__in=dispatch.LIVE_SHARD_STATES, lease_until__lt="2026-01-01T00:00Z"
            ),
            "shard_by_lease",
        ),
        (
            Probe.objects.filter(
                Q(requested_at__lt="2026-01-01T00:00Z") | Q(claimed_at__lt="2026-01-01T00:00Z"),
                finished_at=None,
            ),
            "probe_unanswered",
        ),
        (
            RunEvent.objects.filter(kind="late_seconds", at__gt="2026-01-01T00:00Z"),
            "event_to_answer",
        ),
        (
            Campaign.objects.filter(finished_at=None, opened_at__isnull=False),
            "campaign_not_finished",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_goes_on_is_found_by_an_index_of_nothing_else(db, rows, index):
    """PostgreSQL may use it for these conditions; in a small table it would rather read all."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    assert index in rows.order_by().explain()


def test_the_next_run_comes_after_the_latest_end_of_its_campaign(project):
    run = make_queue(project, 1)[0]
    assert head_runs().get().last_end is None
    done = Run.objects.get(pk=run.pk)
    done.pk, done.position, done.repeat, done.state = None, 2, 2, RunState.DONE
    done.outcome, done.ended_at = "complete", "2026-01-01T00:00Z"
    done.save()
    assert head_runs().get().last_end.year == 2026
