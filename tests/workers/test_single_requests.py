"""Single requests: the injector program is asked, what it says is stored, projects take turns."""

import json
import sys
import threading

import pytest

from campaigns.campaigns.services.campaigns import start_campaign, stop_campaign
from campaigns.domain.errors import Refused
from campaigns.domain.plan.typed_request import AT_ONCE
from campaigns.models import Campaign, Probe
from campaigns.operations.services.load_control import stop_all_load_from_console
from campaigns.probes.queries.first_requests import first_requests_of
from campaigns.probes.services.probes import request_probe
from tests.engine.scenes import draft, host, owner_of
from tests.factories import make_endpoint, make_project, make_target, make_user
from tests.injector.servers import OK_REPLY, always, scripted
from tests.waiting import eventually
from workers import single_requests
from workers.single_requests import InjectorCall, SingleRequestsThread

ANSWER = {"type": "probe", "status": 200, "error": None}


def program(*lines: str) -> tuple[str, ...]:
    """A stand-in for the injector that reads the order and prints these lines."""
    code = "import sys\nsys.stdin.readline()\n" + "".join(f"print({line!r})\n" for line in lines)
    return (sys.executable, "-c", code)


def test_the_probe_s_answer_is_taken_from_among_other_lines():
    command = program("not json", "[]", json.dumps({"type": "ready"}), json.dumps(ANSWER))
    assert InjectorCall({}, command).answer() == ANSWER


def test_a_refusal_becomes_a_result_with_its_kind_and_reason():
    refusal = {"type": "refused", "kind": "address_refused", "reason": "10.0.0.1 is not allowed."}
    result = InjectorCall({}, program(json.dumps(refusal))).answer()
    assert (result["error"], result["detail"]) == ("address_refused", "10.0.0.1 is not allowed.")


def test_a_program_that_says_nothing_becomes_a_result():
    assert "exited without an answer" in InjectorCall({}, program()).answer()["detail"]
    assert InjectorCall({}, (sys.executable, "-c", "")).answer()["error"] == "client_other"


def test_a_program_that_hangs_is_ended():
    command = (sys.executable, "-c", "import time; time.sleep(60)")
    result = InjectorCall({}, command).answer(limit_s=0.3)
    assert result["error"] == "client_other"
    assert "no answer after 0.3 s and was ended: its machine is too busy" in result["detail"]


def test_the_program_gets_none_of_our_secrets(monkeypatch):
    monkeypatch.setenv("BENCHSITE_SECRET_KEY", "secret")
    code = (
        "import json, os, sys; sys.stdin.readline();"
        "print(json.dumps({'type': 'probe', 'env': sorted(os.environ)}))"
    )
    result = InjectorCall({}, (sys.executable, "-c", code)).answer()
    assert "BENCHSITE_SECRET_KEY" not in result["env"]


def test_a_program_that_is_not_there_becomes_a_result(requests, probe, settings):
    settings.INJECTOR_COMMAND = ["/nonexistent"]
    requests.work_until(lambda: has_answer(probe))
    assert "exited at once" in probe.result["detail"]


class Requests:
    """The dispatcher's thread, one turn after the other."""

    def __init__(self):
        self.thread = SingleRequestsThread(threading.Event(), is_active=bool)

    def work_until(self, is_so, within_s: float = 20) -> None:
        eventually(lambda: self.thread.act() or is_so(), within_s, "the requests are answered")


@pytest.fixture
def requests(db):
    requests = Requests()
    yield requests
    for each in requests.thread._calls.values():
        each.call.end({})


def has_answer(probe) -> bool:
    probe.refresh_from_db()
    return probe.finished_at is not None


@pytest.fixture
def probe(project):
    # Nothing listens on port 1.
    endpoint = make_endpoint(make_target(project), "http", port=1)
    step = {"method": "GET", "path": "/", "headers": [], "body": ""}
    return Probe.objects.create(endpoint=endpoint, request=step)


def test_the_real_program_s_answer_is_stored(requests, probe):
    requests.work_until(lambda: has_answer(probe))
    assert probe.result["error"] == "connect_refused"


def test_a_campaign_s_first_requests_settle_it(requests, project, as_bob):
    # Nothing listens on port 1.
    campaign = draft(project, n_tests=2, endpoint=make_endpoint(make_target(project), port=1))
    start_campaign(by=as_bob, campaign=campaign)
    requests.work_until(lambda: Campaign.objects.filter(held_at__isnull=False).exists())
    errors = [each.result["error"] for each in campaign.first_requests.all()]
    assert errors == ["connect_refused"] * 2


def test_a_request_whose_secret_cannot_be_read_is_answered_with_the_reason(
    requests, probe, monkeypatch
):
    def refuse(_):
        raise Refused("No key decrypts the secret.")

    monkeypatch.setattr(single_requests, "order_of", refuse)
    requests.work_until(lambda: has_answer(probe))
    assert probe.result["detail"] == "No key decrypts the secret."


def say_nothing(sock, server) -> None:
    """Until the client has gone."""
    server.read_request(sock)
    sock.recv(1)


