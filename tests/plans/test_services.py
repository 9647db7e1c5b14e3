"""Plans: versions that never change, megabytes stored once, and ladders made from one plan."""

import secrets

import pytest
from django.db import connection

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.domain.errors import InvalidFields, InvalidPlan, Refused
from campaigns.domain.plan.rungs import RUNGS, USUAL_RUNGS
from campaigns.engine.services.dispatch import admit_runs
from campaigns.engine.services.shards import claim_shard
from campaigns.items.services import archive_items, delete_items
from campaigns.ladder.services import start_ladder
from campaigns.models import Campaign, Endpoint, OwnTlsProfile, PlanSecret, SavedPlan
from campaigns.plans.services import create_plan, edit_plan
from campaigns.projects.services import encrypt
from tests.cast import client_of
from tests.engine.scenes import create, host, owner_of
from tests.factories import make_endpoint, make_plan, make_target
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


def make(as_bob, project, name="Load", spec=None):
    return create_plan(by=as_bob, project=project, name=name, spec=spec or plan_spec())


def test_an_edit_makes_a_version_and_leaves_the_earlier_one_as_it_was(project, as_bob):
    first = make(as_bob, project)
    spec = plan_spec(model="over", requests=200, over_s=10)
    second = edit_plan(by=as_bob, plan=first.plan, name="Load", spec=spec)
    assert second.number == 2
    first.refresh_from_db()
    assert first.spec["load"]["requests"] == 100


def test_an_unchanged_spec_makes_no_version_even_under_a_new_name(project, as_bob):
    first = make(as_bob, project)
    again = edit_plan(by=as_bob, plan=first.plan, name="Other", spec=plan_spec())
    assert again.pk == first.pk
    first.plan.refresh_from_db()
    assert first.plan.name == "Other"


def test_a_rule_that_no_run_keeps_is_refused_but_one_that_is_stored_may_stay(project, as_bob):
    never = [{"metric": "errors", "limit": 0, "unit": "%"}]
    spec = plan_spec() | {"thresholds": never}
    with pytest.raises(InvalidPlan) as refusal:
        make(as_bob, project, spec=spec)
    assert refusal.value.errors.keys() == {"thresholds.0.limit"}
    version = make_plan(project, spec=spec)
    again = edit_plan(by=as_bob, plan=version.plan, name="Other", spec=spec)
    assert again == version
    rules = [*never, {"metric": "p95", "limit": 0, "unit": "ms"}]
    with pytest.raises(InvalidPlan):
        edit_plan(by=as_bob, plan=version.plan, name="Other", spec=spec | {"thresholds": rules})


@pytest.mark.parametrize("act", [archive_items, delete_items])
def test_what_was_archived_or_deleted_meanwhile_is_not_edited_back(project, as_bob, act):
    """Whoever edits it has read the row before."""
    stale = make(as_bob, project).plan
    act(by=as_bob, items=[SavedPlan.objects.get(pk=stale.pk)])
    with pytest.raises(Refused, match=r"archived|deleted"):
        edit_plan(by=as_bob, plan=stale, name="Load", spec=plan_spec())
    assert not project.plans.filter(archived_at=None).exists()


def test_a_wrong_spec_is_refused_field_by_field_and_leaves_no_plan(project, as_bob):
    with pytest.raises(InvalidPlan) as refusal:
        make(as_bob, project, spec=plan_spec(model="open", rate_per_s=-1))
    assert "load.rate_per_s" in refusal.value.errors
    assert not project.plans.exists()


@pytest.mark.parametrize("name", ["", "  ", "x" * 101])
def test_a_plan_needs_a_name_of_a_fitting_length(name, project, as_bob):
    with pytest.raises(InvalidFields) as refusal:
        make(as_bob, project, name=name)
    assert list(refusal.value.errors) == ["name"]


REPEATS = 20
# Nothing that PostgreSQL could compress well.
BODY = secrets.token_hex(200_000)


