"""The worker that does one request: it asks the injector program and stores what it says."""

import json
import socket
import sys

import pytest

from campaigns.domain.errors import Refused
from campaigns.domain.plan.first_request import AT_ONCE
from campaigns.models import Probe
from campaigns.queries.first_requests import first_requests_of
from campaigns.services.campaigns import start_campaign
from tests.factories import make_endpoint, make_target
from tests.services.engine import draft
from workers.tasks import probes

ANSWER = {"type": "probe", "status": 200, "error": None}


def program(*lines: str) -> tuple[str, ...]:
    """A stand-in for the injector that reads the order and prints these lines."""
    code = "import sys\nsys.stdin.readline()\n" + "".join(f"print({line!r})\n" for line in lines)
    return (sys.executable, "-c", code)


def test_the_probe_s_answer_is_taken_from_among_other_lines():
    command = program("not json", "[]", json.dumps({"type": "ready"}), json.dumps(ANSWER))
    assert probes.ask_injector({}, command) == ANSWER


def test_a_refusal_becomes_a_result_with_its_kind_and_reason():
    refusal = {"type": "refused", "kind": "address_refused", "reason": "10.0.0.1 is not allowed."}
    result = probes.ask_injector({}, program(json.dumps(refusal)))
    assert (result["error"], result["detail"]) == ("address_refused", "10.0.0.1 is not allowed.")


def test_a_program_that_says_nothing_becomes_a_result():
    assert "exited without an answer" in probes.ask_injector({}, program())["detail"]
    assert probes.ask_injector({}, (sys.executable, "-c", ""))["error"] == "client_other"


def test_a_program_that_hangs_is_ended():
    command = (sys.executable, "-c", "import time; time.sleep(60)")
    result = probes.ask_injector({}, command, limit_s=0.3)
    assert result["error"] == "client_other"
    assert "no answer after 0.3 s and was ended: its machine is too busy" in result["detail"]


def test_the_program_gets_none_of_our_secrets(monkeypatch):
    monkeypatch.setenv("BENCHSITE_SECRET_KEY", "secret")
    code = (
        "import json, os, sys; sys.stdin.readline();"
        "print(json.dumps({'type': 'probe', 'env': sorted(os.environ)}))"
    )
    result = probes.ask_injector({}, (sys.executable, "-c", code))
    assert "BENCHSITE_SECRET_KEY" not in result["env"]


@pytest.fixture
def probe(project):
    # Nothing listens on port 1.
    endpoint = make_endpoint(make_target(project), "http", port=1)
    step = {"method": "GET", "path": "/", "headers": [], "body": ""}
    return Probe.objects.create(endpoint=endpoint, request=step)


@pytest.mark.django_db
def test_the_task_stores_the_real_program_s_answer_once(probe):
    probes.probe(probe.pk)
    probe.refresh_from_db()
    assert probe.result["error"] == "connect_refused"
    finished_at = probe.finished_at
    probes.probe(probe.pk)
    probe.refresh_from_db()
    assert probe.finished_at == finished_at


@pytest.mark.django_db
def test_a_task_whose_row_is_gone_does_nothing():
    probes.probe(0)


@pytest.mark.django_db
def test_a_campaign_s_first_requests_are_made_together_and_settle_it(project, as_bob):
    # Nothing listens on port 1.
    campaign = draft(project, n_tests=2, endpoint=make_endpoint(make_target(project), port=1))
    start_campaign(by=as_bob, campaign=campaign)
    probes.probe(campaign.first_requests.first().pk)
    campaign.refresh_from_db()
    errors = [each.result["error"] for each in campaign.first_requests.all()]
    assert (errors, campaign.is_held) == (["connect_refused"] * 2, True)


@pytest.mark.django_db
def test_a_request_whose_secret_cannot_be_read_is_answered_with_the_reason(probe, monkeypatch):
    def refuse(_):
        raise Refused("No key decrypts the secret.")

    monkeypatch.setattr(probes, "order_of", refuse)
    probes.probe(probe.pk)
    probe.refresh_from_db()
    assert probe.result["detail"] == "No key decrypts the secret."


@pytest.fixture
def silent_port():
    """A server that accepts connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


@pytest.mark.django_db
def test_a_server_that_hangs_leaves_none_of_a_campaign_s_requests_unanswered(
    project, as_bob, silent_port
):
    endpoint = make_endpoint(make_target(project), port=silent_port)
    campaign = draft(project, n_tests=AT_ONCE + 1, endpoint=endpoint)
    start_campaign(by=as_bob, campaign=campaign)
    for each in campaign.first_requests.all():  # as if the plans allowed no longer
        each.request["timeouts"] = dict.fromkeys(each.request["timeouts"], 0.5)
        each.save()
    for pk in campaign.first_requests.values_list("pk", flat=True):
        probes.probe(pk)
    campaign.refresh_from_db()
    assert campaign.is_held
    problems = {each.problem for each in first_requests_of(campaign).wrong}
    assert problems == {"No reply: no first byte within the limit of 0.5 s"}
    assert first_requests_of(campaign).waiting == 0
