"""Load to hosts outside the listed networks needs a proof or an approval, on a server; to the
installation's own servers none is ever sent.
"""

import socket
from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.domain.errors import Forbidden, Refused
from campaigns.domain.plan.addresses import HostCheck
from campaigns.engine.services import dispatch
from campaigns.models import AuditEntry, HostClaim, HostPermit
from campaigns.probes.services.probes import order_of, request_probe
from campaigns.search.services import start_search
from campaigns.targets import queries as targets
from campaigns.targets import services
from campaigns.targets.queries import hosts_of, networks_for, policy
from tests.engine.scenes import claim as claim_shards
from tests.engine.scenes import create, draft, host, owner_of, started
from tests.factories import make_endpoint, make_plan, make_project, make_target
from tests.kept_rows import undone
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


LISTED, OUTSIDE = "10.0.0.5", "8.8.8.8"
PLACE = "8.8.8.8/32:8081"


@pytest.fixture(autouse=True)
def server(settings):
    settings.PROOF_DAYS = 90
    settings.ALLOWED_NETWORKS = ["10.0.0.0/8"]


@pytest.fixture
def endpoint(project):
    return make_endpoint(make_target(project, "shop"), host=OUTSIDE)


@pytest.fixture
def claim(endpoint, as_bob):
    return services.claim_host(by=as_bob, target=endpoint.target, host=endpoint.host)


def answer_check(claim, by, check: HostCheck) -> bool:
    """What a worker answers to a check that was asked for just now."""
    HostClaim.objects.filter(pk=claim.pk).update(asked_at=None)
    services.check_host(by=by, claim=claim)
    row, _ = services.what_to_check(claim_id=claim.pk)
    return services.finish_check(claim_id=claim.pk, asked_at=row.asked_at, seen=check)


def prove(claim, by, *places: str) -> HostPermit:
    places = places or (PLACE,)
    assert answer_check(claim, by, HostCheck(places, places))
    return claim.permits.get(kind="proof", withdrawn_at=None)


def approve(claim, by, admin) -> HostPermit:
    answer_check(claim, by, HostCheck((PLACE,), (), ("status 404",)))
    services.ask_approval(by=by, claim=claim, reason="our supplier agreed")
    services.approve(by=admin, claim=claim, seen=[PLACE], reason="read the contract")
    return claim.permits.get(kind="approval")


def age(permit: HostPermit, days: float) -> None:
    given_at = timezone.now() - timedelta(days=days)
    HostPermit.objects.filter(pk=permit.pk).update(given_at=given_at)


GIVEN = {
    "nothing": None,
    "proof": lambda c, bob, adam: prove(c, bob),
    "approval": approve,
    "expired proof": lambda c, bob, adam: age(prove(c, bob), 91),
    "old approval": lambda c, bob, adam: age(approve(c, bob, adam), 400),
    "withdrawn proof": lambda c, bob, adam: services.withdraw(
        by=bob, permit=prove(c, bob), reason="sold"
    ),
    "withdrawn approval": lambda c, bob, adam: services.withdraw(
        by=adam, permit=approve(c, bob, adam), reason="contract ended"
    ),
}
ENOUGH = {"proof", "approval", "old approval"}


def test_outside_the_list_a_campaign_starts_only_with_a_current_proof_or_approval(
    project, endpoint, claim, as_bob, as_adam
):
    for case in GIVEN:
        with undone():
            if GIVEN[case]:
                GIVEN[case](claim, as_bob, as_adam)
            if case in ENOUGH:
                campaign = started(project, endpoint=endpoint)
                assert campaign.runs.get().frozen.allowed_networks == ("10.0.0.0/8", PLACE)
            else:
                with pytest.raises(
                    Refused, match=r"Prove on the page of its target that it is yours"
                ):
                    started(project, endpoint=endpoint)


def test_in_local_mode_only_the_list_counts(project, endpoint, claim, as_bob, as_adam, settings):
    for case in GIVEN:
        with undone():
            if GIVEN[case]:
                GIVEN[case](claim, as_bob, as_adam)
            settings.PROOF_DAYS = 0
            campaign = started(project, endpoint=endpoint)
            assert campaign.runs.get().frozen.allowed_networks == ("10.0.0.0/8",)
            assert hosts_of(endpoint.target) == []