@pytest.fixture
def large_campaign(project):
    spec = plan_spec()
    spec["steps"][0] |= {"method": "POST", "body": BODY}
    version = create_plan(by=owner_of(project), project=project, name="large", spec=spec)
    cell = CampaignCell(version, make_endpoint(make_target(project)), "new")
    campaign = create(owner_of(project), project, cells=[cell], repeats=REPEATS, order="listed")
    start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
    return campaign


def test_its_runs_take_a_fraction_of_it(large_campaign):
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(pg_column_size(r.*)) FROM campaigns_run r")
        size_bytes = cursor.fetchone()[0]
    assert large_campaign.runs.count() == REPEATS
    assert size_bytes < len(BODY) / 4


def test_each_run_sends_and_shows_all_of_it(large_campaign, project, bob):
    host(slots=1)
    admit_runs()
    assert claim_shard(worker="w", host="host 1").order["plan"]["steps"][0]["body"] == BODY
    run = large_campaign.runs.last()
    assert run.frozen.plan.steps[0].body == BODY
    plan = client_of(bob).get(f"/api/v1/runs/{run.pk}/").json()["snapshot"]["plan"]
    assert plan == run.frozen.plan_json
    assert plan["steps"][0]["body"] == BODY
    assert "parts_of" not in plan


def test_a_later_edit_of_the_plan_is_no_part_of_its_runs(large_campaign, project):
    plan = large_campaign.tests.get().plan_version.plan
    edit_plan(by=owner_of(project), plan=plan, name=plan.name, spec=plan_spec())
    assert large_campaign.runs.first().frozen.plan.steps[0].body == BODY


def test_many_of_its_runs_are_listed_with_its_body_read_once(
    large_campaign, django_assert_max_num_queries
):
    with django_assert_max_num_queries(2):
        bodies = {run.frozen.plan.steps[0].body for run in large_campaign.runs.all()}
    assert bodies == {BODY}


GET = {"method": "GET", "path": "/"}


