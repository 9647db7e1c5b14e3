"""Single requests: who may try one, whose is next, and that an answer counts once."""

from copy import copy
from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.core.database import db_now
from campaigns.domain.errors import InvalidPlan, Refused
from campaigns.items.services import archive_items
from campaigns.models import Probe
from campaigns.operations.services.load_control import (
    allow_load_from_console,
    drain_from_console,
    stop_all_load_from_console,
)
from campaigns.probes.services.probes import (
    SLOTS,
    claim_in_turn,
    claim_probe,
    expire_probes,
    finish_probe,
    order_of,
    request_probe,
    unwanted,
)
from tests.engine.scenes import draft, owner_of
from tests.factories import make_endpoint, make_plan, make_project, make_target

pytestmark = pytest.mark.django_db


STEP = {"method": "post", "path": "/soap", "headers": [["X-A", "1"]], "body": "<soap/>"}


@pytest.fixture
def endpoint(project):
    return make_endpoint(make_target(project), "https", verify_tls=False)


def test_a_request_is_stored_as_a_plan_s_step(endpoint, as_bob):
    probe = request_probe(by=as_bob, endpoint=endpoint, request=STEP)
    assert probe.request["method"] == "POST"


def test_a_wrong_request_is_refused_by_the_plan_s_own_rules(endpoint, as_bob):
    with pytest.raises(InvalidPlan) as refusal:
        request_probe(by=as_bob, endpoint=endpoint, request={"method": "GET", "path": "no slash"})
    assert "steps.0.path" in refusal.value.errors


def test_nothing_is_sent_to_an_archived_target(endpoint, as_bob):
    archive_items(by=as_bob, items=[endpoint.target])
    endpoint.target.refresh_from_db()
    with pytest.raises(Refused, match="archived"):
        request_probe(by=as_bob, endpoint=endpoint, request=STEP)


def test_the_order_has_the_endpoint_and_the_allowed_networks(endpoint, as_bob, settings):
    settings.ALLOWED_NETWORKS = ["10.0.0.0/8"]
    order = order_of(request_probe(by=as_bob, endpoint=endpoint, request=STEP))
    assert order["probe"] is True
    assert order["endpoint"]["verify_tls"] is False
    assert order["policy"]["allow"] == ["10.0.0.0/8"]


def test_the_first_answer_counts(endpoint, as_bob):
    probe = request_probe(by=as_bob, endpoint=endpoint, request=STEP)
    finish_probe(probe_id=probe.pk, result={"status": 200})
    finish_probe(probe_id=probe.pk, result={"status": 500})
    assert Probe.objects.get(pk=probe.pk).result["status"] == 200


def test_what_a_target_may_send_is_stored_bounded_and_without_nul(endpoint, as_bob):
    probe = request_probe(by=as_bob, endpoint=endpoint, request=STEP)
    finish_probe(
        probe_id=probe.pk,
        result={"status": 200, "snippet": "\x00" * 9000, "headers": [["X\x00", "a\x00b"]] * 900},
    )
    result = Probe.objects.get(pk=probe.pk).result
    assert result["snippet"] == "�" * 4000
    assert len(result["headers"]) == 200
    assert result["headers"][0] == ["X�", "a�b"]


def test_a_websocket_endpoint_is_opened_with_a_message(project, as_bob):
    endpoint = make_endpoint(make_target(project), "ws", 8003)
    opening = {
        "path": "/feed",
        "headers": [["X-A", "1"]],
        "subprotocols": ["chat"],
        "message": "hi",
    }
    order = order_of(request_probe(by=as_bob, endpoint=endpoint, request=opening))
    assert order["message"] == "hi"
    assert order["exchange"] == {
        name: opening[name] for name in ("path", "headers", "subprotocols")
    }
    assert "step" not in order


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"path": "feed"}, "exchange.path"), ({"message": "x" * 20_001}, "message")],
)
def test_what_is_wrong_with_an_opening_is_said_by_field(project, as_bob, wrong, field):
    endpoint = make_endpoint(make_target(project), "wss", 8004)
    opening = {"path": "/", "headers": [], "subprotocols": [], "message": None, **wrong}
    with pytest.raises(InvalidPlan) as refusal:
        request_probe(by=as_bob, endpoint=endpoint, request=opening)
    assert set(refusal.value.errors) == {field}


def test_of_two_that_claim_a_request_one_has_it(endpoint, as_bob):
    probe = request_probe(by=as_bob, endpoint=endpoint, request=STEP)
    assert claim_probe(probe_id=probe.pk) == probe
    assert claim_probe(probe_id=probe.pk) is None


def test_the_credentials_of_another_project_s_plan_are_not_sent(endpoint, as_bob):
    foreign = make_plan(make_project(owner=as_bob.user))
    with pytest.raises(Refused, match="a plan of its own project"):
        request_probe(by=as_bob, endpoint=endpoint, request=STEP, credentials_of=foreign)
    assert not Probe.objects.exists()


