"""A ladder is started: its endpoints, plans and tests are made once, from one plan and endpoint."""

import pytest

from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.plan.rungs import RUNGS, USUAL_RUNGS
from campaigns.models import Campaign, Endpoint, OwnTlsProfile, PlanSecret, SavedPlan
from campaigns.services.searches import start_ladder
from campaigns.services.vault import encrypt
from tests.factories import make_endpoint, make_plan, make_target
from tests.services.engine import host
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
GET = {"method": "GET", "path": "/"}


@pytest.fixture
def asked(project, as_bob):
    host(slots=8)
    target = make_target(project, "shop")
    make_endpoint(target, "http")
    pinned = {"fingerprint": "ab" * 32, "ciphers": "ECDHE+AESGCM"}
    return {
        "by": as_bob,
        "project": project,
        "name": "layers",
        "version": make_plan(project, "prices", spec=plan_spec()),
        "endpoint": make_endpoint(target, "https", verify_tls=True, tls=pinned),
        "rungs": USUAL_RUNGS,
    }


def arms_of(campaign: Campaign) -> list[tuple]:
    tests = campaign.tests.select_related("endpoint", "plan_version__plan").order_by("position")
    return [
        (
            test.endpoint.scheme,
            test.endpoint.tls.get("profile", ""),
            test.connection_mode,
            str(test.plan_version.value().http_version),
        )
        for test in tests
    ]


def test_every_rung_is_a_test_in_the_order_of_the_ladder(asked):
    campaign = start_ladder(**asked)
    wanted = [RUNGS[key] for key in USUAL_RUNGS]
    assert arms_of(campaign) == [(r.scheme, r.profile, str(r.mode), str(r.http)) for r in wanted]
    assert (campaign.order, campaign.repeats) == ("blocks", 5)
    assert campaign.runs.count() == 5 * len(USUAL_RUNGS)


def test_the_same_ladder_again_makes_no_more_endpoints_and_plans(asked):
    start_ladder(**asked)
    counts = Endpoint.objects.count(), SavedPlan.objects.count()
    assert counts == (4, 2)  # HTTP, standard, TLS 1.2, classical; HTTP/1.1 and HTTP/2
    start_ladder(**asked)
    assert (Endpoint.objects.count(), SavedPlan.objects.count()) == counts


def test_who_is_trusted_is_kept_and_what_an_endpoint_offers_is_the_profile_s(asked):
    start_ladder(**asked)
    made = Endpoint.objects.get(tls__profile="tls12")
    assert made.tls == {"profile": "tls12", "fingerprint": "ab" * 32}
    assert made.verify_tls


def test_the_project_s_own_tls_profiles_are_rungs_beside_rsa_and_ecdsa(asked, project):
    for name, groups in (("ours", "X25519"), ("theirs", "P-256")):
        OwnTlsProfile.objects.create(project=project, name=name, offers={"groups": groups})
    campaign = start_ladder(**asked | {"rungs": ["profile:theirs", "new-rsa", "profile:ours"]})
    assert [arm[1] for arm in arms_of(campaign)] == ["rsa", "ours", "theirs"]
    offered = [run.snapshot["endpoint"]["tls"].get("groups") for run in campaign.runs.all()]
    assert set(offered) == {None, "X25519", "P-256"}


def test_an_archived_endpoint_comes_back_with_what_its_profile_means_now(asked, project):
    target = asked["endpoint"].target
    stale = {"profile": "ours", "groups": "P-521", "fingerprint": "cd" * 32}
    known = make_endpoint(target, "https", tls=stale, archived_at="2026-01-01T00:00Z")
    OwnTlsProfile.objects.create(project=project, name="ours", offers={"groups": "X25519"})
    start_ladder(**asked | {"rungs": ["new-http", "profile:ours"]})
    known.refresh_from_db()
    assert (known.archived_at, known.frozen().tls.groups) == (None, "X25519")
    assert known.frozen().tls.fingerprint == "cd" * 32


def test_a_plan_s_secret_goes_with_it(asked, project, as_bob):
    spec = plan_spec() | {"auth": {"kind": "basic", "user": "ann"}}
    version = make_plan(project, "private", spec=spec)
    origins = ["https://127.0.0.1:8444", "http://127.0.0.1:8081"]
    PlanSecret.objects.create(
        plan=version.plan, ciphertext=encrypt("s3cret"), changed_by=as_bob.user, origins=origins
    )
    start_ladder(**asked | {"version": version})
    shared = PlanSecret.objects.exclude(plan=version.plan).get()
    assert (shared.plan.name, shared.origins) == ("private, HTTP/2", origins)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"rungs": ["new-http"]}, "rungs"),
        ({"rungs": ["new-http", "quic"]}, "rungs"),
        ({"rungs": ["new-http", "profile:theirs"]}, "rungs"),
        ({"spec": {"http_version": "2"}}, "plan"),
        ({"spec": {"steps": [GET], "session": {"pipeline_depth": 4}}}, "plan"),
        ({"scheme": "http"}, "endpoint"),
    ],
)
def test_what_has_no_ladder_is_refused_beside_its_field(asked, project, wrong, field):
    if spec := wrong.pop("spec", None):
        load = {"model": "closed", "connections": 1, "requests": 10}
        base = plan_spec(**load) | {"connection_mode": "keep-alive"}
        wrong["version"] = make_plan(project, spec=base | spec)
    if scheme := wrong.pop("scheme", None):
        wrong["endpoint"] = asked["endpoint"].target.endpoints.get(scheme=scheme)
    with pytest.raises(InvalidFields) as refused:
        start_ladder(**asked | wrong)
    assert field in refused.value.errors
    assert not Campaign.objects.exists()


def test_without_an_http_endpoint_only_the_rungs_over_tls_can_be_measured(asked):
    asked["endpoint"].target.endpoints.filter(scheme="http").delete()
    with pytest.raises(Refused, match="has no HTTP endpoint"):
        start_ladder(**asked)
    campaign = start_ladder(**asked | {"rungs": ["new-tls12", "new-tls13"]})
    assert campaign.tests.count() == 2


def test_websockets_have_no_ladder(asked):
    spec = {"load": {"model": "sequential", "requests": 1}, "exchange": {}}
    version = make_plan(asked["project"], spec=spec)
    with pytest.raises(InvalidFields) as refused:
        start_ladder(**asked | {"version": version})
    assert "plan" in refused.value.errors
    assert not Campaign.objects.exists()
