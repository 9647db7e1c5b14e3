"""A write-only secret goes only where the person who entered it has sent it."""

import pytest

from campaigns.domain.errors import Refused
from campaigns.models import AuditEntry, Endpoint, PlanSecret, Run
from campaigns.permissions import Actor, Role
from campaigns.services.campaigns import CampaignCell, start_campaign
from campaigns.services.plans import create_plan, edit_plan
from campaigns.services.probes import order_of, request_probe, try_cells
from campaigns.services.vault import keep_secret, order_secrets, share_secret
from tests.api.conftest import client_of
from tests.factories import make_endpoint, make_membership, make_target, make_user
from tests.services.engine import create, machine
from tests.values import plan_spec

SECRET = "hunter2-and-more"
pytestmark = pytest.mark.django_db


@pytest.fixture
def bob_s(bob) -> Actor:
    """Who entered the secret."""
    return Actor(bob)


@pytest.fixture
def eve(project) -> Actor:
    """Another editor of the project."""
    user = make_user("eve")
    make_membership(project, user, Role.EDITOR)
    return Actor(user)


def signing(by: Actor, project, secret: str | None = SECRET, name: str = "P"):
    spec = plan_spec() | {"auth": {"kind": "bearer"}}
    return create_plan(by=by, project=project, name=name, spec=spec, secret=secret)


@pytest.fixture
def version(bob_s, project):
    return signing(bob_s, project)


@pytest.fixture
def shop(project) -> Endpoint:
    return make_endpoint(make_target(project, "shop"), host=machine(1))


@pytest.fixture
def own(project) -> Endpoint:
    """Eve's own server."""
    return make_endpoint(make_target(project, "own"), host=machine(2))


def measure(by: Actor, version, *endpoints: Endpoint) -> None:
    cells = [CampaignCell(version, endpoint, "new") for endpoint in endpoints]
    campaign = create(by, version.plan.project, cells=cells, repeats=1)
    start_campaign(by=by, campaign=campaign, anyway=True)


def try_one(by: Actor, version, endpoint: Endpoint):
    return request_probe(by=by, endpoint=endpoint, request={"path": "/"}, credentials_of=version)


def try_first(by: Actor, version, endpoint: Endpoint) -> None:
    try_cells(by=by, cells=[(version, endpoint)])


def secret_sent_by(probe) -> str:
    return order_of(probe)["secrets"]["auth"]


def test_who_entered_it_sends_it_anywhere_and_others_only_there(version, bob_s, eve, shop, own):
    measure(bob_s, version, shop)
    measure(eve, version, shop)
    assert order_secrets(run_id=Run.objects.latest("pk").pk)["secrets"]["auth"] == SECRET
    with pytest.raises(Refused, match="was not entered for"):
        measure(eve, version, shop, own)
    assert PlanSecret.objects.get().origins == [shop.origin]


@pytest.mark.parametrize("ask", [try_one, try_first])
def test_no_single_request_takes_it_elsewhere(version, bob_s, eve, shop, own, ask):
    assert secret_sent_by(try_one(bob_s, version, shop)) == SECRET
    assert secret_sent_by(try_one(eve, version, shop)) == SECRET
    with pytest.raises(Refused, match="enter it again"):
        ask(eve, version, own)


def test_another_port_or_scheme_of_the_host_is_another_origin(version, bob_s, eve, shop):
    try_one(bob_s, version, shop)
    for other in ({"port": 8082}, {"scheme": "https"}):
        endpoint = make_endpoint(shop.target, host=shop.host, **other)
        with pytest.raises(Refused, match="was not entered for"):
            try_one(eve, version, endpoint)


def test_a_run_whose_endpoint_was_not_named_gets_no_secret(version, bob_s, shop):
    measure(bob_s, version, shop)
    PlanSecret.objects.update(origins=["https://elsewhere.example:443"])
    with pytest.raises(Refused, match="was not entered for"):
        order_secrets(run_id=Run.objects.get().pk)


def test_a_copy_of_the_secret_for_another_plan_is_as_limited(version, bob_s, eve, project, own):
    copy = signing(bob_s, project, secret=None, name="copy")
    share_secret(by=eve, source=version.plan_id, plan=copy.plan)
    with pytest.raises(Refused, match="was not entered for"):
        measure(eve, copy, own)


def test_a_secret_entered_by_another_person_begins_with_no_origin(version, bob_s, eve, shop, own):
    """Eve names her server for a secret of hers, and waits until Bob enters the real one."""
    keep_secret(by=eve, plan=version.plan, secret="nothing worth")
    measure(eve, version, own)
    keep_secret(by=bob_s, plan=version.plan, secret=SECRET)
    assert PlanSecret.objects.get().origins == []
    with pytest.raises(Refused, match="was not entered for"):
        measure(eve, version, own)


def test_who_enters_it_anew_or_knows_it_keeps_its_origins(version, bob_s, eve, shop):
    measure(bob_s, version, shop)
    edit_plan(by=bob_s, plan=version.plan, name="P", spec=version.spec, secret="rotated")
    keep_secret(by=eve, plan=version.plan, secret="rotated")
    assert PlanSecret.objects.get().origins == [shop.origin]
    measure(eve, version, shop)


def test_it_is_noted_who_named_an_origin_and_the_api_tells_it(version, bob, bob_s, shop):
    measure(bob_s, version, shop)
    entry = AuditEntry.objects.get(deed="secret_bound")
    assert shop.origin in entry.what
    assert SECRET not in entry.what
    told = client_of(bob).get(f"/api/v1/plans/{version.plan_id}/").json()
    assert told["secret_origins"] == [shop.origin]
