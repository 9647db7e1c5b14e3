from collections import Counter

import pytest
from django.db import IntegrityError, transaction

from campaigns.core.database import db_now
from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import StopReason
from campaigns.domain.metrics.injector_end import InjectorEnd
from campaigns.domain.metrics.kept_requests import KeptRequests
from campaigns.domain.plan.frozen_run import ordered_plan
from campaigns.engine.services import dispatch, endings
from campaigns.engine.services.shards import (
    FINISHED_UNHEARD,
    LOST_SENDING,
    STOPPED_UNHEARD,
    claim_shard,
    heartbeat,
    look,
    mark_done,
    mark_lost,
    mark_ready,
    mark_running,
    record_requests,
    record_seconds,
)
from campaigns.models import RequestsOfShard, Run, RunEvent, Shard, ShardSecond
from tests.engine.scenes import (
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
    started,
)

REQUESTS = {
    "number": [1], "step": [0], "start_us": [10], "response_us": [2000], "status": [200],
    "kind": [""], "wait_us": [1900],
}  # fmt: skip


def the_shard(lease) -> Shard:
    return Shard.objects.get(pk=lease.shard_id)


class TestClaiming:
    def test_a_lease_holds_the_order_for_the_injector(self, project, settings):
        settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
        run = preparing(project, n_shards=2)
        first, second_ = claim(run)
        assert [first.number, second_.number] == [0, 1]
        assert first.order == {
            "protocol": 1,
            "run": run.label,
            "plan": ordered_plan(run.snapshot["plan"]),
            "endpoint": run.snapshot["endpoint"],
            "connection_mode": "new",
            "shard": {"index": 0, "count": 2},
            "policy": {"allow": ["127.0.0.0/8"], "never": ["127.0.0.1:8000"]},
            "seed": run.campaign.seed,
        }

    def test_a_host_sends_nothing_where_its_own_list_forbids_it(self, project, settings):
        settings.ALLOWED_NETWORKS = ["10.0.0.0/8", "127.0.0.0/8"]
        run = preparing(project)
        settings.ALLOWED_NETWORKS = ["10.1.0.0/16"]
        assert claim(run)[0].order["policy"]["allow"] == ["10.1.0.0/16"]

    def test_the_shares_of_the_plan_are_the_weights_of_the_order(self, project):
        run = preparing(project, n_shards=2)
        run.snapshot["plan"]["load"]["shares"] = [2, 1]
        run.save()
        assert [lease.order["shard"]["weights"] for lease in claim(run)] == [[2, 1], [2, 1]]

    def test_a_claimed_shard_names_its_worker_and_has_a_lease(self, project, settings):
        lease = claim(preparing(project))[0]
        shard = the_shard(lease)
        assert (shard.state, shard.worker, shard.host, shard.epoch) == (
            "claimed",
            "w0",
            "host 1",
            1,
        )
        left = Shard.objects.filter(
            pk=shard.pk, lease_until__range=(db_now(settings.LEASE_S - 5), db_now(settings.LEASE_S))
        )
        assert left.exists()

    def test_the_run_that_was_made_first_gets_its_injectors_first(self, project):
        first, later = preparing(project, n_shards=2), preparing(project)
        run_ids = [claim_shard(worker="w", host="h").run_id for _ in range(3)]
        assert run_ids == [first.pk, first.pk, later.pk]

    def test_there_is_nothing_to_claim_of_a_run_that_waits(self, project):
        started(project)
        assert claim_shard(worker="w", host="h") is None

    def test_there_is_nothing_to_claim_of_a_run_that_is_being_stopped(self, project):
        run = preparing(project)
        Run.objects.filter(pk=run.pk).update(stop_requested="user")
        assert claim_shard(worker="w", host="h") is None

    def test_a_claim_and_a_doorbell_for_nothing_are_one_statement_each(
        self, project, django_assert_num_queries
    ):
        preparing(project)
        for is_found in (True, False):
            with django_assert_num_queries(1):
                assert bool(claim_shard(worker="w", host="h")) == is_found

    @pytest.mark.django_db(transaction=True)
    def test_two_hundred_shards_have_one_worker_each_however_many_ask(self, project):
        for n in range(4):
            host(slots=60, name=f"host {n}")
            started(project, injectors=50)
        assert dispatch.admit_runs() == 4

        def claim_all(name):
            leases = []
            while lease := claim_shard(worker=name, host=name):
                leases.append(lease.shard_id)
            return leases

        claims = at_once(*(lambda name=f"w{n}": claim_all(name) for n in range(8)))
        times = Counter(pk for pks in claims for pk in pks)
        # A row that another one is about to take is skipped: who finds none may leave early.
        times.update(claim_all("last"))
        assert len(times) == 200
        assert set(times.values()) == {1}


