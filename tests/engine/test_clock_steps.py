"""The clock of the database's host is set: what is under way ends, and no age counts across it."""

from datetime import timedelta
from functools import partial

import pytest
from django.db.models import F

from campaigns.core.database import db_now
from campaigns.domain.lifecycle import StopReason
from campaigns.domain.plan.addresses import HostCheck
from campaigns.engine.services import dispatch
from campaigns.engine.services.dispatch import end_for_clock_step
from campaigns.engine.services.shards import (
    heartbeat,
    mark_done,
    mark_ready,
    mark_running,
    record_seconds,
)
from campaigns.machines.services import add_exporter, ask_check
from campaigns.models import (
    Campaign,
    Exporter,
    HostClaim,
    LoadControl,
    Probe,
    Run,
    RunSummary,
    Search,
    Shard,
)
from campaigns.operations.services.load_control import allow_load, stop_all_load
from campaigns.probes.services.probes import decide_held_campaigns, expire_probes
from campaigns.search.services import advance_searches, ask_silent_targets
from campaigns.targets.services import (
    CHECK_EVERY_S,
    check_host,
    claim_host,
    finish_check,
    what_to_check,
)
from tests.engine.scenes import (
    armed,
    claim,
    end,
    finish,
    host,
    measuring,
    one_behind_the_other,
    preparing,
    running,
    second,
    settle,
    started,
    tick,
)
from tests.factories import make_endpoint, make_target
from tests.searches import REFUSED, answer_first, end_trial, make_judgement, searching


def set_clock(step_s: float) -> None:
    """As if the clock had been set by so much: all that was noted before is so much further off."""
    shift = -timedelta(seconds=step_s)
    Run.objects.update(
        state_at=F("state_at") + shift, t0=F("t0") + shift, ended_at=F("ended_at") + shift
    )
    Shard.objects.update(lease_until=F("lease_until") + shift)
    Campaign.objects.update(held_at=F("held_at") + shift)
    Search.objects.update(deadline=F("deadline") + shift)
    LoadControl.objects.update(changed_at=F("changed_at") + shift)


def test_a_run_that_has_not_begun_ends_with_that_reason(project):
    for scene in [preparing, armed]:
        for step_s in [60, 4000, -60]:
            result = scene(project)
            run = result if scene is preparing else result[0]
            set_clock(step_s)
            assert end_for_clock_step(step_s) == 1
            assert (settle(run).state, run.outcome) == ("done", "failed")
            assert run.reason == StopReason.CLOCK_SET.sentence


@pytest.mark.parametrize("step_s", [60, 4000, -60])
def test_a_run_that_sends_ends_with_that_reason_and_keeps_what_was_measured(project, step_s):
    run, lease = measuring(project)
    set_clock(step_s)
    end_for_clock_step(step_s)
    assert settle(run).state == "stopping"
    assert heartbeat(lease=lease).stop_requested == "clock_set"
    record_seconds(lease=lease, seconds=[second(1)])
    assert mark_done(lease=lease, end=end("stopped"))
    assert (settle(run).state, run.outcome) == ("done", "partial")
    assert run.reason == StopReason.CLOCK_SET.sentence
    assert run.seconds.count() == 2
    assert RunSummary.objects.filter(run=run).exists()


def test_a_run_that_a_user_is_stopping_keeps_that_reason_and_its_time_to_stop(project):
    run, lease = measuring(project)
    Run.objects.filter(pk=run.pk).update(stop_requested="user")
    tick()
    set_clock(60)
    assert end_for_clock_step(60) == 0
    assert settle(run).state == "stopping"
    assert mark_done(lease=lease, end=end("stopped"))
    assert settle(run).reason == StopReason.USER.sentence


@pytest.mark.parametrize("step_s", [60, 4000, -60])
def test_queued_runs_go_on_afterwards(project, step_s):
    host(slots=4)
    campaign = started(project, repeats=2)
    dispatch.admit_runs()
    set_clock(step_s)
    end_for_clock_step(step_s)
    first, later = campaign.runs.order_by("position")
    assert settle(first).outcome == "failed"
    assert dispatch.expire_runs() == 0
    host(slots=4)
    assert dispatch.admit_runs() == 1
    assert settle(later).state == "preparing"
    assert later.stop_requested is None


@pytest.mark.parametrize("step_s", [60, -60])
def test_while_nothing_is_under_way_nothing_ends(project, step_s):
    campaign = started(project)
    set_clock(step_s)
    assert end_for_clock_step(step_s) == 0
    assert settle(campaign.runs.get()).state == "queued"


@pytest.mark.parametrize(("scene", "mark"), [(preparing, mark_ready), (armed, mark_running)])
def test_a_lease_holds_by_its_holders_clock_until_the_step_is_noticed(project, scene, mark):
    result = scene(project)
    (lease,) = claim(result) if scene is preparing else result[1]
    set_clock(60)
    assert not mark(lease=lease)
    assert mark(lease=lease, is_fresh=True)


def test_a_single_request_is_not_given_up_for_it(project):
    endpoint = make_endpoint(make_target(project))
    for claimed_at in (None, db_now()):
        request = {"method": "GET", "path": "/"}
        Probe.objects.create(endpoint=endpoint, request=request, claimed_at=claimed_at)
    for column in ("requested_at", "claimed_at"):
        Probe.objects.update(**{column: F(column) - timedelta(seconds=4000)})
    end_for_clock_step(4000)
    assert expire_probes() == 0