@pytest.mark.parametrize("days", [0, 90])
def test_a_listed_address_needs_neither(project, settings, days):
    settings.PROOF_DAYS = days
    endpoint = make_endpoint(make_target(project), host=LISTED)
    assert started(project, endpoint=endpoint).runs.count() == 1
    assert hosts_of(endpoint.target) == []


def test_a_search_needs_it_as_well(project, endpoint):
    cell = CampaignCell(make_plan(project), endpoint, "new")
    rates = {"start_per_s": 10, "limit_per_s": 100, "objective": ["p95 < 1 s"]}
    with pytest.raises(Refused, match="needs proof"):
        start_search(by=owner_of(project), project=project, name="capacity", cell=cell, **rates)


def test_a_queued_run_whose_proof_is_withdrawn_does_not_begin_and_says_why(
    project, endpoint, claim, as_bob
):
    permit = prove(claim, as_bob)
    campaign = started(project, endpoint=endpoint, repeats=2)
    host(slots=2)
    services.withdraw(by=as_bob, permit=permit, reason="the server was sold")
    assert dispatch.admit_runs() == 0
    run = campaign.runs.order_by("position").first()
    assert (run.state, run.outcome) == ("done", "expired")
    assert run.reason.startswith("The proof for 8.8.8.8 was withdrawn")


def test_a_name_that_moved_elsewhere_meanwhile_is_not_measured(project, as_bob):
    endpoint = make_endpoint(make_target(project), host="shop.example")
    claim = services.claim_host(by=as_bob, target=endpoint.target, host="shop.example")
    prove(claim, as_bob)
    campaign = started(project, endpoint=endpoint)
    host(slots=1)
    run = campaign.runs.get()
    dispatch.note_machines(run_id=run.pk, addresses=["8.8.8.8", "9.9.9.9"])
    assert dispatch.admit_runs() == 0
    run.refresh_from_db()
    assert "does not cover" in run.reason
    assert "9.9.9.9" in run.reason


@pytest.mark.parametrize(("days", "networks"), [(90, ["10.0.0.0/8", PLACE]), (0, ["10.0.0.0/8"])])
def test_an_injector_is_told_only_the_proven_places_and_a_host_may_take_none(
    project, endpoint, claim, as_bob, settings, days, networks
):
    prove(claim, as_bob)
    campaign = started(project, endpoint=endpoint)
    host(slots=1)
    assert dispatch.admit_runs() == 1
    settings.PROOF_DAYS = days  # of the injector host
    order = claim_shards(campaign.runs.get())[0].order
    assert order["policy"]["allow"] == networks


def test_a_single_request_goes_only_to_proven_places_as_well(endpoint, claim, as_bob):
    step = {"method": "GET", "path": "/"}
    probe = request_probe(by=as_bob, endpoint=endpoint, request=step)
    assert order_of(probe)["policy"]["allow"] == ["10.0.0.0/8"]
    prove(claim, as_bob)
    assert order_of(probe)["policy"]["allow"] == ["10.0.0.0/8", PLACE]


def test_a_proof_belongs_to_one_project_and_one_host(project, endpoint, claim, as_bob, alice):
    prove(claim, as_bob)
    other = make_project("Other", owner=alice)
    assert PLACE in networks_for(project.pk, OUTSIDE)
    assert PLACE not in networks_for(other.pk, OUTSIDE)
    assert PLACE not in networks_for(project.pk, "9.9.9.9")
    target = make_target(other)
    make_endpoint(target, host=OUTSIDE)
    theirs = services.claim_host(by=owner_of(other), target=target, host=OUTSIDE)
    assert theirs.token != claim.token


def test_of_two_answers_to_one_check_the_first_counts(claim, as_bob):
    services.check_host(by=as_bob, claim=claim)
    row, origins = services.what_to_check(claim_id=claim.pk)
    assert [str(origin) for origin in origins] == ["http://8.8.8.8:8081"]
    answer = {"claim_id": claim.pk, "asked_at": row.asked_at}
    assert services.finish_check(**answer, seen=HostCheck((PLACE,), (), ("nothing there",)))
    assert not services.finish_check(**answer, seen=HostCheck((PLACE,), (PLACE,)))
    assert not claim.permits.exists()
    assert services.what_to_check(claim_id=claim.pk) is None


