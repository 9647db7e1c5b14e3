from datetime import timedelta

import pytest

from campaigns.domain.lifecycle import MAX_AGE_S, RunState
from campaigns.models import Campaign, Run, RunEvent
from campaigns.models.dbtime import db_now
from campaigns.queries.engine import stuck_runs, waiting_reason
from campaigns.services import dispatch, endings
from campaigns.services.campaigns import stop_campaign
from campaigns.services.hosts import announce_host
from campaigns.services.shards import (
    claim_shard,
    mark_done,
    mark_lost,
    mark_ready,
    mark_running,
    record_seconds,
)
from tests.factories import make_endpoint, make_target
from tests.services.engine import (
    age,
    armed,
    at_once,
    claim,
    draft,
    end,
    expire,
    host,
    preparing,
    running,
    second,
    started,
)


def states(campaign) -> list[str]:
    return list(campaign.runs.order_by("position").values_list("state", flat=True))


def tick() -> None:
    dispatch.stop_requested_runs()
    dispatch.arm_runs()
    dispatch.age_runs()
    dispatch.advance_runs()
    endings.finalise_runs()
    dispatch.reap_shards()


def settled(run) -> Run:
    for _ in range(4):
        tick()
    run.refresh_from_db()
    return run


class TestAdmission:
    def test_nothing_is_admitted_without_an_injector(self, project):
        campaign = started(project)
        assert dispatch.admit_runs() == 0
        assert states(campaign) == ["queued"]

    def test_all_shards_are_admitted_or_none(self, project):
        campaign = started(project, injectors=4)
        host(slots=3)
        assert dispatch.admit_runs() == 0
        host(slots=1, name="host 2")
        assert dispatch.admit_runs() == 1
        assert states(campaign) == ["preparing"]

    def test_slots_that_others_were_promised_are_not_free(self, project):
        host(slots=3)
        first, second_ = started(project, injectors=2), started(project, injectors=2)
        assert dispatch.admit_runs() == 1
        assert (states(first), states(second_)) == (["preparing"], ["queued"])

    def test_a_campaign_makes_one_run_at_a_time_in_its_order(self, project):
        host(slots=9)
        campaign = started(project, n_tests=3)
        dispatch.admit_runs()
        dispatch.admit_runs()
        assert states(campaign) == ["preparing", "queued", "queued"]

    def test_a_target_is_measured_by_one_run_at_a_time(self, project):
        host(slots=9)
        target = make_target(project)
        endpoints = [make_endpoint(target, scheme) for scheme in ("http", "https")]
        campaigns = [started(project, endpoint=endpoint) for endpoint in endpoints]
        assert dispatch.admit_runs() == 1
        assert [states(campaign) for campaign in campaigns] == [["preparing"], ["queued"]]

    def test_different_targets_are_measured_side_by_side(self, project):
        host(slots=2)
        started(project), started(project)
        assert dispatch.admit_runs() == 2

    @pytest.mark.parametrize(
        ("first", "second_"),
        [
            ("10.0.0.5", "10.0.0.5"),
            ("127.0.0.1", "127.0.0.1"),
            ("127.0.0.1", "127.0.0.2"),
            ("127.0.0.1", "::1"),
            ("localhost", "127.0.0.1"),
            ("::ffff:10.0.0.5", "10.0.0.5"),
            ("fd00::5", "fd00:0:0::5"),
        ],
    )
    def test_two_targets_on_one_machine_are_measured_one_after_the_other(
        self, project, first, second_
    ):
        host(slots=9)
        campaigns = [campaign_on(project, each) for each in (first, second_)]
        assert dispatch.admit_runs() == 1
        assert [states(campaign) for campaign in campaigns] == [["preparing"], ["queued"]]
        withdraw(Run.objects.get(state="preparing"))
        assert dispatch.admit_runs() == 1
        assert [states(campaign) for campaign in campaigns] == [["done"], ["preparing"]]

    def test_the_injector_hosts_own_address_is_the_loopback_of_its_targets(self, project):
        announce_host(name="host 1", slots=9, facts={"addresses": "127.0.0.1 192.168.7.2"})
        campaign_on(project, "127.0.0.1"), campaign_on(project, "192.168.7.2")
        assert dispatch.admit_runs() == 1

    def test_a_name_holds_each_of_its_addresses(self, project):
        host(slots=9)
        named = campaign_on(project, "shop.example")
        assert dispatch.admit_runs() == 0
        assert waiting_reason(named) == "Looking up the addresses of shop.example."
        run = named.runs.get()
        assert dispatch.note_machines(run_id=run.pk, addresses=["10.0.0.5", "fd00::5"])
        assert dispatch.admit_runs() == 1
        campaign_on(project, "10.0.0.5"), campaign_on(project, "fd00::5")
        campaign_on(project, "10.0.0.6")
        assert dispatch.admit_runs() == 1
        assert not dispatch.note_machines(run_id=run.pk, addresses=[])

    def test_a_name_without_an_address_is_left_to_the_injector_to_refuse(self, project):
        host(slots=9)
        run = campaign_on(project, "nowhere.invalid").runs.get()
        dispatch.note_machines(run_id=run.pk, addresses=[])
        assert dispatch.admit_runs() == 1

    def test_the_pause_counts_from_the_end_of_the_run_before(self, project):
        host(slots=1)
        campaign = started(project, n_tests=2, pause_s=60)
        first = campaign.runs.first()
        finish(first, ended_ago_s=50)
        assert dispatch.admit_runs() == 0
        Run.objects.filter(pk=first.pk).update(ended_at=db_now(-61))
        assert dispatch.admit_runs() == 1

    def test_campaigns_take_turns(self, project):
        host(slots=1)
        endpoint = make_endpoint(make_target(project))
        many = started(project, n_tests=3, endpoint=endpoint)
        few = started(project, n_tests=1, endpoint=endpoint)
        order = []
        for _ in range(4):
            dispatch.admit_runs()
            run = Run.objects.get(state="preparing")
            order.append(run.campaign)
            withdraw(run)
        assert order == [many, few, many, many]

    def test_a_large_run_is_not_overtaken_for_ever_by_small_ones(self, project):
        host(slots=2)
        started(project, injectors=1)
        assert dispatch.admit_runs() == 1
        large = started(project, injectors=2)
        small = started(project, injectors=1)
        assert dispatch.admit_runs() == 0
        withdraw(Run.objects.get(state="preparing"))
        dispatch.admit_runs()
        assert (states(large), states(small)) == (["preparing"], ["queued"])

    def test_no_more_runs_at_once_than_the_hosts_have_cores(self, project):
        announce_host(name="host 1", slots=12, facts={"usable_cores": 2})
        campaigns = [started(project) for _ in range(3)]
        assert dispatch.admit_runs() == 2
        assert "active runs as cores" in waiting_reason(campaigns[2])
        withdraw(Run.objects.filter(state="preparing").first())
        assert dispatch.admit_runs() == 1

    def test_one_run_may_have_more_injectors_than_cores(self, project):
        announce_host(name="host 1", slots=12, facts={"usable_cores": 2})
        campaign = started(project, injectors=12)
        dispatch.admit_runs()
        assert states(campaign) == ["preparing"]

    def test_a_run_that_no_host_could_hold_keeps_nobody_waiting(self, project):
        too_large = started(project, injectors=5)
        host(slots=1)
        small = started(project)
        dispatch.admit_runs()
        assert (states(too_large), states(small)) == (["queued"], ["preparing"])

    @pytest.mark.django_db(transaction=True)
    def test_ten_dispatchers_at_once_admit_one_run_for_a_target(self, project):
        host(slots=20)
        endpoint = make_endpoint(make_target(project))
        for _ in range(5):
            started(project, endpoint=endpoint)
        assert sum(at_once(*[dispatch.admit_runs] * 10)) == 1
        assert Run.objects.filter(state="preparing").count() == 1

    @pytest.mark.django_db(transaction=True)
    def test_ten_dispatchers_at_once_admit_one_run_for_a_machine(self, project):
        host(slots=20)
        for _ in range(5):
            campaign_on(project, "10.0.0.5")
        assert sum(at_once(*[dispatch.admit_runs] * 10)) == 1
        assert Run.objects.filter(state="preparing").count() == 1

    def test_a_run_of_a_stopped_campaign_is_not_admitted(self, project, as_alice):
        host(slots=1)
        campaign = started(project, n_tests=2)
        stop_campaign(by=as_alice, campaign=campaign)
        assert dispatch.admit_runs() == 0

    def test_a_run_that_was_next_for_an_hour_expires_and_says_why(self, project):
        campaign = started(project, n_tests=2)
        Campaign.objects.update(started_at=db_now(-3700))
        Run.objects.update(state_at=db_now(-3700))
        assert stuck_runs()
        assert dispatch.expire_runs() == 1
        first, next_ = campaign.runs.all()
        assert (first.state, first.outcome, next_.state) == ("done", "expired", "queued")
        assert first.reason.startswith(
            "Could not start within an hour. No injector host is online."
        )
        assert not stuck_runs()


