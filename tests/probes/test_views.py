"""The page of a single request or a WebSocket tried by hand, from asking to answer."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.presentation.what_to_do import remedy
from campaigns.models import Probe
from campaigns.probes.services.probes import finish_probe
from tests.factories import make_endpoint, make_target
from tests.pages import text_of

pytestmark = pytest.mark.django_db

ASKED = {"method": "POST", "path": "/soap", "headers": "X-A: 1", "body": "<soap/>"}
RESULT = {
    "status": 200,
    "reason": "OK",
    "headers": [["Server", "<script>alert(1)</script>"]],
    "body_bytes": 2148,
    "snippet": "<script>alert(2)</script>",
    "parts_us": {"dns": None, "connect": 1000, "tls": 8000, "send": 90, "wait": 9000, "receive": 1},
    "response_us": 18091,
    "error": None,
    "tls": {
        "version": "TLSv1.3",
        "cipher": "TLS_AES_128_GCM_SHA256",
        "bits": 128,
        "group": "X25519MLKEM768",
        "alpn": None,
    },
}


@pytest.fixture
def endpoint(project):
    return make_endpoint(make_target(project), "https")


def page_of(client, probe) -> str:
    """The page; where its lines break makes no difference."""
    return " ".join(client.get(reverse("probe-detail", args=[probe.pk])).content.decode().split())


def make_probe(endpoint, age_s: float = 0, result: dict | None = None) -> Probe:
    probe = Probe.objects.create(endpoint=endpoint, request={"method": "GET", "path": "/"})
    asked_at = timezone.now() - timedelta(seconds=age_s)
    Probe.objects.filter(pk=probe.pk).update(requested_at=asked_at)
    if result:
        finish_probe(probe_id=probe.pk, result=result)
    return probe


def test_asking_leads_to_a_page_that_waits(as_editor, endpoint):
    answer = as_editor.post(reverse("probe-new", args=[endpoint.pk]), ASKED, follow=True)
    assert 'data-finished="no"' in answer.content.decode()
    assert Probe.objects.get().request["headers"] == [["X-A", "1"]]


def test_a_wrong_request_is_answered_on_the_target_s_page_with_what_was_typed(as_editor, endpoint):
    answer = as_editor.post(
        reverse("probe-new", args=[endpoint.pk]), {**ASKED, "path": "nope", "headers": "Host: x"}
    )
    assert answer.status_code == 422
    assert "&lt;soap/&gt;" in answer.content.decode()
    assert not Probe.objects.exists()


def test_an_answer_is_shown_with_its_parts_and_what_the_target_sent_is_only_text(
    as_editor, endpoint
):
    page = page_of(as_editor, make_probe(endpoint, result=RESULT))
    assert "200 OK." in page
    assert "18.09" in page
    assert "TLSv1.3" in page
    assert "X25519MLKEM768" in page
    assert 'data-part="tls"' in page
    assert 'data-part="dns"' not in page
    assert "<script>alert" not in page


def test_a_remedy_names_fields_that_are_on_the_form_of_the_target(as_editor, endpoint):
    form = text_of(as_editor.get(reverse("target-edit", args=[endpoint.target_id])))
    labels = {label for kind in Kind for label in re.findall("“(.+?)”", remedy(kind))}
    assert {label for label in labels if f">{label}<" not in form} == set()
    assert "Server name (SNI)" in labels


def test_one_that_waits_for_its_turn_says_who_is_ahead(as_editor, endpoint):
    assert "ahead" not in page_of(as_editor, make_probe(endpoint))
    page = page_of(as_editor, make_probe(endpoint, age_s=11))
    assert "1 test request of this project is ahead." in page
    assert 'data-finished="no"' in page


OPENED = {
    "method": "GET", "path": "/feed", "headers": "X-A: 1", "body": "", "message": "hi <b>",
    "subprotocols": "chat, log",
}  # fmt: skip
UPGRADED = {
    "status": 101,
    "reason": "Switching Protocols",
    "headers": [["Upgrade", "websocket"]],
    "body_bytes": 0,
    "snippet": "",
    "parts_us": {"connect": 500, "handshake": 1500, "exchange": 700, "close": 300},
    "response_us": 3000,
    "error": None,
    "tls": None,
    "websocket": {
        "accept": "right",
        "subprotocol": "chat",
        "messages": 1,
        "close_code": 1000,
        "message": {"kind": "text", "size_bytes": 6, "snippet": "hi <b>", "is_echo": True},
    },
}


@pytest.fixture
def ws_endpoint(project):
    return make_endpoint(make_target(project), "ws", 8003)


def ask(client, ws_endpoint, **changes) -> str:
    data = {**OPENED, **changes}
    answer = client.post(reverse("probe-new", args=[ws_endpoint.pk]), data, follow=True)
    return answer.content.decode()


def page_after(client, ws_endpoint, **changes) -> str:
    ask(client, ws_endpoint)
    probe = Probe.objects.get()
    finish_probe(probe_id=probe.pk, result={**UPGRADED, **changes})
    return client.get(reverse("probe-detail", args=[probe.pk])).content.decode()


def test_asking_stores_the_opening_and_the_message(as_editor, ws_endpoint):
    assert 'data-finished="no"' in ask(as_editor, ws_endpoint)
    assert Probe.objects.get().request == {
        "method": "GET", "path": "/feed", "headers": [["X-A", "1"]],
        "subprotocols": ["chat", "log"], "message": "hi <b>",
    }  # fmt: skip


def test_the_answer_shows_upgrade_echo_and_close(as_editor, ws_endpoint):
    page = page_after(as_editor, ws_endpoint)
    for words in (
        "101 Switching Protocols.", "1000, normal closure", "hi &lt;b&gt;",
        'data-part="handshake"', 'data-part="close"',
    ):  # fmt: skip
        assert words in page, words


def test_a_rejection_says_what_to_look_at(as_editor, ws_endpoint):
    nothing = {"accept": "", "subprotocol": "", "messages": 0, "close_code": None, "message": None}
    rejection = {"status": 403, "reason": "Forbidden", "error": "ws_upgrade_rejected"}
    page = page_after(as_editor, ws_endpoint, **rejection, snippet="<i>no</i>", websocket=nothing)
    assert "403 Forbidden" in page
    assert "&lt;i&gt;no&lt;/i&gt;" in page


def test_trying_again_follows_redirects_as_before_and_the_page_lists_them(as_editor, endpoint):
    form = as_editor.get(reverse("target-detail", args=[endpoint.target_id])).content.decode()
    assert '<option value="all">Followed everywhere</option>' in form
    request = {**ASKED, "redirects": "all"}
    as_editor.post(reverse("probe-new", args=[endpoint.pk]), request)
    probe = Probe.objects.get()
    assert probe.request["redirects"] == "all"
    redirect = {"url": "https://a.example/", "status": 301, "response_us": 1500}
    result = {**RESULT, "redirects": [redirect], "url": "https://b.example/"}
    finish_probe(probe_id=probe.pk, result=result)
    page = page_of(as_editor, probe)
    assert 'name="redirects" value="all"' in page
    assert "https://a.example/" in page
    assert "https://b.example/" in page
