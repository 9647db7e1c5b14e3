import pytest

from campaigns.domain.lifecycle import MAX_AGE_S, RunState
from campaigns.models import Campaign, Run
from campaigns.models.dbtime import db_now
from campaigns.queries.engine import STUCK_SLACK_S, Stuck, head_runs, stuck_runs
from campaigns.services import dispatch
from tests.services.engine import age, armed, host, preparing, running, started


def with_stop(project):
    run, _ = running(project)
    Run.objects.filter(pk=run.pk).update(stop_requested="user")
    dispatch.move_runs()
    return run


def with_end(project):
    run = with_stop(project)
    run.shards.update(state="lost")
    dispatch.move_runs()
    return run


def only_run(scene):
    return lambda project: scene(project)[0]


@pytest.mark.parametrize(
    ("state", "scene"),
    [
        (RunState.PREPARING, preparing),
        (RunState.ARMED, only_run(armed)),
        (RunState.STOPPING, with_stop),
        (RunState.FINALIZING, with_end),
    ],
)
def test_a_run_is_stuck_beyond_the_greatest_age_of_its_state(project, state, scene):
    run = scene(project)
    assert stuck_runs() == []
    age(run, MAX_AGE_S[state] + STUCK_SLACK_S + 1)
    assert stuck_runs() == [Stuck(run.pk, state)]


def test_a_running_run_is_stuck_when_nobody_stops_its_overrun(project):
    run, _ = running(project)
    Run.objects.filter(pk=run.pk).update(t0=db_now(-80))
    assert stuck_runs() == []
    Run.objects.filter(pk=run.pk).update(t0=db_now(-90))
    assert stuck_runs() == [Stuck(run.pk, RunState.RUNNING)]


def test_runs_behind_the_next_one_of_their_campaign_are_never_stuck(project):
    campaign = started(project, n_tests=3)
    Campaign.objects.update(started_at=db_now(-9000), opened_at=db_now(-9000))
    Run.objects.update(state_at=db_now(-9000))
    assert stuck_runs() == [Stuck(campaign.runs.first().pk, RunState.QUEUED)]


def test_each_campaign_has_one_next_run(project):
    first, second = started(project, n_tests=2), started(project, n_tests=2)
    assert {run.pk for run in head_runs()} == {first.runs.first().pk, second.runs.first().pk}
    host(slots=1)
    dispatch.admit_runs()
    assert head_runs().count() == 1