def test_a_check_of_a_host_or_an_exporter_can_be_asked_for_and_answered_after_it(
    project, as_bob, settings
):
    settings.PROOF_DAYS = 30
    make_endpoint(target := make_target(project), host="198.51.100.7")
    exporter = add_exporter(by=as_bob, target=target, url="10.0.0.5:9100")
    claim = claim_host(by=as_bob, target=target, host="198.51.100.7")
    check_host(by=as_bob, claim=claim)
    Exporter.objects.update(asked_at=db_now(-60 + 4000))
    HostClaim.objects.update(asked_at=db_now(-60 + 4000), checked_at=db_now(-90 + 4000))
    end_for_clock_step(-4000)
    rest = timedelta(seconds=-CHECK_EVERY_S - 1)
    Exporter.objects.update(asked_at=F("asked_at") + rest)
    HostClaim.objects.update(asked_at=F("asked_at") + rest, checked_at=F("checked_at") + rest)
    ask_check(by=as_bob, exporter=exporter)
    check_host(by=as_bob, claim=claim)
    asked_at = HostClaim.objects.get().asked_at
    assert finish_check(claim_id=claim.pk, asked_at=asked_at, seen=HostCheck((), (), ()))
    assert not what_to_check(claim_id=claim.pk)


@pytest.mark.parametrize("step_s", [60, 4000])
def test_a_search_waits_no_shorter_for_its_target_and_ends_no_sooner(project, step_s):
    campaign = searching(project, longest_s=3600)
    end_trial(campaign, p95_ms=20)
    Run.objects.filter(pk=campaign.runs.get(repeat=2).pk).update(
        state="done",
        outcome="complete",
        judgement=make_judgement(target="Nothing answers.").to_json(),
        t0=db_now(-25),
        ended_at=db_now(-5),
    )
    advance_searches()
    assert answer_first(campaign, REFUSED).is_held
    set_clock(step_s)
    end_for_clock_step(step_s)
    assert ask_silent_targets() == 1
    assert answer_first(campaign).opened_at
    search = Search.objects.get(pk=campaign.pk)
    assert (search.ending, campaign.stop_reason) == (None, "")
    assert Search.objects.filter(deadline__range=(db_now(3500), db_now(3600))).exists()
    trial = campaign.runs.get(repeat=2)
    assert (trial.ended_at - trial.t0).total_seconds() == pytest.approx(20, abs=0.1)


def test_a_campaign_on_hold_is_not_stopped_as_forgotten_for_it(project):
    campaign = searching(project, first=REFUSED)
    assert campaign.is_held
    set_clock(4000)
    end_for_clock_step(4000)
    assert decide_held_campaigns() == 0


def test_the_next_run_of_a_long_campaign_does_not_expire_for_it(project):
    first, second_ = started(project, repeats=2).runs.order_by("position")
    Run.objects.filter(pk=first.pk).update(state="done", outcome="complete")
    Run.objects.filter(pk=first.pk).update(ended_at=db_now(-30))
    Run.objects.filter(pk=second_.pk).update(state_at=db_now(-9000))
    set_clock(4000)
    end_for_clock_step(4000)
    assert dispatch.expire_runs() == 0


def test_what_waited_while_load_was_off_does_not_expire_for_it(project, as_adam):
    campaign = started(project)
    allow_load(by=as_adam)
    Run.objects.filter(campaign=campaign).update(state_at=db_now(-9000))
    Campaign.objects.filter(pk=campaign.pk).update(
        started_at=db_now(-9000), opened_at=db_now(-9000)
    )
    set_clock(4000)
    end_for_clock_step(4000)
    assert dispatch.expire_runs() == 0


def test_a_dead_holder_of_a_lease_is_not_waited_for_longer_where_the_clock_was_set_back(
    project, settings
):
    running(project)
    set_clock(-90)
    dispatch.reap_shards()
    assert Shard.objects.filter(lease_until__lte=db_now(settings.LEASE_S)).exists()


def test_the_next_run_does_not_wait_until_a_clock_that_was_set_back_is_there_again(project):
    host(slots=4)
    campaign = started(project, repeats=2, pause_s=5)
    dispatch.admit_runs()
    first = campaign.runs.get(position=1)
    Run.objects.filter(pk=first.pk).update(state="stopping")
    Run.objects.filter(pk=first.pk).update(state="finalizing")
    finish(first, ended_ago_s=1)
    assert dispatch.admit_runs() == 0, "it pauses"
    set_clock(-90)
    assert dispatch.admit_runs() == 1


@pytest.mark.django_db(transaction=True)
def test_whoever_stops_all_load_meanwhile_waits_and_is_not_refused(project, as_adam, monkeypatch):
    """Otherwise each could wait for rows of the other, until PostgreSQL ends one of them."""
    LoadControl.objects.create(pk=1)
    preparing(project)
    lock_runs = dispatch.lock_runs

    def end_runs(hold) -> int:
        monkeypatch.setattr(dispatch, "lock_runs", lambda runs: (lock_runs(runs), hold()))
        return end_for_clock_step(60)

    assert one_behind_the_other(end_runs, partial(stop_all_load, by=as_adam)) == [1, 0]
    assert not LoadControl.objects.get().is_on
