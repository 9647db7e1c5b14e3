"""The clock of the database's host is set while a run is under way."""

from datetime import timedelta

import pytest
from django.db.models import F

from campaigns.models import Run, Shard
from campaigns.models.dbtime import db_now
from campaigns.services import dispatch
from campaigns.services.clock_steps import follow_step
from campaigns.services.shards import mark_done, record_seconds
from tests.services.engine import (
    armed,
    end,
    finish,
    host,
    preparing,
    running,
    second,
    settled,
    started,
)


def set_clock(step_s: float) -> None:
    """As if the clock had been set by so much: all that was noted before is so much further off."""
    shift = -timedelta(seconds=step_s)
    Run.objects.update(
        state_at=F("state_at") + shift, t0=F("t0") + shift, ended_at=F("ended_at") + shift
    )
    Shard.objects.update(lease_until=F("lease_until") + shift)


@pytest.mark.parametrize("step_s", [60, 4000, -90])
@pytest.mark.parametrize("scene", [preparing, armed, running])
def test_no_run_under_way_is_older_or_younger_for_it(project, scene, step_s):
    made = scene(project)
    run = made if scene is preparing else made[0]
    state = run.state
    set_clock(step_s)
    follow_step(step_s)
    assert settled(run).state == state
    assert run.stop_requested is None
    assert not run.shards.filter(state="lost").exists()
    recent = Run.objects.filter(state_at__range=(db_now(-5), db_now(1)))
    assert recent.get() == run


def test_a_run_that_goes_on_while_the_clock_is_set_is_complete(project):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    set_clock(60)
    follow_step(60)
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