def test_an_account_has_50_without_a_reply_and_a_project_60(endpoint, as_bob, as_alice):
    waiting = Probe(endpoint=endpoint, request=STEP, requested_by=as_bob.user)
    Probe.objects.bulk_create([copy(waiting) for _ in range(49)])
    last = request_probe(by=as_bob, endpoint=endpoint, request=STEP)
    with pytest.raises(Refused, match="50 test requests of yours wait for a reply"):
        request_probe(by=as_bob, endpoint=endpoint, request=STEP)
    for _ in range(10):
        request_probe(by=as_alice, endpoint=endpoint, request=STEP)
    with pytest.raises(Refused, match=r"60 test requests of .* wait for a reply"):
        request_probe(by=as_alice, endpoint=endpoint, request=STEP)
    finish_probe(probe_id=last.pk, result={"status": 200})
    request_probe(by=as_bob, endpoint=endpoint, request=STEP)


def test_while_load_is_off_a_request_is_refused_where_it_is_asked_for(endpoint, as_bob):
    stop_all_load_from_console()
    with pytest.raises(Refused, match="Load is off"):
        request_probe(by=as_bob, endpoint=endpoint, request=STEP)


GET = {"method": "GET", "path": "/"}


def try_some(project, n: int = 1, *, seconds_ago: float = 0) -> list[Probe]:
    endpoint = make_endpoint(make_target(project))
    probes = [Probe.objects.create(endpoint=endpoint, request=GET) for _ in range(n)]
    Probe.objects.filter(endpoint=endpoint).update(requested_at=db_now(-seconds_ago))
    return probes


def first_requests(project, n: int = 1) -> list[Probe]:
    campaign = draft(project, n_tests=n)
    start_campaign(by=owner_of(project), campaign=campaign)
    return list(campaign.first_requests.order_by("pk"))


class TestTurns:
    def test_whoever_is_alone_gets_8_slots_in_the_order_of_asking(self, project):
        probes = try_some(project, 30)
        busy = claim_in_turn(busy=[])
        assert busy == probes[:8]
        assert claim_in_turn(busy=busy) == []
        finish_probe(probe_id=busy[0].pk, result={"status": 200})
        assert claim_in_turn(busy=busy[1:]) == [probes[8]]

    def test_a_campaign_s_first_requests_never_wait_behind_what_people_try(self, project):
        try_some(project, 30)
        busy = claim_in_turn(busy=[])
        first = first_requests(project, 2)
        assert claim_in_turn(busy=busy)[:2] == first

    def test_projects_with_silent_servers_leave_slots_for_others(self, project):
        silent = [make_project() for _ in range(6)]
        for each in silent:
            try_some(each, 30)
        busy = claim_in_turn(busy=[])
        while more := claim_in_turn(busy=busy):
            busy += more
        assert len(busy) < SLOTS
        first = first_requests(project)
        assert claim_in_turn(busy=busy) == first

    def test_projects_that_wait_together_get_as_many_slots_each(self, project):
        other = make_project()
        try_some(project, 30)
        try_some(other, 30)
        turns = [each.endpoint.target.project for each in claim_in_turn(busy=[])]
        assert turns[:10] == [project, other] * 5

    def test_a_long_queue_of_one_project_is_read_only_as_far_as_there_are_slots(
        self, project, django_assert_max_num_queries
    ):
        try_some(project, 300)
        with django_assert_max_num_queries(5 + 2 * 8):
            claim_in_turn(busy=[])

    def test_two_dispatchers_claim_nothing_twice(self, project):
        (probe,) = try_some(project)
        assert claim_in_turn(busy=[]) == [probe]
        assert claim_in_turn(busy=[]) == []


class TestWaiting:
    def test_what_has_no_time_left_for_an_answer_is_not_sent_and_says_who_was_ahead(self, project):
        ahead = try_some(make_project(), 8)
        claim_in_turn(busy=[])
        (probe,) = try_some(project, seconds_ago=81)
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
        probe, under_way = try_some(project, 2)
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
        probes = try_some(project)
        assert expire_probes() == 0
        assert claim_in_turn(busy=[]) == probes


class TestLoadIsOff:
    def test_what_people_try_ends_and_first_requests_wait_until_load_is_on(self, project):
        (probe,), first = try_some(project), first_requests(project)
        drain_from_console()
        assert claim_in_turn(busy=[]) == []
        assert expire_probes() == 1
        probe.refresh_from_db()
        assert "Load is off" in probe.result["detail"]
        allow_load_from_console()
        assert claim_in_turn(busy=[]) == first

    def test_of_what_is_under_way_a_drain_ends_only_what_people_try(self, project):
        (probe,), first = try_some(project), first_requests(project)
        busy = {each.pk for each in claim_in_turn(busy=[])}
        assert busy == {probe.pk, first[0].pk}
        assert unwanted(asked=busy) == {}
        drain_from_console()
        assert set(unwanted(asked=busy)) == {probe.pk}
