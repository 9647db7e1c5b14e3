"""The proofs and approvals of hosts: on their target's page, for administrators, over REST."""

import pytest

from campaigns.domain.plan.addresses import HostCheck
from campaigns.models import HostClaim
from campaigns.targets import services
from tests.factories import make_endpoint, make_target
from tests.pages import target_page

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
    data = {"host": "shop.example", "do": what, **fields}
    return client.post(f"/targets/{target.pk}/ownership/", data)


def check_done(claim, check: HostCheck) -> None:
    row, _ = services.what_to_check(claim_id=claim.pk)
    services.finish_check(claim_id=claim.pk, asked_at=row.asked_at, seen=check)


def test_a_host_is_proven_from_its_target_s_page(client, bob, target):
    client.force_login(bob)
    assert "Needs proof" in target_page(client, target)
    assert "<h3>10.0.0.5" not in target_page(client, target)
    do(client, target, "token")
    claim = HostClaim.objects.get()
    file = f"https://shop.example:443/.well-known/benchsite-{claim.token}.txt"
    assert file in target_page(client, target)
    do(client, target, "check")
    check_done(claim, HostCheck((PLACE,), (PLACE,)))
    assert "Proven" in target_page(client, target)
    permit = claim.permits.get()
    do(client, target, "withdraw", permit=permit.pk, reason="sold")
    assert "Needs proof" in target_page(client, target)


def test_a_viewer_sees_the_state_and_no_token(client, bob, vera, target):
    client.force_login(bob)
    do(client, target, "token")
    client.force_login(vera)
    page = target_page(client, target)
    assert "Needs proof" in page
    assert HostClaim.objects.get().token not in page
    assert "Check now" not in page


def test_an_administrator_approves_what_waits(client, bob, as_adam, target):
    client.force_login(bob)
    do(client, target, "ask", reason="our supplier agreed")
    claim = HostClaim.objects.get()
    check_done(claim, HostCheck((PLACE,), (), ("status 404",)))
    assert "Waiting for approval" in target_page(client, target)
    client.force_login(as_adam.user)
    assert "our supplier agreed" in client.get("/ownership/").content.decode()
    answer = {"do": "approve", "place": PLACE, "reason": "read the contract"}
    client.post(f"/ownership/{claim.pk}/", answer)
    client.force_login(bob)
    assert "Approved" in target_page(client, target)


def test_rest_checks_and_tells(client, bob, target):
    client.force_login(bob)
    path = f"/api/v1/targets/{target.pk}/ownership/"
    answer = client.post(path, {"host": "shop.example"}, content_type="application/json")
    assert answer.status_code == 202
    check_done(HostClaim.objects.get(), HostCheck((PLACE,), (PLACE,)))
    rows = client.get(path).json()
    assert [(each["host"], each["state"], each["is_permitted"]) for each in rows] == [
        ("shop.example", "proven", True)
    ]
    assert rows[0]["permits"][0]["given_by"] == "bob"
    assert rows[0]["current"] == [rows[0]["permits"][0]["id"]]
