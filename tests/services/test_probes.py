"""Trying one request: who may, what is stored, and that an answer counts once."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns import queue
from campaigns.domain.errors import Forbidden, InvalidPlan, Refused
from campaigns.models import Probe
from campaigns.models.dbtime import db_now
from campaigns.services.items import archive_items
from campaigns.services.probes import (
    claim_probe,
    claim_together,
    expire_probes,
    finish_probe,
    order_of,
    request_probe,
    ring_waiting_probes,
)
from tests.factories import make_endpoint, make_plan, make_project, make_target

pytestmark = pytest.mark.django_db
STEP = {"method": "post", "path": "/soap", "headers": [["X-A", "1"]], "body": "<soap/>"}


@pytest.fixture
def endpoint(project):
    return make_endpoint(make_target(project), "https", verify_tls=False)


@pytest.fixture
def sent(monkeypatch):
    rung = []
    monkeypatch.setattr(queue, "send", lambda name, args: rung.append((name, args)) or True)
    return rung


@pytest.fixture
def waiting(endpoint, as_bob):
    """A probe that was asked for so many seconds ago."""

    def ask(seconds_ago: float) -> Probe:
        probe = request_probe(by=as_bob, endpoint=endpoint, request=STEP)
        Probe.objects.filter(pk=probe.pk).update(requested_at=db_now(-seconds_ago))
        return probe

    return ask


def test_a_request_is_stored_and_a_worker_is_called_after_the_commit(
    endpoint, as_bob, sent, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        probe = request_probe(by=as_bob, endpoint=endpoint, request=STEP)
        assert not sent
    assert sent == [("workers.probe", [probe.pk])]
    assert probe.request["method"] == "POST"


def test_a_wrong_request_is_refused_by_the_plan_s_own_rules(endpoint, as_bob):
    with pytest.raises(InvalidPlan) as refusal:
        request_probe(by=as_bob, endpoint=endpoint, request={"method": "GET", "path": "no slash"})
    assert "steps.0.path" in refusal.value.errors


def test_a_viewer_may_not_send(endpoint, as_vera):
    with pytest.raises(Forbidden):
        request_probe(by=as_vera, endpoint=endpoint, request=STEP)


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
    [
        ({"path": "feed"}, "exchange.path"),
        ({"headers": [["Sec-WebSocket-Key", "x"]]}, "exchange.headers"),
        ({"subprotocols": ["a b"]}, "exchange.subprotocols"),
        ({"message": "x" * 20_001}, "message"),
    ],
)
def test_what_is_wrong_with_an_opening_is_said_by_field(project, as_bob, wrong, field):
    endpoint = make_endpoint(make_target(project), "wss", 8004)
    asked = {"path": "/", "headers": [], "subprotocols": [], "message": None, **wrong}
    with pytest.raises(InvalidPlan) as refusal:
        request_probe(by=as_bob, endpoint=endpoint, request=asked)
    assert set(refusal.value.errors) == {field}


def test_the_bell_is_rung_again_for_a_probe_that_nobody_heard_of(waiting, sent):
    unheard = waiting(10)
    waiting(1)
    under_way, answered = waiting(10), waiting(10)
    claim_probe(probe_id=under_way.pk)
    finish_probe(probe_id=answered.pk, result={"status": 200})
    assert ring_waiting_probes() == 1
    assert sent == [("workers.probe", [unheard.pk])]


def test_two_messages_about_a_probe_are_one_request_to_the_target(waiting):
    probe = waiting(10)
    assert claim_probe(probe_id=probe.pk) == probe
    assert claim_probe(probe_id=probe.pk) is None


def test_a_probe_that_no_worker_took_is_answered_with_how_to_start_one(waiting):
    probe, young = waiting(130), waiting(100)
    assert expire_probes() == 1
    probe.refresh_from_db()
    young.refresh_from_db()
    assert "the process general is running" in probe.result["detail"]
    assert young.finished_at is None
    assert expire_probes() == 0


def test_a_probe_whose_worker_died_says_so_as_soon_as_a_living_one_would_have_answered(waiting):
    probe, under_way = waiting(60), waiting(60)
    for each, seconds_ago in ((probe, 51), (under_way, 45)):
        claim_probe(probe_id=each.pk)
        Probe.objects.filter(pk=each.pk).update(claimed_at=db_now(-seconds_ago))
    assert expire_probes() == 1
    probe.refresh_from_db()
    assert "stopped before it had an answer" in probe.result["detail"]


def test_its_age_is_of_the_database_s_clock(endpoint, as_bob, monkeypatch):
    """That of the web process may be minutes behind."""
    behind = timezone.now() - timedelta(seconds=130)
    monkeypatch.setattr(timezone, "now", lambda: behind)
    probe = request_probe(by=as_bob, endpoint=endpoint, request=STEP)
    assert expire_probes() == 0
    assert claim_together(probe_id=probe.pk, most=1) == [probe]


def test_the_credentials_of_another_project_s_plan_are_not_sent(endpoint, as_bob):
    foreign = make_plan(make_project(owner=as_bob.user))
    with pytest.raises(Refused, match="a plan of its own project"):
        request_probe(by=as_bob, endpoint=endpoint, request=STEP, credentials_of=foreign)
    assert not Probe.objects.exists()
