"""The installation's own target as the reference of a project's campaigns."""

from functools import partial

import pytest

from campaigns.domain.errors import Forbidden, Refused
from campaigns.domain.plan.sweep import Sweep
from campaigns.models import SavedPlan, Target
from campaigns.permissions import Actor
from campaigns.queries.references import reference_endpoint, reference_version
from campaigns.services.blocks import CampaignCell
from campaigns.services.campaigns import reference_cell, repeat_campaign
from tests.factories import make_endpoint, make_plan, make_target
from tests.services import engine

pytestmark = pytest.mark.django_db


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


def test_without_one_the_installation_says_so(create, settings):
    settings.REFERENCE_TARGET = None
    with pytest.raises(Refused, match="BENCHSITE_REFERENCE_TARGET"):
        create(reference=True)


def test_its_address_is_vetted_like_any_other(create, settings):
    settings.ALLOWED_NETWORKS = ["10.0.0.0/8"]
    with pytest.raises(Refused, match=r"127\.0\.0\.1"):
        create(reference=True)


def test_who_may_only_look_makes_none(project, vera):
    with pytest.raises(Forbidden):
        reference_cell(by=Actor(user=vera), project=project)