def test_a_new_proof_takes_the_place_of_the_one_before(claim, as_bob):
    first = prove(claim, as_bob)
    second = prove(claim, as_bob, "8.8.8.8/32:9000")
    first.refresh_from_db()
    assert first.withdrawal == "A newer proof replaced it."
    assert networks_for(claim.project_id, OUTSIDE) == ["10.0.0.0/8", *second.places]


def test_a_host_is_checked_once_in_ten_seconds(claim, as_bob):
    services.check_host(by=as_bob, claim=claim)
    with pytest.raises(Refused, match="a moment ago"):
        services.check_host(by=as_bob, claim=claim)


def test_an_approval_is_asked_for_once_with_a_reason(claim, as_bob):
    with pytest.raises(Refused, match="Enter why load may go there"):
        services.ask_approval(by=as_bob, claim=claim, reason=" ")
    services.ask_approval(by=as_bob, claim=claim, reason="agreed")
    with pytest.raises(Refused, match="on the administrators' list already"):
        services.ask_approval(by=as_bob, claim=claim, reason="agreed again")
    claim.refresh_from_db()
    assert claim.approval_reason == "agreed"


def test_nothing_is_approved_before_its_addresses_are_known(claim, as_bob, as_adam):
    services.ask_approval(by=as_bob, claim=claim, reason="agreed")
    with pytest.raises(Refused, match=r"No address of 8\.8\.8\.8 is known yet"):
        services.approve(by=as_adam, claim=claim, seen=[], reason="")
    assert not claim.permits.exists()


def test_a_permit_is_withdrawn_once_with_a_reason(claim, as_bob):
    permit = prove(claim, as_bob)
    with pytest.raises(Refused, match="Say why it is withdrawn"):
        services.withdraw(by=as_bob, permit=permit, reason="")
    services.withdraw(by=as_bob, permit=permit, reason="sold")
    with pytest.raises(Refused, match="withdrawn before"):
        services.withdraw(by=as_bob, permit=permit, reason="sold twice")
    permit.refresh_from_db()
    assert permit.withdrawal == "sold"


def test_only_an_editor_claims_and_only_hosts_of_the_target(endpoint, as_bob, as_vera):
    with pytest.raises(Forbidden):
        services.claim_host(by=as_vera, target=endpoint.target, host=OUTSIDE)
    with pytest.raises(Refused, match="no host of shop"):
        services.claim_host(by=as_bob, target=endpoint.target, host="victim.example")


def test_only_an_administrator_approves_what_they_have_seen(claim, as_bob, as_alice, as_adam):
    answer_check(claim, as_bob, HostCheck((PLACE,)))
    services.ask_approval(by=as_bob, claim=claim, reason="agreed")
    with pytest.raises(Forbidden):
        services.approve(by=as_alice, claim=claim, seen=[PLACE], reason="")
    answer_check(claim, as_bob, HostCheck(("9.9.9.9/32:8081",)))
    with pytest.raises(Refused, match="other addresses now"):
        services.approve(by=as_adam, claim=claim, seen=[PLACE], reason="")
    assert not claim.permits.exists()


def test_a_refusal_needs_a_reason_and_the_project_may_ask_again(claim, as_bob, as_adam):
    answer_check(claim, as_bob, HostCheck((PLACE,)))
    services.ask_approval(by=as_bob, claim=claim, reason="agreed")
    with pytest.raises(Refused, match="Say why"):
        services.refuse(by=as_adam, claim=claim, reason=" ")
    services.refuse(by=as_adam, claim=claim, reason="not ours")
    with pytest.raises(Refused, match="no longer waits"):
        services.approve(by=as_adam, claim=claim, seen=[PLACE], reason="")
    claim.refresh_from_db()
    assert (claim.refused_by, claim.refusal) == ("adam", "not ours")
    services.ask_approval(by=as_bob, claim=claim, reason="asked the owner once more")


