"""What the dispatcher asks of the engine."""

import pytest

from campaigns.core.database import db_now
from campaigns.domain.lifecycle import MAX_AGE_S, RunState
from campaigns.engine.queries.engine import Waiting, head_runs, under_way
from campaigns.engine.services import dispatch
from campaigns.models import Campaign, Probe, Run, Search
from tests.engine.scenes import age, armed, host, preparing, running, started
from tests.factories import make_endpoint, make_target
from tests.searches import searching
from tests.stuck import STUCK_SLACK_S, stuck_runs

pytestmark = pytest.mark.django_db


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
    assert stuck_runs() == [(run.pk, state)]


def test_a_running_run_is_stuck_when_nobody_stops_its_overrun(project):
    run, _ = running(project)
    Run.objects.filter(pk=run.pk).update(t0=db_now(-80))
    assert stuck_runs() == []
    Run.objects.filter(pk=run.pk).update(t0=db_now(-90))
    assert stuck_runs() == [(run.pk, RunState.RUNNING)]


def test_runs_behind_the_next_one_of_their_campaign_are_never_stuck(project):
    campaign = started(project, n_tests=3)
    Campaign.objects.update(started_at=db_now(-9000), opened_at=db_now(-9000))
    Run.objects.update(state_at=db_now(-9000))
    assert stuck_runs() == [(campaign.runs.first().pk, RunState.QUEUED)]


def test_each_campaign_has_one_next_run(project):
    first, second = started(project, n_tests=2), started(project, n_tests=2)
    assert {run.pk for run in head_runs()} == {first.runs.first().pk, second.runs.first().pk}
    host(slots=1)
    dispatch.admit_runs()
    assert head_runs().count() == 1


def test_nothing_is_under_way_in_an_empty_installation(django_assert_num_queries):
    under_way()
    with django_assert_num_queries(1):
        assert under_way() == set()


def test_it_names_the_states_of_runs_that_have_not_ended(project):
    host(slots=1)
    started(project, n_tests=3)
    dispatch.admit_runs()
    assert under_way() == {"preparing", "queued", Waiting.CAMPAIGN}


def test_a_campaign_whose_runs_may_not_begin_yet_waits_for_its_first_requests(project):
    campaign = started(project)
    Campaign.objects.filter(pk=campaign.pk).update(opened_at=None)
    assert under_way() == {"queued", Waiting.CAMPAIGN, Waiting.FIRST_REQUESTS}


def test_a_single_request_waits_until_it_has_its_result(project):
    endpoint = make_endpoint(make_target(project))
    probe = Probe.objects.create(endpoint=endpoint, request={})
    assert under_way() == {Waiting.REQUEST}
    Probe.objects.filter(pk=probe.pk).update(finished_at="2026-01-01T00:00Z")
    assert under_way() == set()


def test_a_search_is_under_way_until_it_has_ended(project):
    searching(project)
    assert under_way() == {"queued", Waiting.CAMPAIGN, Waiting.SEARCH}
    Search.objects.update(ending="found")
    assert Waiting.SEARCH not in under_way()


def test_what_has_ended_is_not_under_way(project):
    campaign = started(project)
    dispatch.end_queued(Run.objects.all(), "stopped", "over")
    assert under_way() == {Waiting.CAMPAIGN}
    Campaign.objects.filter(pk=campaign.pk).update(finished_at="2026-01-01T00:00Z")
    assert under_way() == set()
