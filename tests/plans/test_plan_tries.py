"""The test request of each step of a plan that is being written, one after another."""

import pytest
from django.urls import reverse

from campaigns.core import queue
from campaigns.models import PlanVersion, Probe
from campaigns.probes.services.probes import finish_probe
from tests.factories import make_endpoint, make_target
from tests.pages import text_of
from tests.plans.plan_form import typed_plan

pytestmark = pytest.mark.django_db
TWO = {
    "method": "POST",
    "path": "/login",
    "extract": "token = json: $.token",
    "n_steps": "2",
    "step2_method": "GET",
    "step2_path": "/me?t=${token}",
}


@pytest.fixture
def send(as_editor, project, monkeypatch):
    """Posts the form's test request; gives the answer."""
    monkeypatch.setattr(queue, "send", lambda name, args: True)
    endpoint = make_endpoint(make_target(project))

    def send(key="1", **fields):
        sent = typed_plan(**TWO | fields) | {"try_endpoint": endpoint.pk, "try_key": key}
        return as_editor.post(reverse("plan-try", args=[project.pk]), sent)

    return send


def answer(**result):
    probe = Probe.objects.latest("pk")
    usual = {"status": 200, "error": None, "response_us": 900, "headers": [], "rules": []}
    finish_probe(probe_id=probe.pk, result={**usual, **result})
    return probe


def token_rules(value: str | None) -> list[dict]:
    rule = "token = json: $.token"
    return [{"rule": rule, "holds": value is not None, "came": "", "value": value}]


def test_the_next_step_is_sent_with_what_the_one_before_gave(send):
    assert send(cookies="on").context["awaited"]
    assert send(cookies="on").context["awaited"], "nothing more is sent while a response is awaited"
    answer(rules=token_rules("a b"), headers=[["Set-Cookie", "sid=7; Path=/; HttpOnly"]])
    page = send(cookies="on")
    second = Probe.objects.latest("pk")
    assert (Probe.objects.count(), second.request["path"]) == (2, "/me?t=a%20b")
    assert ["Cookie", "sid=7"] in second.request["headers"]
    assert "→ a b" in text_of(page)
    answer()
    page = send()
    assert not page.context["awaited"]
    assert [each.is_right for each in page.context["tried"]] == [True, True]
    assert not PlanVersion.objects.exists()


@pytest.mark.parametrize(
    "result",
    [{"status": 404}, {"rules": token_rules(None)}, {"status": None, "error": "connect_refused"}],
)
def test_a_step_that_failed_is_the_last_and_its_response_is_open(send, result):
    send()
    answer(snippet="not here", **result)
    page = send()
    assert not page.context["awaited"]
    assert Probe.objects.count() == 1
    assert 'id="tried-1-answered" open' in text_of(page)


def test_what_is_wrong_in_the_form_sends_nothing(send):
    assert "marked" in send(step2_path="").context["refusal"]
    assert "port" not in send(step2_path="no slash").context["refusal"]
    assert not Probe.objects.exists()
