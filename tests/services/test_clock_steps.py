"""The clock of the database's host is set while a run is under way."""

import time
from datetime import timedelta
from functools import partial

import pytest
from django.db.models import F

from campaigns.domain.plan.ownership import HostCheck
from campaigns.models import (
    Campaign,
    Exporter,
    HostClaim,
    LoadControl,
    Probe,
    Run,
    Search,
    Shard,
)
from campaigns.models.dbtime import db_now
from campaigns.services import clock_steps, dispatch
from campaigns.services.clock_steps import KnownClock, follow_step, known_clock
from campaigns.services.exporters import add_exporter, ask_check
from campaigns.services.first_requests import end_held_campaigns
from campaigns.services.load_control import allow_load, beat, stop_all_load
from campaigns.services.ownership import check_host, claim_host, finish_check, what_to_check
from campaigns.services.probe_queue import expire_probes
from campaigns.services.searches import advance_searches, ask_silent_targets
from campaigns.services.shards import mark_done, mark_ready, mark_running, record_seconds
from tests.factories import make_endpoint, make_target
from tests.searches import REFUSED, answered, end_trial, judged, searching
from tests.services.engine import (
    armed,
    at_once,
    claim,
    end,
    finish,
    host,
    preparing,
    running,
    second,
    settled,
    started,
)

KNOWN = KnownClock("a boot", offset_ns=-5_000_000_000, at_ns=12)


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


@pytest.mark.parametrize("step_s", [60, 4000, -90])
@pytest.mark.parametrize("scene", [preparing, armed, running])
def test_no_run_under_way_is_older_or_younger_for_it(project, scene, step_s):
    made = scene(project)
    run = made if scene is preparing else made[0]
    state = run.state
    set_clock(step_s)
    follow_step(step_s, within_s=2, known=KNOWN)
    assert settled(run).state == state
    assert run.stop_requested is None
    assert not run.shards.filter(state="lost").exists()
    recent = Run.objects.filter(state_at__range=(db_now(-5), db_now(1)))
    assert recent.get() == run


@pytest.mark.parametrize("step_s", [60, 4000, -90])
def test_a_run_that_was_armed_before_and_began_after_it_is_neither(project, step_s):
    run, (lease,) = armed(project)
    set_clock(step_s)
    assert mark_running(lease=lease, is_fresh=True)
    dispatch.move_runs()
    follow_step(step_s, within_s=2, known=KNOWN)
    assert settled(run).state == "running"
    assert run.stop_requested is None
    assert Run.objects.get(t0__range=(db_now(-5), db_now(5))) == run


@pytest.mark.parametrize(("scene", "mark"), [(preparing, mark_ready), (armed, mark_running)])
def test_a_lease_holds_by_its_holders_clock_until_the_step_is_followed(project, scene, mark):
    made = scene(project)
    (lease,) = claim(made) if scene is preparing else made[1]
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
    follow_step(4000, within_s=2, known=KNOWN)
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
    follow_step(-4000, within_s=2, known=KNOWN)
    ask_check(by=as_bob, exporter=exporter)
    assert what_to_check(claim_id=claim.pk), "the one that was asked for is under way"
    check_host(by=as_bob, claim=claim)
    asked = HostClaim.objects.get().asked_at
    assert finish_check(claim_id=claim.pk, asked_at=asked, seen=HostCheck((), (), ()))
    assert not what_to_check(claim_id=claim.pk)


@pytest.mark.parametrize("step_s", [60, 4000])
def test_a_search_waits_no_shorter_for_its_target_and_ends_no_sooner(project, step_s):
    campaign = searching(project, longest_s=3600)
    end_trial(campaign, p95_ms=20)
    Run.objects.filter(pk=campaign.runs.get(repeat=2).pk).update(
        state="done",
        outcome="complete",
        judgement=judged(target="Nothing answers.").to_json(),
        t0=db_now(-25),
        ended_at=db_now(-5),
    )
    advance_searches()
    assert answered(campaign, REFUSED).is_held
    set_clock(step_s)
    follow_step(step_s, within_s=2, known=KNOWN)
    assert ask_silent_targets() == 1
    assert answered(campaign).opened_at
    search = Search.objects.get(pk=campaign.pk)
    assert (search.ending, campaign.stop_reason) == (None, "")
    assert Search.objects.filter(deadline__range=(db_now(3500), db_now(3600))).exists()
    trial = campaign.runs.get(repeat=2)
    assert (trial.ended_at - trial.t0).total_seconds() == pytest.approx(20, abs=0.1)


def test_a_campaign_on_hold_is_not_stopped_as_forgotten_for_it(project):
    campaign = searching(project, first=REFUSED)
    assert campaign.is_held
    set_clock(4000)
    follow_step(4000, within_s=2, known=KNOWN)
    assert end_held_campaigns() == 0


def test_the_next_run_of_a_long_campaign_does_not_expire_for_it(project):
    campaign = started(project, repeats=2)
    first, second_ = campaign.runs.order_by("position")
    Run.objects.filter(pk=first.pk).update(state="done", outcome="complete")
    Run.objects.filter(pk=first.pk).update(ended_at=db_now(-30))
    Run.objects.filter(pk=second_.pk).update(state_at=db_now(-9000))
    set_clock(4000)
    follow_step(4000, within_s=2, known=KNOWN)
    assert dispatch.expire_runs() == 0


def test_what_waited_while_load_was_off_does_not_expire_for_it(project, as_adam):
    campaign = started(project)
    allow_load(by=as_adam)
    Run.objects.filter(campaign=campaign).update(state_at=db_now(-9000))
    Campaign.objects.filter(pk=campaign.pk).update(
        started_at=db_now(-9000), opened_at=db_now(-9000)
    )
    set_clock(4000)
    follow_step(4000, within_s=2, known=KNOWN)
    assert dispatch.expire_runs() == 0


def test_a_run_that_goes_on_while_the_clock_is_set_is_complete(project):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    set_clock(60)
    follow_step(60, within_s=2, known=KNOWN)
    settled(run)
    assert mark_done(lease=lease, end=end())
    assert settled(run).outcome == "complete"


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


@pytest.mark.parametrize("note", [beat, lambda known: follow_step(60, within_s=2, known=known)])
def test_a_successor_on_the_same_host_knows_what_was_known(db, note):
    LoadControl.objects.create(pk=1)
    assert known_clock("a boot") is None
    note(KNOWN)
    assert known_clock("a boot") == KNOWN
    assert known_clock("another boot") is None


def test_of_a_host_that_tells_no_boot_nothing_is_known(db):
    LoadControl.objects.create(pk=1)
    beat(KnownClock("", 5, 12))
    assert known_clock("") is None


@pytest.mark.django_db(transaction=True)
def test_whoever_stops_all_load_meanwhile_waits_and_is_not_refused(project, as_adam, monkeypatch):
    """Otherwise each could wait for rows of the other, until PostgreSQL ends one of them."""
    LoadControl.objects.create(pk=1)
    preparing(project)
    under_way = clock_steps._under_way

    def slowly():
        yield from under_way()
        time.sleep(0.5)

    def stop() -> int:
        time.sleep(0.2)
        return stop_all_load(by=as_adam)

    monkeypatch.setattr(clock_steps, "_under_way", slowly)
    _, n_stopped = at_once(partial(follow_step, 60, within_s=2, known=KNOWN), stop)
    assert n_stopped == 1
    assert known_clock("a boot") == KNOWN