class TestTheLease:
    def test_a_heartbeat_renews_it_and_tells_what_the_run_does(self, project):
        run, (lease,) = armed(project)
        Shard.objects.update(lease_until=db_now(1))
        pulse = heartbeat(lease=lease)
        assert (pulse.stop_requested, pulse.t0) == (None, run.t0)
        assert Shard.objects.filter(lease_until__gt=db_now(20)).exists()

    def test_an_expired_one_cannot_be_revived_nor_by_looking_nor_begin_to_send(self, project):
        run, (lease,) = armed(project)
        expire(run)
        assert look(lease=lease).t0 == run.t0
        assert heartbeat(lease=lease) is None
        assert not mark_running(lease=lease)

    def test_one_that_was_renewed_just_now_lives_whatever_the_databases_clock_says(self, project):
        run, (lease,) = running(project)
        expire(run)
        assert heartbeat(lease=lease, is_fresh=True)
        assert heartbeat(lease=lease)

    def test_an_older_epoch_may_do_nothing(self, project):
        run = preparing(project)
        old = claim(run)[0]
        expire(run)
        dispatch.reap_shards()
        new = claim_shard(worker="other", host="host 2")
        assert (old.epoch, new.epoch) == (1, 3)
        assert heartbeat(lease=old) is None
        assert look(lease=old) is None
        assert not mark_ready(lease=old)
        assert not mark_lost(lease=old, reason="no")
        assert mark_ready(lease=new)
        dispatch.move_runs()
        assert not mark_running(lease=old)
        assert mark_running(lease=new)
        assert not mark_done(lease=old, end=end())
        with pytest.raises(Refused, match="another worker"):
            record_seconds(lease=old, seconds=[second(0)])
        assert not ShardSecond.objects.exists()


class TestMoving:
    def test_ready_comes_before_the_start_and_running_after(self, project):
        lease = claim(preparing(project))[0]
        assert not mark_running(lease=lease)
        assert mark_ready(lease=lease)
        assert not mark_running(lease=lease), "before the start is set nobody sends"
        dispatch.move_runs()
        assert mark_running(lease=lease)

    def test_what_had_no_answer_may_be_said_again(self, project):
        """The connection was cut after the change and before its answer."""
        run = preparing(project)
        (lease,) = claim(run)
        assert [mark_ready(lease=lease), mark_ready(lease=lease)] == [True, True]
        dispatch.move_runs()
        assert mark_ready(lease=lease), "also when all others are ready"
        assert [mark_running(lease=lease), mark_running(lease=lease)] == [True, True]
        assert run.events.filter(kind__in=("shard_ready", "shard_running")).count() == 2

    def test_done_keeps_the_injectors_end_line(self, project):
        _, (lease,) = running(project)
        assert mark_done(lease=lease, end=end())
        assert the_shard(lease).end["outcome"] == "complete"
        assert not mark_lost(lease=lease, reason="too late")

    def test_what_is_done_may_be_said_after_the_lease_ran_out(self, project):
        run, (lease,) = running(project)
        expire(run)
        assert mark_done(lease=lease, end=end())

    @pytest.mark.parametrize("scene", [preparing, armed, running])
    def test_lost_is_said_with_its_reason_from_every_live_state(self, project, scene):
        result = scene(project)
        lease = claim(result)[0] if scene is preparing else result[1][0]
        assert mark_lost(lease=lease, reason="The injector was killed by SIGKILL.")
        shard = the_shard(lease)
        assert (shard.state, shard.reason) == ("lost", "The injector was killed by SIGKILL.")

    def test_who_knows_why_a_shard_was_lost_has_the_last_word(self, project):
        run, lease = measuring(project)
        expire(run)
        assert settle(run).reason == LOST_SENDING
        cut_off = "The injector host had no contact with PostgreSQL for 20 s and stopped sending."
        assert not mark_lost(lease=lease, reason=cut_off)
        endings.summarise_late_runs()
        assert settle(run).reason == cut_off
        mark_lost(lease=lease, reason="anything else")
        endings.summarise_late_runs()
        assert settle(run).reason == cut_off

    @pytest.mark.parametrize(
        ("end_line", "reason"),
        [
            (end(), FINISHED_UNHEARD),
            (end("stopped"), STOPPED_UNHEARD),
            (InjectorEnd(outcome="stopped", reason="dead_man"), StopReason.DEAD_MAN.sentence),
        ],
        ids=["finished", "was told to stop", "stopped by itself"],
    )
    def test_a_shard_that_was_given_up_after_its_end_says_how_it_ended(
        self, project, end_line, reason
    ):
        run, lease = measuring(project)
        expire(run)
        assert settle(run).reason == LOST_SENDING
        assert not mark_done(lease=lease, end=end_line)
        endings.summarise_late_runs()
        assert (settle(run).outcome, run.reason) == ("partial", reason)


