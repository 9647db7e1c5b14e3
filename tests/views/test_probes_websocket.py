"""The page of a WebSocket tried by hand, from asking to answer."""

import pytest
from django.urls import reverse

from campaigns.models import Probe
from campaigns.services.probes import finish_probe
from tests.factories import make_endpoint, make_target

pytestmark = pytest.mark.django_db
ASKED = {
    "method": "GET", "path": "/feed", "headers": "X-A: 1", "body": "", "message": "hi <b>",
    "subprotocols": "chat, log",
}  # fmt: skip
RESULT = {
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
def endpoint(project):
    return make_endpoint(make_target(project), "ws", 8003)


def ask(client, endpoint, **changes) -> str:
    data = {**ASKED, **changes}
    answer = client.post(reverse("probe-new", args=[endpoint.pk]), data, follow=True)
    return answer.content.decode()


def page_after(client, endpoint, **changes) -> str:
    ask(client, endpoint)
    probe = Probe.objects.get()
    finish_probe(probe_id=probe.pk, result={**RESULT, **changes})
    return client.get(reverse("probe-detail", args=[probe.pk])).content.decode()


def test_asking_stores_the_opening_and_the_message(as_editor, endpoint):
    assert 'data-finished="no"' in ask(as_editor, endpoint)
    assert Probe.objects.get().request == {
        "method": "GET", "path": "/feed", "headers": [["X-A", "1"]],
        "subprotocols": ["chat", "log"], "message": "hi <b>",
    }  # fmt: skip


def test_the_answer_shows_upgrade_echo_and_close(as_editor, endpoint):
    page = page_after(as_editor, endpoint)
    for words in (
        "101 Switching Protocols.", "1000, normal closure", "hi &lt;b&gt;",
        'data-part="handshake"', 'data-part="close"',
    ):  # fmt: skip
        assert words in page, words


def test_a_rejection_says_what_to_look_at(as_editor, endpoint):
    nothing = {"accept": "", "subprotocol": "", "messages": 0, "close_code": None, "message": None}
    rejected = {"status": 403, "reason": "Forbidden", "error": "ws_upgrade_rejected"}
    page = page_after(as_editor, endpoint, **rejected, snippet="<i>no</i>", websocket=nothing)
    assert "403 Forbidden" in page
    assert "&lt;i&gt;no&lt;/i&gt;" in page
