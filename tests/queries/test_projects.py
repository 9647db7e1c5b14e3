"""Reads of projects, targets and injectors: right numbers, no query a row."""

import pytest
from django.utils import timezone

from campaigns.permissions import Actor, Role
from campaigns.queries import projects
from campaigns.queries.projects import SAMPLE_CAMPAIGN, SAMPLE_PROJECT, sample_of
from tests.factories import make_campaign, make_target

pytestmark = pytest.mark.django_db


def test_projects_are_counted_without_multiplying(project, as_alice):
    for _ in range(2):
        make_target(project)
        make_campaign(project)
    (found,) = projects.list_projects(as_alice)
    assert (found.n_targets, found.n_campaigns, found.n_members) == (2, 2, 3)
    assert found.role == Role.OWNER


def test_the_projects_of_a_stranger_are_none(project, as_charlie):
    assert not projects.list_projects(as_charlie).exists()


def finished(project, name: str):
    return make_campaign(project, name, started_at=timezone.now(), finished_at=timezone.now())


def test_the_sample_is_the_newest_finished_one_and_no_other_campaign_of_its_project(
    project, alice, charlie
):
    project.name = SAMPLE_PROJECT
    project.save()
    finished(project, SAMPLE_CAMPAIGN)
    newest = finished(project, SAMPLE_CAMPAIGN)
    make_campaign(project, SAMPLE_CAMPAIGN, started_at=timezone.now())
    finished(project, "Checkout, 503 for a fifth")
    assert sample_of(Actor(user=alice)) == newest
    assert sample_of(Actor(user=charlie)) is None


def test_a_project_of_another_name_has_no_sample(project, alice):
    finished(project, SAMPLE_CAMPAIGN)
    assert sample_of(Actor(user=alice)) is None