@pytest.fixture
def ladder(project, as_bob):
    host(slots=8)
    target = make_target(project, "shop")
    make_endpoint(target, "http")
    tls = {"fingerprint": "ab" * 32, "ciphers": "ECDHE+AESGCM"}
    return {
        "by": as_bob,
        "project": project,
        "name": "layers",
        "version": make_plan(project, "prices", spec=plan_spec()),
        "endpoint": make_endpoint(target, "https", verify_tls=True, tls=tls),
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


def test_every_rung_is_a_test_in_the_order_of_the_ladder(ladder):
    campaign = start_ladder(**ladder)
    rungs = [RUNGS[key] for key in USUAL_RUNGS]
    assert arms_of(campaign) == [(r.scheme, r.profile, str(r.mode), str(r.http)) for r in rungs]
    assert (campaign.order, campaign.repeats) == ("side_by_side", 1)
    assert campaign.runs.filter(leader=None).count() == 1, "all rungs are in one pass"
    assert campaign.runs.count() == len(USUAL_RUNGS)


def test_the_same_ladder_again_makes_no_more_endpoints_and_plans(ladder):
    start_ladder(**ladder)
    counts = Endpoint.objects.count(), SavedPlan.objects.count()
    assert counts == (4, 2)  # HTTP, standard, TLS 1.2, classical; HTTP/1.1 and HTTP/2
    start_ladder(**ladder)
    assert (Endpoint.objects.count(), SavedPlan.objects.count()) == counts


def test_who_is_trusted_is_kept_and_what_an_endpoint_offers_is_the_profile_s(ladder):
    start_ladder(**ladder)
    endpoint = Endpoint.objects.get(tls__profile="tls12")
    assert endpoint.tls == {"profile": "tls12", "fingerprint": "ab" * 32}
    assert endpoint.verify_tls


def test_the_project_s_own_tls_profiles_are_rungs_beside_rsa_and_ecdsa(ladder, project):
    for name, groups in (("ours", "X25519"), ("theirs", "P-256")):
        OwnTlsProfile.objects.create(project=project, name=name, offers={"groups": groups})
    campaign = start_ladder(**ladder | {"rungs": ["profile:theirs", "new-rsa", "profile:ours"]})
    assert [arm[1] for arm in arms_of(campaign)] == ["rsa", "ours", "theirs"]
    curves = [run.snapshot["endpoint"]["tls"].get("groups") for run in campaign.runs.all()]
    assert set(curves) == {None, "X25519", "P-256"}


def test_an_archived_endpoint_comes_back_with_what_its_profile_means_now(ladder, project):
    target = ladder["endpoint"].target
    stale = {"profile": "ours", "groups": "P-521", "fingerprint": "cd" * 32}
    endpoint = make_endpoint(target, "https", tls=stale, archived_at="2026-01-01T00:00Z")
    OwnTlsProfile.objects.create(project=project, name="ours", offers={"groups": "X25519"})
    start_ladder(**ladder | {"rungs": ["new-http", "profile:ours"]})
    endpoint.refresh_from_db()
    assert (endpoint.archived_at, endpoint.frozen().tls.groups) == (None, "X25519")
    assert endpoint.frozen().tls.fingerprint == "cd" * 32


def test_a_plan_s_secret_goes_with_it(ladder, project, as_bob):
    spec = plan_spec() | {"auth": {"kind": "basic", "user": "ann"}}
    version = make_plan(project, "private", spec=spec)
    origins = ["https://127.0.0.1:8444", "http://127.0.0.1:8081"]
    PlanSecret.objects.create(
        plan=version.plan, ciphertext=encrypt("s3cret"), changed_by=as_bob.user, origins=origins
    )
    start_ladder(**ladder | {"version": version})
    secret = PlanSecret.objects.exclude(plan=version.plan).get()
    assert (secret.plan.name, secret.origins) == ("private, HTTP/2", origins)


def test_what_has_no_ladder_is_refused_beside_its_field(ladder, project):
    for wrong, field in [
        ({"rungs": ["new-http"]}, "rungs"),
        ({"rungs": ["new-http", "quic"]}, "rungs"),
        ({"rungs": ["new-http", "profile:theirs"]}, "rungs"),
        ({"spec": {"http_version": "2"}}, "plan"),
        ({"spec": {"steps": [GET], "session": {"pipeline_depth": 4}}}, "plan"),
        ({"scheme": "http"}, "endpoint"),
    ]:
        if spec := wrong.pop("spec", None):
            load = {"model": "closed", "connections": 1, "requests": 10}
            base = plan_spec(**load) | {"connection_mode": "keep-alive"}
            wrong["version"] = make_plan(project, spec=base | spec)
        if scheme := wrong.pop("scheme", None):
            wrong["endpoint"] = ladder["endpoint"].target.endpoints.get(scheme=scheme)
        with pytest.raises(InvalidFields) as refusal:
            start_ladder(**ladder | wrong)
        assert field in refusal.value.errors
        assert not Campaign.objects.exists()


def test_without_an_http_endpoint_only_the_rungs_over_tls_can_be_measured(ladder):
    ladder["endpoint"].target.endpoints.filter(scheme="http").delete()
    with pytest.raises(Refused, match="has no HTTP endpoint"):
        start_ladder(**ladder)
    campaign = start_ladder(**ladder | {"rungs": ["new-tls12", "new-tls13"]})
    assert campaign.tests.count() == 2


def test_websockets_have_no_ladder(ladder):
    spec = {"load": {"model": "sequential", "requests": 1}, "exchange": {}}
    version = make_plan(ladder["project"], spec=spec)
    with pytest.raises(InvalidFields) as refusal:
        start_ladder(**ladder | {"version": version})
    assert "plan" in refusal.value.errors
    assert not Campaign.objects.exists()
