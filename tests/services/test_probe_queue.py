"""Whose single request is next, and what ends without its turn."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.models import Probe
from campaigns.models.dbtime import db_now
from campaigns.services.campaigns import start_campaign
from campaigns.services.load_control import allow_load_from_console, drain_from_console
from campaigns.services.probes import (
    SLOTS,
    claim_in_turn,
    claim_probe,
    expire_probes,
    finish_probe,
    unwanted,
)
from tests.factories import make_endpoint, make_project, make_target
from tests.services.engine import draft, owner_of

pytestmark = pytest.mark.django_db
STEP = {"method": "GET", "path": "/"}


def tried(project, n: int = 1, *, seconds_ago: float = 0) -> list[Probe]:
    endpoint = make_endpoint(make_target(project))
    probes = [Probe.objects.create(endpoint=endpoint, request=STEP) for _ in range(n)]
    Probe.objects.filter(endpoint=endpoint).update(requested_at=db_now(-seconds_ago))
    return probes


def first_requests(project, n: int = 1) -> list[Probe]:
    campaign = draft(project, n_tests=n)
    start_campaign(by=owner_of(project), campaign=campaign)
    return list(campaign.first_requests.order_by("pk"))


class TestTurns:
    def test_whoever_is_alone_gets_8_slots_in_the_order_of_asking(self, project):
        probes = tried(project, 30)
        busy = claim_in_turn(busy=[])
        assert busy == probes[:8]
        assert claim_in_turn(busy=busy) == []
        finish_probe(probe_id=busy[0].pk, result={"status": 200})
        assert claim_in_turn(busy=busy[1:]) == [probes[8]]

    def test_a_campaign_s_first_requests_never_wait_behind_what_people_try(self, project):
        tried(project, 30)
        busy = claim_in_turn(busy=[])
        first = first_requests(project, 2)
        assert claim_in_turn(busy=busy)[:2] == first

    def test_projects_with_silent_servers_leave_slots_for_others(self, project):
        silent = [make_project() for _ in range(6)]
        for each in silent:
            tried(each, 30)
        busy = claim_in_turn(busy=[])
        while more := claim_in_turn(busy=busy):
            busy += more
        assert len(busy) < SLOTS
        first = first_requests(project)
        assert claim_in_turn(busy=busy) == first

    def test_projects_that_wait_together_get_as_many_slots_each(self, project):
        other = make_project()
        tried(project, 30)
        tried(other, 30)
        turns = [each.endpoint.target.project for each in claim_in_turn(busy=[])]
        assert turns[:10] == [project, other] * 5

    def test_a_long_queue_of_one_project_is_read_only_as_far_as_there_are_slots(
        self, project, django_assert_max_num_queries
    ):
        tried(project, 300)
        with django_assert_max_num_queries(5 + 2 * 8):
            claim_in_turn(busy=[])

    def test_two_dispatchers_claim_nothing_twice(self, project):
        (probe,) = tried(project)
        assert claim_in_turn(busy=[]) == [probe]
        assert claim_in_turn(busy=[]) == []


class TestWaiting:
    def test_what_has_no_time_left_for_an_answer_is_not_sent_and_says_who_was_ahead(self, project):
        other = make_project()
        ahead = tried(other, 8)
        claim_in_turn(busy=[])
        (probe,) = tried(project, seconds_ago=81)
        assert claim_in_turn(busy=ahead) == []
        assert expire_probes() == 1
        probe.refresh_from_db()
        assert probe.result["not_sent"]
        assert "8 test requests of other projects" in probe.result["detail"]
        assert expire_probes() == 0

    def test_first_requests_wait_for_their_turn_as_long_as_it_takes(self, project):
        (probe,) = first_requests(project)
        Probe.objects.update(requested_at=db_now(-3600))
        assert expire_probes() == 0
        assert claim_in_turn(busy=[]) == [probe]

    def test_one_whose_dispatcher_died_says_so_as_soon_as_a_living_one_would_have_answered(
        self, project
    ):
        probe, under_way = tried(project, 2)
        for each, seconds_ago in ((probe, 51), (under_way, 45)):
            claim_probe(probe_id=each.pk)
            Probe.objects.filter(pk=each.pk).update(claimed_at=db_now(-seconds_ago))
        assert expire_probes() == 1
        probe.refresh_from_db()
        assert probe.result["detail"]

    def test_its_age_is_of_the_database_s_clock(self, project, monkeypatch):
        """That of the web process may be minutes behind."""
        behind = timezone.now() - timedelta(seconds=130)
        monkeypatch.setattr(timezone, "now", lambda: behind)
        probes = tried(project)
        assert expire_probes() == 0
        assert claim_in_turn(busy=[]) == probes


class TestLoadIsOff:
    def test_what_people_try_ends_and_first_requests_wait_until_load_is_on(self, project):
        (probe,), first = tried(project), first_requests(project)
        drain_from_console()
        assert claim_in_turn(busy=[]) == []
        assert expire_probes() == 1
        probe.refresh_from_db()
        assert "Load is off" in probe.result["detail"]
        allow_load_from_console()
        assert claim_in_turn(busy=[]) == first

    def test_of_what_is_under_way_a_drain_ends_only_what_people_try(self, project):
        (probe,), first = tried(project), first_requests(project)
        busy = {each.pk for each in claim_in_turn(busy=[])}
        assert busy == {probe.pk, first[0].pk}
        assert unwanted(asked=busy) == {}
        drain_from_console()
        assert set(unwanted(asked=busy)) == {probe.pk}
