"""The dispatcher's rules: the barrier, leases, several dispatchers, doorbells."""

from datetime import timedelta

import pytest

from campaigns.domain.lifecycle import MAX_AGE_S, RunState
from campaigns.models import Run
from campaigns.models.dbtime import db_now
from campaigns.services import dispatch
from campaigns.services.shards import (
    claim_shard,
    mark_done,
    mark_lost,
    mark_ready,
    mark_running,
    record_seconds,
)
from tests.services.engine import (
    age,
    armed,
    at_once,
    claim,
    end,
    expire,
    preparing,
    running,
    second,
    settled,
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
        settled(run)
        assert (run.state, run.outcome) == ("done", "failed")
        assert run.reason == "The injector processes were not all ready within 60 s, twice."

    def test_a_start_that_nobody_takes_ends_the_run(self, project):
        run, _ = armed(project)
        age(run, MAX_AGE_S[RunState.ARMED] + 1)
        settled(run)
        assert (run.outcome, run.stop_requested) == ("failed", "no_start")

    def test_an_injectors_refusal_ends_the_run_and_is_its_reason(self, project):
        run = preparing(project)
        mark_lost(lease=claim(run)[0], reason="The name nowhere.invalid could not be resolved.")
        settled(run)
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
        run, (lease,) = running(project)
        record_seconds(lease=lease, seconds=[second(0)])
        expire(run)
        settled(run)
        shard = run.shards.get()
        assert (shard.state, shard.epoch) == ("lost", 1)
        assert (run.state, run.outcome) == ("done", "partial")
        assert run.reason == "The injector host stopped answering while it was sending."

    def test_an_armed_shard_whose_host_is_gone_ends_the_run(self, project):
        run, _ = armed(project, n_shards=2)
        run.shards.filter(number=0).update(lease_until=db_now(-1))
        settled(run)
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
            assert run.summaries.count() == 1


def test_doorbells_ring_once_for_each_shard_that_waits(project, monkeypatch):
    rung = []
    monkeypatch.setattr(dispatch.queue, "send", lambda name: rung.append(name) or True)
    run = preparing(project, n_shards=3)
    claim_shard(worker="w", host="h")
    assert dispatch.ring_doorbells() == 2
    assert rung == ["workers.inject"] * 2
    Run.objects.filter(pk=run.pk).update(stop_requested="user")
    assert dispatch.ring_doorbells() == 0


def test_a_broker_that_is_away_ends_the_ringing(project, monkeypatch):
    monkeypatch.setattr(dispatch.queue, "send", lambda name: False)
    preparing(project, n_shards=3)
    assert dispatch.ring_doorbells() == 0