def campaign_on(project, address: str) -> Campaign:
    """A started campaign on a target of its own at this address."""
    return started(project, endpoint=make_endpoint(make_target(project), host=address))


def finish(run, ended_ago_s: float) -> None:
    Run.objects.filter(pk=run.pk).update(state="done", outcome="complete")
    Run.objects.filter(pk=run.pk).update(ended_at=db_now(-ended_ago_s))


def withdraw(run) -> None:
    """End an admitted run."""
    Run.objects.filter(pk=run.pk).update(stop_requested="user")
    settled(run)


class TestTheBarrier:
    def test_the_start_is_set_when_every_shard_is_ready(self, project, settings):
        run = preparing(project, n_shards=2)
        first, second_ = claim(run)
        mark_ready(lease=first)
        assert dispatch.arm_runs() == 0
        mark_ready(lease=second_)
        assert dispatch.arm_runs() == 1
        run.refresh_from_db()
        assert run.state == "armed"
        assert run.t0 - run.state_at < timedelta(seconds=settings.START_DELAY_ONE_HOST_S)

    def test_between_hosts_the_start_is_further_away(self, project):
        run = preparing(project, n_shards=2)
        for name in ("host 1", "host 2"):
            mark_ready(lease=claim_shard(worker="w", host=name))
        dispatch.arm_runs()
        run.refresh_from_db()
        assert timedelta(seconds=2.5) < run.t0 - run.state_at < timedelta(seconds=3)

    def test_the_first_shard_that_sends_makes_the_run_running(self, project):
        run, (first, second_) = armed(project, n_shards=2)
        mark_running(lease=first)
        dispatch.advance_runs()
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

    def test_a_lease_that_holds_is_left_alone(self, project):
        running(project)
        assert dispatch.reap_shards() == 0

    def test_an_armed_shard_whose_host_is_gone_ends_the_run(self, project):
        run, _ = armed(project, n_shards=2)
        run.shards.filter(number=0).update(lease_until=db_now(-1))
        settled(run)
        assert (run.outcome, run.stop_requested) == ("failed", "shard_lost")
        assert run.reason.startswith("Injector process 1 of 2: The injector host stopped answering")


