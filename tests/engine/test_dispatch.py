"""The dispatcher's rules: barrier, leases, doorbells, slots of hosts, moves of the lifecycle."""

from datetime import timedelta
from itertools import product

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from campaigns.core.database import db_now
from campaigns.domain.lifecycle import MAX_AGE_S, RUN_MOVES, SHARD_MOVES, RunState, ShardState
from campaigns.engine.queries.injector_hosts import ALIVE_S, free_slots, live_hosts, total_slots
from campaigns.engine.services import dispatch
from campaigns.engine.services.shards import (
    claim_shard,
    mark_done,
    mark_lost,
    mark_ready,
    mark_running,
    record_seconds,
)
from campaigns.models import InjectorHost, Run, RunSummary, Shard
from campaigns.operations.services.load_control import announce_host
from tests.engine.scenes import (
    age,
    armed,
    at_once,
    claim,
    end,
    expire,
    host,
    measuring,
    preparing,
    running,
    second,
    settle,
    tick,
)


class TestTheBarrier:
    def test_the_start_is_set_when_every_shard_is_ready(self, project, settings):
        run = preparing(project, n_shards=2)
        first, second_ = claim(run)
        mark_ready(lease=first)
        assert dispatch.move_runs() == 0
        mark_ready(lease=second_)
        assert dispatch.move_runs() == 1
        run.refresh_from_db()
        assert run.state == "armed"
        assert run.t0 - run.state_at < timedelta(seconds=settings.START_DELAY_ONE_HOST_S)

    def test_between_hosts_the_start_is_further_away(self, project):
        run = preparing(project, n_shards=2)
        for name in ("host 1", "host 2"):
            mark_ready(lease=claim_shard(worker="w", host=name))
        dispatch.move_runs()
        run.refresh_from_db()
        assert timedelta(seconds=2.5) < run.t0 - run.state_at < timedelta(seconds=3)

    def test_the_first_shard_that_sends_makes_the_run_running(self, project):
        run, (first, second_) = armed(project, n_shards=2)
        mark_running(lease=first)
        dispatch.move_runs()
        run.refresh_from_db()
        assert run.state == "running"
        assert mark_running(lease=second_)

    def test_a_missed_barrier_releases_all_shards_and_tries_once_more(self, project):
        run = preparing(project, n_shards=2)
        lease = claim(run)[0]
        mark_ready(lease=lease)
        age(run, MAX_AGE_S[RunState.PREPARING] + 1)
        dispatch.age_runs()
        run.refresh_from_db()
        assert (run.state, run.barrier_failures) == ("queued", 1)
        assert {(s.state, s.epoch, s.worker) for s in run.shards.all()} == {("open", 2, "")}

    def test_the_second_missed_barrier_ends_the_run(self, project):
        run = preparing(project)
        for _ in range(2):
            claim(run)
            age(run, MAX_AGE_S[RunState.PREPARING] + 1)
            dispatch.age_runs()
            dispatch.admit_runs()
        settle(run)
        assert (run.state, run.outcome) == ("done", "failed")
        assert run.reason == "The injector processes were not all ready within 60 s, twice."

    def test_a_start_that_nobody_takes_ends_the_run(self, project):
        run, _ = armed(project)
        age(run, MAX_AGE_S[RunState.ARMED] + 1)
        settle(run)
        assert (run.outcome, run.stop_requested) == ("failed", "no_start")

    def test_an_injectors_refusal_ends_the_run_and_is_its_reason(self, project):
        run = preparing(project)
        mark_lost(lease=claim(run)[0], reason="The name nowhere.invalid could not be resolved.")
        settle(run)
        assert (run.state, run.outcome) == ("done", "failed")
        assert run.reason == "The name nowhere.invalid could not be resolved."


class TestLeases:
    def test_a_shard_that_has_not_begun_is_open_again_once(self, project):
        run = preparing(project)
        claim(run)
        expire(run)
        assert dispatch.reap_shards() == 1
        shard = run.shards.get()
        assert (shard.state, shard.epoch, shard.attempts) == ("open", 2, 1)
        claim(run)
        expire(run)
        dispatch.reap_shards()
        shard.refresh_from_db()
        assert shard.state == "lost"

    def test_a_shard_that_may_have_sent_is_never_run_again(self, project):
        run, _ = measuring(project)
        expire(run)
        settle(run)
        shard = run.shards.get()
        assert (shard.state, shard.epoch) == ("lost", 1)
        assert (run.state, run.outcome) == ("done", "partial")
        assert run.reason == "The injector host stopped answering while it was sending."

    def test_an_armed_shard_whose_host_is_gone_ends_the_run(self, project):
        run, _ = armed(project, n_shards=2)
        run.shards.filter(number=0).update(lease_until=db_now(-1))
        settle(run)
        assert (run.outcome, run.stop_requested) == ("failed", "shard_lost")
        assert run.reason.startswith("Injector process 1 of 2: The injector host stopped answering")


