"""From a typed address to a target that was tried, and from a question to a started campaign."""

import threading
import time

import pytest
from django.db import transaction

from campaigns.core import queue
from campaigns.domain.errors import Refused
from campaigns.domain.plan.questions import QUESTIONS
from campaigns.domain.plan.typed_request import NotUnderstood
from campaigns.models import Endpoint, PlanSecret, PlanVersion, Probe, Project
from campaigns.probes.queries.first_requests import step_of
from campaigns.probes.services.probes import finish_probe, order_of
from campaigns.probes.services.typed_targets import (
    accept_certificate,
    cells_of_question,
    start_question,
    try_again,
    try_typed,
)
from campaigns.targets.services import edit_target
from tests.engine.scenes import at_once
from tests.factories import make_endpoint, make_target
from tests.values import read_typed

pytestmark = pytest.mark.django_db
ADDRESS = "https://127.0.0.1:8444/prices"
SIGNED = f"curl -u ann:s3cret {ADDRESS}"
OK = {"status": 200, "reason": "OK", "body_bytes": 2, "parts_us": {"wait": 5}, "response_us": 5}


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(queue, "send", lambda name, args: True)


@pytest.fixture
def try_(project, as_bob):
    return lambda text: try_typed(by=as_bob, project=project, request=read_typed(text))


def guess_beside(probe: Probe) -> Probe:
    return Probe.objects.exclude(pk=probe.pk).get(endpoint__target=probe.endpoint.target)


def test_both_schemes_are_tried_with_the_typed_request(try_, project):
    probe = try_("curl -X PUT -H 'X-A: 1' --data-raw x https://127.0.0.1:8444/prices")
    target = project.targets.get()
    assert target.name == "127.0.0.1"
    origins = {str(each) for each in target.endpoints.all()}
    assert origins == {"https://127.0.0.1:8444", "http://127.0.0.1:8081"}
    for each in (probe, guess_beside(probe)):
        assert (each.request["method"], each.request["path"]) == ("PUT", "/prices")
        assert each.request["headers"] == [["X-A", "1"], *try_headers(each)]
        assert order_of(each)["policy"]["allow"]


def try_headers(probe: Probe) -> list[list[str]]:
    return [pair for pair in probe.request["headers"] if pair[0] == "Content-Type"]


def test_a_target_that_has_the_endpoint_is_used_again(try_, project):
    first, second = try_(ADDRESS), try_(ADDRESS)
    assert first.endpoint == second.endpoint
    assert project.targets.count() == 1


def test_known_endpoints_of_the_other_scheme_are_tried_instead_of_a_guess(try_, project):
    target = make_target(project)
    make_endpoint(target, "https")
    known = make_endpoint(target, "http", port=9000)
    probe = try_(ADDRESS)
    assert guess_beside(probe).endpoint == known
    assert target.endpoints.count() == 2


@pytest.mark.parametrize("error", ["connect_refused", "tls_handshake", "address_refused"])
def test_a_guess_where_nothing_answers_is_removed(try_, error):
    probe = try_(ADDRESS)
    finish_probe(probe_id=guess_beside(probe).pk, result={"error": error})
    assert list(probe.endpoint.target.endpoints.all()) == [probe.endpoint]


@pytest.mark.parametrize("result", [OK, {**OK, "status": 404}, {"error": "tls_name"}])
def test_a_guess_where_something_answers_is_kept(try_, result):
    probe = try_(ADDRESS)
    finish_probe(probe_id=guess_beside(probe).pk, result=result)
    assert probe.endpoint.target.endpoints.count() == 2


def save_form(by, target) -> None:
    given = [endpoint.described().to_json() for endpoint in target.endpoints.all()]
    edit_target(by=by, target=target, name="shop", environment=[], endpoints=given)


def test_a_guess_that_somebody_saved_with_its_target_is_none(try_, as_bob):
    probe = try_(ADDRESS)
    guess = guess_beside(probe)
    save_form(as_bob, probe.endpoint.target)
    finish_probe(probe_id=guess.pk, result={"error": "connect_refused"})
    assert set(probe.endpoint.target.endpoints.all()) == {probe.endpoint, guess.endpoint}


@pytest.mark.django_db(transaction=True)
def test_a_second_address_of_a_host_is_tried_while_the_guess_of_the_first_goes(
    try_, project, as_bob
):
    """The guess is removed by another process while the second try is being stored."""
    guess = guess_beside(try_(ADDRESS))
    under_way, forget = threading.Event(), {"error": "connect_refused"}

    def second() -> Probe:
        with transaction.atomic():
            probe = try_("https://127.0.0.1:8444/other")
            under_way.set()
            time.sleep(0.3)  # the other one waits meanwhile; nothing says that it does
            return probe

    def first_guess_fails() -> None:
        under_way.wait(5)
        finish_probe(probe_id=guess.pk, result=forget)

    probe, _ = at_once(second, first_guess_fails)
    assert Probe.objects.filter(pk=probe.pk).exists()
    assert not Endpoint.objects.filter(pk=guess.endpoint_id).exists(), "nobody has named it"