def test_the_audit_log_has_every_step_with_its_name(claim, as_bob, as_adam):
    prove(claim, as_bob)
    permit = approve(claim, as_bob, as_adam)
    services.withdraw(by=as_adam, permit=permit, reason="contract ended")
    steps = list(AuditEntry.objects.order_by("pk").values_list("deed", "who"))
    assert steps == [
        ("host_proven", "bob"),
        ("approval_asked", "bob"),
        ("host_approved", "adam"),
        ("permit_withdrawn", "adam"),
    ]
    assert not AuditEntry.objects.filter(what__contains=claim.token).exists()


def test_a_draft_may_be_made_before_the_proof(project, endpoint):
    assert draft(project, endpoint=endpoint).state == "draft"


@pytest.fixture(autouse=True)
def _nothing_is_remembered():
    forget()
    targets._known.clear()
    yield
    forget()


def forget() -> None:
    """As after a minute."""
    targets._own_services.cache_clear()


@pytest.fixture
def servers(settings):
    """Put the installation's servers elsewhere, without connecting to them."""

    def servers(database_url: str, redis_url: str, never=()):
        settings.DATABASE_URL, settings.REDIS_URL = database_url, redis_url
        settings.NEVER = list(never)
        return policy(["10.0.0.0/8"])

    return servers


def test_database_redis_and_what_is_listed_are_never_dialled(servers):
    order_policy = servers(
        "postgres://me:secret@10.0.0.5/site",
        "redis://:secret@10.0.0.6:6380/0",
        [("10.0.0.7", 8000), ("::1", 80)],
    )
    assert order_policy == {
        "allow": ["10.0.0.0/8"],
        "never": ["10.0.0.5:5432", "10.0.0.6:6380", "10.0.0.7:8000", "[::1]:80"],
    }


def test_a_name_is_looked_up(servers):
    assert (
        "127.0.0.1:6379"
        in servers("postgres://me@%2Frun%2Fpostgres:5432/site", "redis://localhost/0")["never"]
    )


def test_sockets_of_the_file_system_have_no_port(servers):
    assert servers("postgres://me@%2Frun%2Fpostgres:5432/site", "unix:///run/redis")["never"] == []


def test_a_name_that_nobody_knows_keeps_no_run_from_starting(servers):
    assert servers("postgres://me@no-such-host.invalid/site", "unix:///run/redis")["never"] == []


def test_while_no_name_server_answers_a_name_is_what_it_was_before(servers, monkeypatch):
    """Load to a literal address needs no name server."""
    servers("postgres://me@localhost/site", "unix:///run/redis")

    def away(*_, **__):
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", away)
    forget()
    assert "127.0.0.1:5432" in policy(["127.0.0.0/8"])["never"]


def test_a_redirect_takes_a_proof_only_to_the_name_that_it_is_of(project, endpoint, claim, as_bob):
    prove(claim, as_bob)
    step = {"method": "GET", "path": "/"}
    follows = {"by": as_bob, "endpoint": endpoint, "request": step, "redirects": "all"}
    policy = order_of(request_probe(**follows))["policy"]
    assert policy["allow"] == ["10.0.0.0/8", PLACE]
    assert policy["hosts"][""] == ["10.0.0.0/8"]
    narrow = request_probe(**follows | {"redirects": "same_origin"})
    assert "hosts" not in order_of(narrow)["policy"]


def test_a_run_that_follows_redirects_takes_its_proofs_to_no_other_name(
    project, endpoint, claim, as_bob
):
    prove(claim, as_bob)
    plan = make_plan(project, spec={**plan_spec(), "redirects": "all"})
    cell = CampaignCell(plan, endpoint, "new")
    campaign = create(owner_of(project), project, cells=[cell], repeats=1)
    start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
    host(slots=1)
    assert dispatch.admit_runs() == 1
    policy = claim_shards(campaign.runs.get())[0].order["policy"]
    assert PLACE in policy["allow"]
    assert policy["hosts"] == {"": ["10.0.0.0/8"], OUTSIDE: ["10.0.0.0/8", PLACE]}
