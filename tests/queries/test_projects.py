"""Reads of projects, targets and injectors: right numbers, no query a row."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.models import InjectorHost
from campaigns.permissions import Actor, Role
from campaigns.queries import injector_hosts, projects
from campaigns.queries.items import ItemFilter
from campaigns.queries.projects import SAMPLE_CAMPAIGN, SAMPLE_PROJECT, sample_of
from tests.factories import make_campaign, make_target

pytestmark = pytest.mark.django_db


def test_projects_are_counted_without_multiplying(project, as_alice):
    for _ in range(2):
        make_target(project)
        make_campaign(project)
    (found,) = projects.list_projects(as_alice, ItemFilter())
    assert (found.n_targets, found.n_campaigns, found.n_members) == (2, 2, 3)
    assert found.role == Role.OWNER


def test_the_projects_of_a_stranger_are_none(project, as_charlie):
    assert not projects.list_projects(as_charlie, ItemFilter()).exists()


def test_a_host_that_was_silent_for_a_while_does_not_answer():
    now = timezone.now()
    InjectorHost.objects.create(name="a", slots=2, seen_at=now, started_at=now)
    silent = now - timedelta(seconds=60)
    InjectorHost.objects.create(name="b", slots=2, seen_at=silent, started_at=silent)
    assert [(host.name, host.is_alive, host.busy) for host in injector_hosts.hosts()] == [
        ("a", True, 0),
        ("b", False, 0),
    ]


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