def test_another_port_of_a_host_is_not_guessed(try_, project):
    probe = try_("http://127.0.0.1:8140/")
    assert list(project.targets.get().endpoints.all()) == [probe.endpoint]
    assert Probe.objects.count() == 1


def test_without_a_project_the_first_use_creates_one(as_charlie):
    probe = try_typed(by=as_charlie, project=None, request=read_typed(ADDRESS))
    project = Project.objects.get()
    assert probe.endpoint.target.project == project
    assert project.memberships.get().user == as_charlie.user


def test_what_a_plan_would_refuse_is_refused_with_its_sentence(try_, project):
    with pytest.raises(NotUnderstood, match="not allowed in headers"):
        try_("curl -H $'X-A: a\\x01b' http://127.0.0.1/")
    assert not project.targets.exists()


def test_insecure_is_kept_for_new_endpoints(try_):
    assert not try_(f"curl -k {ADDRESS}").endpoint.verify_tls


def test_credentials_become_a_secret_that_only_the_order_has(try_):
    probe = try_(SIGNED)
    version = PlanVersion.objects.get()
    for stored in (probe.request, version.spec, probe.endpoint.frozen().to_json()):
        assert "s3cret" not in str(stored)
    assert "s3cret" not in PlanSecret.objects.get(plan=version.plan).ciphertext
    order = order_of(probe)
    assert order["auth"] == {"kind": "basic", "user": "ann"}
    assert order["secrets"]["auth"] == "s3cret"


def test_credentials_typed_again_without_the_password_use_the_stored_one(try_):
    try_(SIGNED)
    assert order_of(try_(f"curl -u ann {ADDRESS}"))["secrets"]["auth"] == "s3cret"


def test_a_stored_password_is_not_sent_to_another_host(try_):
    try_(SIGNED)
    with pytest.raises(NotUnderstood, match="password or token is missing"):
        try_("curl -u ann https://127.0.0.2:8444/prices")


def test_a_question_starts_its_campaign_on_what_answers(try_, as_bob):
    probe = try_(SIGNED)
    probes = [probe, guess_beside(probe)]
    step = {name: probe.request[name] for name in ("method", "path", "headers", "body")}
    campaign = start_question(by=as_bob, question=QUESTIONS["https"], step=step, probes=probes)
    arms = {(test.endpoint.scheme, test.connection_mode) for test in campaign.tests.all()}
    assert arms == {
        ("http", "new"),
        ("http", "keep-alive"),
        ("https", "new"),
        ("https", "resumed"),
        ("https", "keep-alive"),
    }
    assert campaign.runs.count() == 5
    plan = campaign.tests.first().plan_version
    assert plan.value().auth.user == "ann"
    assert PlanSecret.objects.filter(plan=plan.plan).exists()


def test_nothing_starts_where_nothing_answers(as_bob):
    with pytest.raises(Refused, match="No endpoint answers"):
        start_question(by=as_bob, question=QUESTIONS["works"], step={}, probes=[])


@pytest.fixture
def shown(try_):
    """A probe whose server showed a self-signed certificate."""
    probe = try_(ADDRESS)
    result = {"error": "tls_verify", "certificates": [{"sha256": "ab" * 32}]}
    Probe.objects.filter(pk=probe.pk).update(result=result)
    probe.refresh_from_db()
    return probe


def test_a_shown_certificate_is_accepted_for_its_endpoint_only(shown, as_bob):
    accept_certificate(by=as_bob, probe=shown, fingerprint="ab" * 32)
    again = try_again(by=as_bob, probe=Probe.objects.get(pk=shown.pk))
    assert order_of(again)["endpoint"]["tls"] == {"fingerprint": "ab" * 32}
    others = Endpoint.objects.exclude(pk=shown.endpoint_id)
    assert all(each.tls == {} for each in others)


@pytest.mark.parametrize("fingerprint", ["", "cd" * 32])
def test_a_certificate_that_was_not_shown_is_refused(shown, as_bob, fingerprint):
    with pytest.raises(Refused, match="another certificate"):
        accept_certificate(by=as_bob, probe=shown, fingerprint=fingerprint)
    assert Endpoint.objects.get(pk=shown.endpoint_id).tls == {}


def test_a_typed_version_is_asked_of_the_typed_endpoint_and_measured_on_it(try_, as_bob):
    probe = try_("curl --http2 --resolve shop.example:443:127.0.0.1 https://shop.example/")
    guess = guess_beside(probe)
    assert order_of(probe)["http_version"] == "2"
    assert order_of(probe)["endpoint"]["address"] == "127.0.0.1"
    assert "http_version" not in order_of(guess)
    for each in (probe, guess):
        finish_probe(probe_id=each.pk, result=OK)
    asked = {"by": as_bob, "step": step_of(probe), "probes": [guess, probe]}
    (cell,) = cells_of_question(question=QUESTIONS["works"], **asked)
    assert (cell.endpoint, cell.plan_version.spec["http_version"]) == (probe.endpoint, "2")
    both = cells_of_question(question=QUESTIONS["https"], **asked)
    assert {each.plan_version.spec["http_version"] for each in both} == {"1.1"}