class TestTheEnd:
    def test_a_run_is_complete_when_every_shard_says_so(self, project):
        run, leases = running(project, n_shards=2)
        for lease in leases:
            record_seconds(lease=lease, seconds=[second(0)])
        mark_done(lease=leases[0], end=end())
        assert settled(run).state == "running"
        mark_done(lease=leases[1], end=end())
        settled(run)
        assert (run.state, run.outcome, run.reason) == ("done", "complete", "")
        assert run.ended_at is not None
        assert run.summaries.count() == 1

    def test_one_lost_shard_makes_it_partial_and_says_which(self, project):
        run, leases = running(project, n_shards=2)
        for lease in leases:
            record_seconds(lease=lease, seconds=[second(0)])
        mark_done(lease=leases[0], end=end())
        mark_lost(lease=leases[1], reason="The injector was killed by SIGKILL.")
        settled(run)
        assert (run.outcome, run.reason) == (
            "partial",
            "Injector process 2 of 2: The injector was killed by SIGKILL.",
        )

    def test_without_any_second_it_has_failed(self, project):
        run, (lease,) = running(project)
        mark_lost(lease=lease, reason="The injector was killed by SIGKILL.")
        settled(run)
        assert (run.outcome, run.reason) == ("failed", "The injector was killed by SIGKILL.")

    @pytest.mark.parametrize(
        ("wish", "outcome"), [("kill", "killed"), ("user", "stopped"), ("overrun", "partial")]
    )
    def test_a_wish_to_stop_outranks_what_the_shards_say(self, project, wish, outcome):
        run, (lease,) = running(project)
        record_seconds(lease=lease, seconds=[second(0)])
        Run.objects.filter(pk=run.pk).update(stop_requested=wish)
        dispatch.stop_requested_runs()
        mark_done(lease=lease, end=end("stopped"))
        settled(run)
        assert run.outcome == outcome
        assert run.reason

    def test_a_run_that_takes_longer_than_its_plan_allows_is_stopped(self, project):
        run, (lease,) = running(project)
        record_seconds(lease=lease, seconds=[second(0)])
        # 10 s planned + 30 s total timeout + 30 s of grace
        Run.objects.filter(pk=run.pk).update(t0=db_now(-69))
        dispatch.age_runs()
        run.refresh_from_db()
        assert run.stop_requested is None
        Run.objects.filter(pk=run.pk).update(t0=db_now(-71))
        tick()
        tick()
        run.refresh_from_db()
        assert (run.state, run.stop_requested) == ("stopping", "overrun")
        mark_done(lease=lease, end=end("stopped"))
        settled(run)
        assert run.outcome == "partial"
        assert run.reason == "Stopped after 70 s: longer than its plan can take."

    def test_a_launcher_that_does_not_stop_loses_its_shard(self, project):
        run, (lease,) = running(project)
        Run.objects.filter(pk=run.pk).update(stop_requested="user")
        dispatch.stop_requested_runs()
        age(run, MAX_AGE_S[RunState.STOPPING] + 1)
        settled(run)
        assert (run.state, run.outcome) == ("done", "stopped")
        assert not mark_done(lease=lease, end=end())

    def test_a_summary_that_cannot_be_made_is_tried_again_and_then_given_up(
        self, project, monkeypatch
    ):
        run, (lease,) = running(project)
        record_seconds(lease=lease, seconds=[second(0)])
        mark_done(lease=lease, end=end())

        def fail(run):
            raise ValueError("no such timing")

        monkeypatch.setattr(endings, "summarise_run", fail)
        settled(run)
        assert run.state == "finalizing"
        assert RunEvent.objects.filter(run=run, kind="summary_failed").count() == 1
        RunEvent.objects.update(at=db_now(-60))
        age(run, MAX_AGE_S[RunState.FINALIZING] + 1)
        settled(run)
        assert (run.state, run.outcome) == ("done", "failed")
        assert "no such timing" in run.reason
        assert run.seconds.count() == 1

    def test_late_seconds_make_a_new_summary_once(self, project):
        run, (lease,) = running(project)
        record_seconds(lease=lease, seconds=[second(0)])
        expire(run)
        settled(run)
        assert endings.summarise_late_runs() == 0
        record_seconds(lease=lease, seconds=[second(0), second(1)])
        assert endings.summarise_late_runs() == 1
        assert endings.summarise_late_runs() == 0
        assert list(run.summaries.order_by("revision").values_list("n_seconds", flat=True)) == [
            1,
            2,
        ]

    def test_a_failed_run_that_gets_its_seconds_late_is_a_partial_one(self, project):
        run, (lease,) = running(project)
        expire(run)
        assert settled(run).outcome == "failed"
        record_seconds(lease=lease, seconds=[second(0)])
        endings.summarise_late_runs()
        run.refresh_from_db()
        assert run.outcome == "partial"

    def test_a_campaign_is_finished_when_its_last_run_is_done(self, project):
        host(slots=1)
        campaign = started(project, n_tests=2)
        finish(campaign.runs.first(), 0)
        assert dispatch.finish_campaigns() == 0
        finish(campaign.runs.last(), 0)
        assert dispatch.finish_campaigns() == 1
        assert dispatch.finish_campaigns() == 0
        campaign.refresh_from_db()
        assert campaign.state == "done"

    def test_a_draft_is_never_finished(self, project):
        draft(project)
        assert dispatch.finish_campaigns() == 0


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
    monkeypatch.setattr(dispatch.queue, "send", lambda name, args: rung.append(name) or True)
    run = preparing(project, n_shards=3)
    claim_shard(worker="w", host="h")
    assert dispatch.ring_doorbells() == 2
    assert rung == ["workers.inject"] * 2
    Run.objects.filter(pk=run.pk).update(stop_requested="user")
    assert dispatch.ring_doorbells() == 0


def test_a_broker_that_is_away_ends_the_ringing(project, monkeypatch):
    monkeypatch.setattr(dispatch.queue, "send", lambda name, args: False)
    preparing(project, n_shards=3)
    assert dispatch.ring_doorbells() == 0
