"""Reads of projects, targets and injectors: right numbers, no query a row."""

import pytest

from campaigns.core.permissions import Role
from campaigns.items.queries import items
from tests.factories import make_campaign, make_target

pytestmark = pytest.mark.django_db


def test_projects_are_counted_without_multiplying(project, as_alice):
    for _ in range(2):
        make_target(project)
        make_campaign(project)
    (found,) = items.list_projects(as_alice)
    assert (found.n_targets, found.n_campaigns, found.n_members) == (2, 2, 3)
    assert found.role == Role.OWNER


def test_the_projects_of_a_stranger_are_none(project, as_charlie):
    assert not items.list_projects(as_charlie).exists()
