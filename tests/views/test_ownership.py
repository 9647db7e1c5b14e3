"""The proofs and approvals of hosts: on their target's page, for administrators, over REST."""

import pytest

from campaigns.domain.plan.ownership import HostCheck
from campaigns.models import HostClaim
from campaigns.services import ownership as services
from tests.factories import make_endpoint, make_target
from tests.views.pages import target_page

pytestmark = pytest.mark.django_db
PLACE = "8.8.8.8/32:443"


@pytest.fixture
def target(project, settings):
    settings.PROOF_DAYS = 90
    target = make_target(project, "shop")
    make_endpoint(target, "https", 443, host="shop.example")
    make_endpoint(target, "http", 8081, host="10.0.0.5")
    return target


def do(client, target, what: str, **fields):
    given = {"host": "shop.example", "do": what, **fields}
    return client.post(f"/targets/{target.pk}/ownership/", given)


def check_done(claim, check: HostCheck) -> None:
    found, _ = services.what_to_check(claim_id=claim.pk)
    services.finish_check(claim_id=claim.pk, asked_at=found.asked_at, seen=check)


def test_a_host_is_proven_from_its_target_s_page(client, bob, target):
    client.force_login(bob)
    assert "Needs proof" in target_page(client, target)
    assert "<h3>10.0.0.5" not in target_page(client, target)
    do(client, target, "token")
    claim = HostClaim.objects.get()
    file = f"https://shop.example:443/.well-known/benchsite-{claim.token}.txt"
    assert file in target_page(client, target)
    do(client, target, "check")
    assert "No worker has answered yet" in target_page(client, target)
    check_done(claim, HostCheck((PLACE,), (PLACE,)))
    shown = target_page(client, target)
    assert "Proven" in shown
    assert "The proof is valid until" in shown
    permit = claim.permits.get()
    do(client, target, "withdraw", permit=permit.pk, reason="sold")
    assert "bob: sold" in target_page(client, target)
    assert "Needs proof" in target_page(client, target)


def test_a_viewer_sees_the_state_and_no_token(client, bob, vera, target):
    client.force_login(bob)
    do(client, target, "token")
    client.force_login(vera)
    shown = target_page(client, target)
    assert "Needs proof" in shown
    assert HostClaim.objects.get().token not in shown
    assert "Check now" not in shown


def test_an_administrator_approves_what_waits(client, bob, as_adam, target):
    client.force_login(bob)
    do(client, target, "ask", reason="our supplier agreed")
    claim = HostClaim.objects.get()
    check_done(claim, HostCheck((PLACE,), (), ("status 404",)))
    assert "Waiting for approval" in target_page(client, target)
    client.force_login(as_adam.user)
    listed = client.get("/ownership/").content.decode()
    assert "our supplier agreed" in listed
    assert "An approval lets load go to 8.8.8.8:443, and nowhere else" in listed
    answer = {"do": "approve", "place": PLACE, "reason": "read the contract"}
    client.post(f"/ownership/{claim.pk}/", answer)
    assert "read the contract" in client.get("/ownership/").content.decode()
    client.force_login(bob)
    assert "Approved" in target_page(client, target)


def test_an_administrator_has_addresses_looked_up_and_takes_an_approval_back(
    client, bob, as_adam, target
):
    client.force_login(bob)
    do(client, target, "ask", reason="our supplier agreed")
    claim = HostClaim.objects.get()
    check_done(claim, HostCheck((PLACE,), (), ("status 404",)))
    HostClaim.objects.update(asked_at=None)
    client.force_login(as_adam.user)
    address = f"/ownership/{claim.pk}/"
    asked = client.post(address, {"do": "check"}, follow=True).content.decode()
    assert "A worker looks at shop.example now" in asked
    claim.refresh_from_db()
    assert claim.asked_at is not None
    client.post(address, {"do": "approve", "place": PLACE})
    given = {"do": "withdraw", "permit": claim.permits.get().pk, "reason": "contract ended"}
    shown = client.post(address, given, follow=True).content.decode()
    assert "The approval for shop.example is withdrawn" in shown
    client.force_login(bob)
    assert "adam: contract ended" in target_page(client, target)


def test_what_there_is_not_to_do_is_not_found(client, as_adam, bob, target):
    client.force_login(bob)
    do(client, target, "token")
    assert do(client, target, "bless").status_code == 404
    client.force_login(as_adam.user)
    assert (
        client.post(f"/ownership/{HostClaim.objects.get().pk}/", {"do": "bless"}).status_code == 404
    )


def test_in_local_mode_the_page_says_nothing_of_it(client, bob, target, settings):
    settings.PROOF_DAYS = 0
    client.force_login(bob)
    assert 'id="ownership"' not in target_page(client, target)
    answer = client.post(
        f"/targets/{target.pk}/ownership/", {"host": "shop.example", "do": "token"}, follow=True
    )
    assert "load goes only to networks" in answer.content.decode()


def test_rest_checks_and_tells(client, bob, target):
    client.force_login(bob)
    path = f"/api/v1/targets/{target.pk}/ownership/"
    asked = client.post(path, {"host": "shop.example"}, content_type="application/json")
    assert asked.status_code == 202
    check_done(HostClaim.objects.get(), HostCheck((PLACE,), (PLACE,)))
    told = client.get(path).json()
    assert [(each["host"], each["state"], each["is_permitted"]) for each in told] == [
        ("shop.example", "proven", True)
    ]
    assert told[0]["permits"][0]["given_by"] == "bob"
    assert told[0]["current"] == [told[0]["permits"][0]["id"]]


def test_rest_tells_a_viewer_no_token(client, bob, vera, target):
    client.force_login(bob)
    do(client, target, "token")
    client.force_login(vera)
    answer = client.get(f"/api/v1/targets/{target.pk}/ownership/")
    assert HostClaim.objects.get().token not in answer.content.decode()