@pytest.fixture
def silent():
    """A server that accepts connections and never says anything."""
    with scripted(say_nothing) as server:
        yield server


@pytest.mark.long
def test_a_server_that_hangs_leaves_none_of_a_campaign_s_requests_unanswered(
    requests, project, as_bob, silent
):
    endpoint = make_endpoint(make_target(project), port=silent.port)
    campaign = draft(project, n_tests=AT_ONCE + 1, endpoint=endpoint)
    start_campaign(by=as_bob, campaign=campaign)
    for each in campaign.first_requests.all():  # as if the plans allowed no longer
        each.request["timeouts"] = dict.fromkeys(each.request["timeouts"], 0.5)
        each.save()
    requests.work_until(lambda: not campaign.first_requests.filter(finished_at=None).exists())
    problems = {each.problem for each in first_requests_of(campaign).wrong}
    assert problems == {"No reply: no first byte within 0.5 s"}


def try_one(project, port: int) -> Probe:
    endpoint = make_endpoint(make_target(project), port=port)
    return request_probe(by=owner_of(project), endpoint=endpoint, request={"path": "/"})


# Says that it has started as soon as it may.
STARTS_LATE = """
import json, pathlib, sys, time
name = json.loads(sys.stdin.readline())["step"]["path"].strip("/")
while not pathlib.Path(sys.argv[1], name).exists():
    time.sleep(0.01)
print(json.dumps({"type": "probing"}), flush=True)
sys.stdin.read()
"""


def test_few_injectors_start_at_once_and_a_first_request_is_next(
    requests, project, settings, monkeypatch, tmp_path
):
    monkeypatch.setattr(single_requests, "START_WITHIN_S", 60)
    settings.INJECTOR_COMMAND = [sys.executable, "-c", STARTS_LATE, str(tmp_path)]
    endpoint = make_endpoint(make_target(project))
    for n in range(5):
        request_probe(by=owner_of(project), endpoint=endpoint, request={"path": f"/{n}"})
    campaign = draft(project, endpoint=endpoint)
    requests.thread.act()
    start_campaign(by=owner_of(project), campaign=campaign)
    requests.thread.act()
    probes = Probe.objects.filter(claimed_at__isnull=False)
    assert sorted(each.request["path"] for each in probes) == ["/0", "/1"]
    (tmp_path / "0").touch()
    requests.work_until(lambda: probes.all().count() > 2)
    assert probes.all().count() == 3
    assert campaign.first_requests.filter(claimed_at__isnull=False).exists()


def test_what_is_being_tried_when_load_goes_off_ends_at_once_and_says_so(requests, project, silent):
    probe = try_one(project, silent.port)
    requests.work_until(lambda: silent.n_requests)
    stop_all_load_from_console()
    requests.work_until(lambda: has_answer(probe), within_s=5)
    assert probe.result["detail"] == "Load is off. An administrator must allow it first."


def test_stop_ends_a_first_request_that_is_under_way(requests, project, silent):
    campaign = draft(project, endpoint=make_endpoint(make_target(project), port=silent.port))
    start_campaign(by=owner_of(project), campaign=campaign)
    requests.work_until(lambda: silent.n_requests)
    stop_campaign(by=owner_of(project), campaign=campaign)
    requests.work_until(lambda: has_answer(campaign.first_requests.get()), within_s=5)


@pytest.mark.django_db(transaction=True)
def test_what_is_under_way_when_the_dispatcher_ends_is_answered_with_that(
    dispatcher, project, silent
):
    thread, end = dispatcher
    probe = try_one(project, silent.port)
    eventually(lambda: silent.n_requests, 20, "it is sent")
    end.set()
    thread.join(15)
    assert has_answer(probe)
    assert "dispatcher stopped before it had an answer" in probe.result["detail"]


# Imports less than an injector. Whoever hears nothing waits until the dispatcher ends it.
ASKS = """
import json, socket, sys
to = json.loads(sys.stdin.readline())["endpoint"]
print(json.dumps({"type": "probing"}), flush=True)
with socket.create_connection((to["host"], to["port"])) as server:
    server.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
    if server.recv(100):
        print(json.dumps({"type": "probe", "status": 200, "error": None}))
"""


@pytest.mark.django_db(transaction=True)
def test_a_project_s_silent_server_delays_no_campaign_of_another(
    dispatcher, project, silent, settings
):
    """30 test requests of one project wait when another project's campaign starts."""
    settings.INJECTOR_COMMAND = [sys.executable, "-c", ASKS]
    for _ in range(30):
        try_one(project, silent.port)
    eventually(lambda: silent.n_requests == AT_ONCE, 30, "the first of them are sent")
    other = make_project(owner=make_user())
    host(slots=1)
    with scripted(always(OK_REPLY)) as server:
        endpoint = make_endpoint(make_target(other), port=server.port)
        campaign = draft(other, endpoint=endpoint)
        start_campaign(by=owner_of(other), campaign=campaign)
        campaigns = Campaign.objects.filter(pk=campaign.pk, opened_at__isnull=False)
        eventually(campaigns.exists, 20, "the campaign opens")
    assert silent.n_requests == AT_ONCE, "meanwhile no more of the silent ones were sent"
