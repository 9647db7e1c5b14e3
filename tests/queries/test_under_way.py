"""What the dispatcher asks five times a second."""

import pytest

from campaigns.models import Campaign, Probe, Run, Search
from campaigns.queries.under_way import Waiting, under_way
from campaigns.services import dispatch
from tests.factories import make_endpoint, make_target
from tests.searches import searching
from tests.services.engine import host, started

pytestmark = pytest.mark.django_db


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
