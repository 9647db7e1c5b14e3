"""Trying one request: who may, what is stored, and that an answer counts once."""

from copy import copy

import pytest

from campaigns.domain.errors import InvalidPlan, Refused
from campaigns.models import Probe
from campaigns.services.items import archive_items
from campaigns.services.load_control import stop_all_load_from_console
from campaigns.services.probes import claim_probe, finish_probe, order_of, request_probe
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
    asked = {"path": "/feed", "headers": [["X-A", "1"]], "subprotocols": ["chat"], "message": "hi"}
    probe = request_probe(by=as_bob, endpoint=endpoint, request=asked)
    order = order_of(probe)
    assert order["message"] == "hi"
    assert order["exchange"] == {name: asked[name] for name in ("path", "headers", "subprotocols")}
    assert "step" not in order


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"path": "feed"}, "exchange.path"), ({"message": "x" * 20_001}, "message")],
)
def test_what_is_wrong_with_an_opening_is_said_by_field(project, as_bob, wrong, field):
    endpoint = make_endpoint(make_target(project), "wss", 8004)
    asked = {"path": "/", "headers": [], "subprotocols": [], "message": None, **wrong}
    with pytest.raises(InvalidPlan) as refusal:
        request_probe(by=as_bob, endpoint=endpoint, request=asked)
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