class TestSeveralDispatchers:
    @pytest.mark.django_db(transaction=True)
    def test_two_of_them_move_each_run_once(self, project):
        runs = [running(project) for _ in range(3)]
        for _, (lease,) in runs:
            record_seconds(lease=lease, seconds=[second(0)])
            mark_done(lease=lease, end=end())
        at_once(*[tick] * 4)
        tick()
        for run, _ in runs:
            run.refresh_from_db()
            assert run.state == "done"
            kinds = list(run.events.values_list("kind", flat=True))
            assert kinds.count("run_finalizing") == kinds.count("run_done") == 1
            assert RunSummary.objects.filter(run=run).exists()


def test_doorbells_ring_once_for_each_shard_that_waits(project, monkeypatch):
    doorbells = []
    monkeypatch.setattr(dispatch.queue, "send", lambda name: doorbells.append(name) or True)
    run = preparing(project, n_shards=3)
    claim_shard(worker="w", host="h")
    assert dispatch.ring_doorbells() == 2
    assert doorbells == ["workers.inject"] * 2
    Run.objects.filter(pk=run.pk).update(stop_requested="user")
    assert dispatch.ring_doorbells() == 0


def test_a_broker_that_is_away_ends_the_ringing(project, monkeypatch):
    monkeypatch.setattr(dispatch.queue, "send", lambda name: False)
    preparing(project, n_shards=3)
    assert dispatch.ring_doorbells() == 0


def silence(name, seconds):
    past = timezone.now() - timedelta(seconds=seconds)
    InjectorHost.objects.filter(name=name).update(seen_at=past)


def test_a_host_that_announces_itself_brings_its_slots(db):
    announce_host(name="a", slots=2, facts={"cores": 2})
    announce_host(name="b", slots=3, facts={})
    assert total_slots() == free_slots() == 5
    assert live_hosts().get(name="a").facts == {"cores": 2}


def test_a_silent_host_takes_its_slots_away(db):
    host(slots=2)
    silence("host 1", ALIVE_S + 1)
    assert not live_hosts().exists()
    assert total_slots() == 0


def test_announcing_again_changes_the_slots_and_keeps_the_start(db):
    host(slots=2)
    began = InjectorHost.objects.get().started_at
    host(slots=4)
    again = InjectorHost.objects.get()
    assert (again.slots, again.started_at) == (4, began)


def test_a_host_that_comes_back_after_a_silence_begins_anew(db):
    host(slots=2)
    began = InjectorHost.objects.get().started_at
    silence("host 1", ALIVE_S + 1)
    host(slots=2)
    assert InjectorHost.objects.get().started_at > began


def test_more_shards_than_slots_are_no_negative_freedom(project):
    preparing(project, n_shards=3)
    host(slots=1)
    assert free_slots() == 0


RUN_PAIRS = sorted(product(RunState, RunState))
SHARD_PAIRS = sorted(product(ShardState, ShardState))
# Each state is reached by legal moves, since nothing else gets there.
RUN_PATHS = {
    "queued": [],
    "preparing": ["preparing"],
    "armed": ["preparing", "armed"],
    "running": ["preparing", "armed", "running"],
    "stopping": ["preparing", "stopping"],
    "finalizing": ["preparing", "stopping", "finalizing"],
    "done": ["done"],
}
SHARD_PATHS = {
    "open": [],
    "claimed": ["claimed"],
    "ready": ["claimed", "ready"],
    "running": ["claimed", "ready", "running"],
    "storing": ["claimed", "ready", "running", "storing"],
    "done": ["claimed", "ready", "running", "done"],
    "lost": ["claimed", "lost"],
    "cancelled": ["cancelled"],
}


def move_run(run, state):
    outcome = "complete" if state == RunState.DONE else None
    return Run.objects.filter(pk=run.pk).update(state=state, outcome=outcome)


def move_shard(shard, state):
    return Shard.objects.filter(pk=shard.pk).update(
        state=state, worker="w", lease_until="2030-01-01T00:00:00Z"
    )


def test_each_moves_as_the_lifecycle_says_and_no_other_way(run):
    for kind, source, target in [
        *(("run", *pair) for pair in RUN_PAIRS),
        *(("shard", *pair) for pair in SHARD_PAIRS),
    ]:
        row, paths, moves, move = {
            "run": (run, RUN_PATHS, RUN_MOVES, move_run),
            "shard": (run.shards.get(), SHARD_PATHS, SHARD_MOVES, move_shard),
        }[kind]
        with transaction.atomic():
            for state in paths[source]:
                move(row, state)
            if source == target or (source, target) in moves:
                assert move(row, target) == 1
            else:
                refusal = pytest.raises(IntegrityError, match=f"a {kind} cannot go")
                with refusal, transaction.atomic():
                    move(row, target)
            transaction.set_rollback(True)


def test_each_move_leaves_an_event_in_the_same_transaction(run):
    with transaction.atomic():
        move_run(run, "preparing")
        transaction.set_rollback(True)
    assert not run.events.exists()
    move_run(run, "preparing")
    assert [(event.kind, event.data) for event in run.events.all()] == [
        ("run_preparing", {"from": "queued"})
    ]


def test_an_outcome_stands_exactly_at_the_end(run):
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(outcome="complete")
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(state="done")


def test_a_live_shard_without_a_lease_is_refused(run):
    with pytest.raises(IntegrityError), transaction.atomic():
        run.shards.update(state="claimed")
