"""What a campaign gets beside its tests: more blocks, and the reference."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.queries.references import reference_endpoint, reference_version
from campaigns.campaigns.services.blocks import add_blocks
from campaigns.campaigns.services.campaigns import repeat_campaign, stop_campaign
from campaigns.core.permissions import Actor
from campaigns.domain.errors import BenchsiteError, Refused
from campaigns.domain.lifecycle import RunState
from campaigns.domain.plan.sweep import Sweep
from campaigns.domain.plan.turns import order_of_runs
from campaigns.engine.services import dispatch
from campaigns.engine.services.endings import stop_by_itself
from campaigns.models import Campaign, Run, SavedPlan, Target
from tests.engine import scenes as engine
from tests.engine.scenes import at_once, host, owner_of, started
from tests.factories import make_endpoint, make_plan, make_target

pytestmark = pytest.mark.django_db


def done_campaign(project, **fields) -> Campaign:
    """A campaign whose runs have all ended, and which the dispatcher has closed."""
    campaign = started(project, **fields)
    campaign.runs.update(state=RunState.DONE, outcome="complete", ended_at=timezone.now())
    dispatch.finish_campaigns()
    campaign.refresh_from_db()
    assert campaign.state == "done"
    return campaign


def add(campaign: Campaign, after: int, **fields) -> None:
    add_blocks(by=owner_of(campaign.project), campaign=campaign, after=after, **fields)


def test_a_block_has_a_run_of_every_test_and_the_campaign_runs_again(project):
    campaign = done_campaign(project, n_tests=3, repeats=2)
    add(campaign, after=2)
    assert (campaign.state, campaign.repeats) == ("running", 3)
    new = campaign.runs.filter(state=RunState.QUEUED)
    assert sorted(new.values_list("test", flat=True)) == sorted(
        campaign.tests.values_list("pk", flat=True)
    )
    assert list(new.values_list("repeat", "position")) == [(3, 7), (3, 8), (3, 9)]
    assert all(run.shards.count() == run.n_shards for run in new)


def test_the_order_goes_on_as_if_the_blocks_had_been_there_from_the_start(project):
    campaign = done_campaign(project, n_tests=4, repeats=3, order="blocks")
    add(campaign, after=3, blocks=4)
    tests = list(campaign.tests.order_by("position"))
    turns = order_of_runs(4, 7, is_random=True, seed=campaign.seed)
    assert [(run.position, run.repeat, run.test) for run in campaign.runs.all()] == [
        (turn.position, turn.repeat, tests[turn.test]) for turn in turns
    ]


def test_the_runs_that_were_there_stay_as_they_are(project):
    campaign = done_campaign(project, repeats=2)
    before = list(Run.objects.order_by("pk").values())
    add(campaign, after=2)
    assert list(Run.objects.order_by("pk").values())[:2] == before


@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_once_add_one_block(project):
    campaign = done_campaign(project, n_tests=2, repeats=3)

    def click() -> str:
        try:
            add(Campaign.objects.get(pk=campaign.pk), after=3)
        except BenchsiteError as error:
            return str(error)
        return "added"

    answers = at_once(click, click)
    campaign.refresh_from_db()
    assert answers.count("added") == 1
    assert campaign.repeats == 4
    assert campaign.runs.count() == 8


@pytest.mark.django_db(transaction=True)
def test_a_campaign_that_is_closed_at_the_same_moment_ends_neither_way_with_open_runs(project):
    campaign = started(project, repeats=1)
    for after in range(1, 6):
        campaign.runs.update(state=RunState.DONE, outcome="complete", ended_at=timezone.now())
        at_once(dispatch.finish_campaigns, partial(add, campaign, after))
        campaign.refresh_from_db()
        assert (campaign.state, campaign.repeats) == ("running", after + 1)
        assert campaign.runs.filter(state=RunState.QUEUED).count() == 1


def test_a_long_wait_before_the_added_block_does_not_expire_it(project):
    campaign = done_campaign(project, repeats=1)
    week_ago = timezone.now() - timedelta(days=7)
    campaign.runs.update(ended_at=week_ago)
    add(campaign, after=1)
    assert dispatch.expire_runs() == 0


def test_a_stopped_campaign_goes_on_with_new_blocks(project):
    campaign = started(project, repeats=2)
    stop_campaign(by=owner_of(project), campaign=campaign)
    dispatch.finish_campaigns()
    campaign.refresh_from_db()
    add(campaign, after=2)
    assert campaign.state == "running"
    assert campaign.runs.filter(state=RunState.QUEUED).count() == 1


def test_why_it_stopped_once_is_not_said_of_the_blocks_that_followed(project):
    campaign = started(project, repeats=2)
    assert stop_by_itself(campaign, "Stopped after run 1: no reply to all 100 requests.")
    dispatch.finish_campaigns()
    campaign.refresh_from_db()
    add(campaign, after=2)
    campaign.runs.exclude(state=RunState.DONE).update(state=RunState.DONE, outcome="complete")
    dispatch.finish_campaigns()
    campaign.refresh_from_db()
    assert (campaign.state, campaign.stop_reason) == ("done", "")


def test_a_campaign_that_is_being_stopped_gets_no_block(project):
    campaign = started(project)
    Campaign.objects.filter(pk=campaign.pk).update(stop_requested_at=timezone.now())
    with pytest.raises(Refused, match="is being stopped"):
        add(campaign, after=1)


@pytest.mark.parametrize(("after", "blocks"), [(2, 0), (2, -1), (2, 49), (50, 1)])
def test_a_campaign_has_at_most_50_blocks(project, after, blocks):
    with pytest.raises(Refused, match=r"at most 50 blocks|can have more"):
        add(done_campaign(project, repeats=2), after=after, blocks=blocks)


def test_blocks_take_as_long_as_their_plans_say(project):
    campaign = done_campaign(project, repeats=1, order="blocks")
    with pytest.raises(Refused, match="Leave more_s out"):
        add(campaign, after=1, more_s=40)
    campaign.refresh_from_db()
    assert campaign.repeats == 1


def test_what_a_start_refuses_is_refused_and_nothing_changes(project):
    host(slots=1)
    campaign = done_campaign(project, repeats=1, injectors=1)
    campaign.tests.update(injectors=3)
    with pytest.raises(Refused, match="needs 3 injector slots"):
        add(campaign, after=1)
    campaign.refresh_from_db()
    assert (campaign.state, campaign.repeats, campaign.runs.count()) == ("done", 1, 1)


def test_an_archived_campaign_gets_no_block_until_it_is_restored(project):
    campaign = done_campaign(project, repeats=1)
    Campaign.objects.filter(pk=campaign.pk).update(archived_at=timezone.now())
    with pytest.raises(Refused, match=r"is archived\. Restore it first"):
        add(campaign, after=1)
    Campaign.objects.filter(pk=campaign.pk).update(archived_at=None)
    add(campaign, after=1)
    assert campaign.runs.count() == 2


@pytest.fixture(autouse=True)
def own_target(settings):
    settings.REFERENCE_TARGET = {"scheme": "http", "host": "127.0.0.1", "port": 8081}


@pytest.fixture
def create(bob, project):
    """A campaign of two tests, or of one with several numbers of injectors."""
    cell = CampaignCell(make_plan(project), make_endpoint(make_target(project)), "new")

    return partial(engine.create, Actor(user=bob), project, cells=[cell])


def test_it_is_one_more_test_of_the_campaign(create):
    *others, own = create(reference=True).tests.order_by("position")
    assert own.is_of_reference
    assert not any(test.is_of_reference for test in others)
    assert (own.endpoint.origin, own.connection_mode) == ("http://127.0.0.1:8081", "keep-alive")


def test_a_sweep_has_it_once(create):
    tests = create(reference=True, sweep=Sweep("injectors", (1, 2))).tests.order_by("position")
    assert [(test.injectors, test.is_of_reference) for test in tests] == [
        (1, False),
        (2, False),
        (1, True),
    ]


def test_target_and_plan_are_made_once(create, project):
    first, second = (create(reference=True).tests.last() for _ in range(2))
    assert (first.endpoint, first.plan_version) == (second.endpoint, second.plan_version)
    assert Target.objects.filter(tags=["reference"]).count() == 1
    assert SavedPlan.objects.filter(tags=["reference"]).count() == 1


def test_a_target_of_the_project_that_is_tagged_already_is_used(create, project):
    own = make_endpoint(make_target(project, "echo", tags=["reference"]))
    assert create(reference=True).tests.last().endpoint == own


def test_the_same_server_without_the_tag_is_an_ordinary_test(create):
    ordinary, own = create(reference=True).tests.order_by("position")
    assert ordinary.endpoint.origin == own.endpoint.origin
    assert not ordinary.is_of_reference
    assert ordinary.endpoint.target != own.endpoint.target


def test_an_archived_or_edited_one_is_made_anew(create, project):
    own = create(reference=True).tests.last()
    Target.objects.filter(pk=own.endpoint.target_id).update(archived_at="2026-11-01T00:00:00Z")
    own.plan_version.plan.versions.create(number=2, spec=make_plan(project).spec)
    assert (reference_endpoint(project), reference_version(project)) == (None, None)
    again = create(reference=True).tests.last()
    assert again.endpoint != own.endpoint
    assert again.plan_version.plan_id != own.plan_version.plan_id


def test_a_repeated_campaign_has_it_too(create, bob):
    again = repeat_campaign(by=Actor(user=bob), campaign=create(reference=True))
    assert [test.is_of_reference for test in again.tests.order_by("position")] == [False, True]


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("REFERENCE_TARGET", None, "BENCHSITE_REFERENCE_TARGET"),
        ("ALLOWED_NETWORKS", ["10.0.0.0/8"], r"127\.0\.0\.1"),
    ],
)
def test_there_must_be_one_at_an_address_that_is_vetted(create, settings, setting, value, words):
    setattr(settings, setting, value)
    with pytest.raises(Refused, match=words):
        create(reference=True)