class TestSeconds:
    def test_they_are_stored_as_they_came(self, project):
        run, (lease,) = running(project)
        line = second(3, in_flight=7, vitals={"cpu_share": 0.5})
        assert record_seconds(lease=lease, seconds=[line]) == 1
        row = run.seconds.get()
        assert row.line == line
        assert (row.shard, row.epoch) == (0, 1)
        assert the_shard(lease).last_second == 3

    def test_written_twice_they_are_stored_once(self, project):
        run, (lease,) = running(project)
        both = [second(0), second(1), second(1, step=1)]
        assert record_seconds(lease=lease, seconds=both) == 3
        assert record_seconds(lease=lease, seconds=[*both, second(2)]) == 1
        assert run.seconds.count() == 4

    def test_nothing_to_store_is_no_statement(self, project, django_assert_num_queries):
        _, (lease,) = running(project)
        with django_assert_num_queries(0):
            assert record_seconds(lease=lease, seconds=[]) == 0

    def test_a_shard_that_has_not_begun_has_none(self, project):
        _, (lease,) = armed(project)
        with pytest.raises(Refused):
            record_seconds(lease=lease, seconds=[second(0)])

    def test_late_ones_of_a_lost_shard_are_welcome_and_noted(self, project):
        run, (lease,) = running(project)
        expire(run)
        dispatch.reap_shards()
        assert record_seconds(lease=lease, seconds=[second(0)]) == 1
        note = RunEvent.objects.get(run=run, kind="late_seconds")
        assert note.data == {"shard": 0, "stored": 1}
        record_seconds(lease=lease, seconds=[second(0)])
        assert RunEvent.objects.filter(kind="late_seconds").count() == 1

    def test_a_day_after_the_end_they_are_refused(self, project):
        run, (lease,) = running(project)
        mark_lost(lease=lease, reason="gone")
        Run.objects.filter(pk=run.pk).update(ended_at=db_now(-25 * 3600))
        with pytest.raises(Refused, match="more than a day"):
            record_seconds(lease=lease, seconds=[second(0)])

    def test_single_requests_are_stored_once_and_go_with_their_run(self, project):
        run, (lease,) = running(project)
        line = {"type": "requests", "is_all": True, "columns": REQUESTS}
        for _ in range(2):
            record_requests(lease=lease, lines=[line])
        assert run.kept_requests.get().value() == KeptRequests.from_line(line)
        Run.objects.filter(pk=run.pk).delete()
        assert not RequestsOfShard.objects.exists()

    @pytest.mark.django_db(transaction=True)
    def test_two_writers_of_the_same_seconds_store_each_once(self, project):
        run, (lease,) = running(project)
        lines = [second(n) for n in range(20)]
        counts = at_once(*[lambda: record_seconds(lease=lease, seconds=lines)] * 4)
        assert sum(counts) == run.seconds.count() == 20

    def test_a_stored_one_never_changes(self, project):
        run, _ = measuring(project)
        with pytest.raises(IntegrityError, match="never change"), transaction.atomic():
            run.seconds.update(epoch=2)
