"""Targets, their TLS profiles, the names of all things, and addresses that were only tried."""

import pytest
from django.urls import reverse

from campaigns.campaigns.queries.campaign_grid import grid_of
from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.core.database import db_now
from campaigns.domain.errors import InvalidFields, InvalidTarget, Refused
from campaigns.domain.plan.questions import QUESTIONS
from campaigns.items.queries.filters import matching
from campaigns.items.services import archive_items, delete_items, describe_item, tag_items
from campaigns.machines.services import add_exporter
from campaigns.models import AuditEntry, Endpoint, OwnTlsProfile, Probe, Project, Target
from campaigns.operations.models import AuditEvent
from campaigns.plans.services import create_plan
from campaigns.probes.queries.probes import list_targets
from campaigns.probes.services.typed_targets import cells_of_question, try_typed
from campaigns.projects.services import create_project
from campaigns.targets.services import (
    change_profile,
    create_profile,
    create_target,
    delete_profile,
    edit_target,
)
from tests.engine.scenes import create
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_run,
    make_target,
    make_test,
)
from tests.item_kinds import KINDS, make_item
from tests.kept_rows import undone
from tests.values import plan_spec, read_typed
from workers.tasks import delete_old_rows

pytestmark = pytest.mark.django_db


HTTP = {"scheme": "http", "host": "10.0.0.5", "port": 80}
HTTPS = {"scheme": "https", "host": "10.0.0.5", "port": 443, "verify_tls": False}


def make(as_bob, project, **fields) -> Target:
    return create_target(
        by=as_bob,
        project=project,
        **{"name": "shop", "environment": [["CPU", "8 cores"]], "endpoints": [HTTP], **fields},
    )


def origins(target) -> list[str]:
    return [str(each) for each in target.endpoints.filter(archived_at=None)]


def test_a_name_is_used_once_in_a_project_until_it_is_archived(project, as_bob):
    target = make(as_bob, project)
    with pytest.raises(InvalidTarget) as refusal:
        make(as_bob, project)
    assert "already" in refusal.value.errors["name"]
    archive_items(by=as_bob, items=[target])
    assert make(as_bob, project).pk != target.pk


@pytest.mark.parametrize("act", [archive_items, delete_items])
def test_what_was_archived_or_deleted_meanwhile_is_not_edited_back(project, as_bob, act):
    """Whoever edits it has read the row before."""
    stale = make(as_bob, project)
    act(by=as_bob, items=[Target.objects.get(pk=stale.pk)])
    with pytest.raises(Refused, match=r"archived|deleted"):
        edit_target(by=as_bob, target=stale, name="shop", environment=[], endpoints=[HTTPS])
    assert not project.targets.filter(archived_at=None).exists()


def test_tags_that_were_given_meanwhile_stay(project, as_bob):
    stale = make(as_bob, project)
    tag_items(by=as_bob, items=[stale], add=["nightly"])
    edit_target(by=as_bob, target=stale, name="shop", environment=[], endpoints=[HTTPS])
    assert project.targets.get().tags == ["nightly"]


def test_an_endpoint_without_results_is_deleted_when_left_out(project, as_bob):
    target = make(as_bob, project, endpoints=[HTTP, HTTPS])
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=[HTTPS])
    assert Endpoint.objects.filter(target=target).count() == 1


def test_an_endpoint_with_results_is_archived_and_revived_when_it_comes_back(project, as_bob):
    target = make(as_bob, project, endpoints=[HTTP, HTTPS])
    endpoint = target.endpoints.get(scheme="http")
    make_test(make_campaign(project), endpoint=endpoint)
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=[HTTPS])
    endpoint.refresh_from_db()
    assert endpoint.archived_at is not None
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=[HTTP, HTTPS])
    endpoint.refresh_from_db()
    assert endpoint.archived_at is None


def test_two_endpoints_may_swap_their_ports(project, as_bob):
    other = {**HTTP, "host": "10.0.0.6", "port": 81}
    target = make(as_bob, project, endpoints=[HTTP, other])
    endpoints = [{**HTTP, "port": 81}, {**other, "port": 80}]
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=endpoints)
    assert origins(target) == ["http://10.0.0.5:81", "http://10.0.0.6:80"]


def test_whether_the_certificate_is_verified_can_be_changed(project, as_bob):
    target = make(as_bob, project, endpoints=[HTTPS])
    endpoint = {**HTTPS, "verify_tls": True}
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=[endpoint])
    assert target.endpoints.get().verify_tls


def test_an_origin_is_listed_once_for_each_tls_profile(project, as_bob):
    old = {**HTTPS, "tls": {"profile": "tls12"}}
    target = make(as_bob, project, endpoints=[HTTPS, old])
    names = sorted(map(str, target.endpoints.all()))
    assert names == ["https://10.0.0.5:443", "https://10.0.0.5:443, TLS 1.2 only"]
    with pytest.raises(InvalidTarget) as refusal:
        make(as_bob, project, name="other", endpoints=[old, old])
    assert "another TLS profile" in refusal.value.errors["endpoints.1.host"]


def test_a_name_is_pinned_to_several_addresses_and_to_none_that_load_may_never_reach(
    project, as_bob
):
    by_name = {**HTTP, "host": "shop.example"}
    endpoints = [by_name, {**by_name, "address": "10.0.0.5"}, {**by_name, "address": "10.0.0.6"}]
    target = make(as_bob, project, endpoints=endpoints)
    places = [each.described().place for each in target.endpoints.order_by("pk")]
    assert places == [
        "http://shop.example:80",
        "http://shop.example:80 at 10.0.0.5",
        "http://shop.example:80 at 10.0.0.6",
    ]
    assert target.endpoints.last().frozen().to_order()["address"] == "10.0.0.6"
    for address in ("169.254.169.254", "shop.example", "10.0.0"):
        with pytest.raises(InvalidTarget) as refusal:
            make(as_bob, project, name="other", endpoints=[{**by_name, "address": address}])
        assert list(refusal.value.errors) == ["endpoints.0.address"]


def test_the_endpoint_of_another_profile_is_another_one_and_comes_back_as_it_was(project, as_bob):
    target = make(as_bob, project, endpoints=[HTTPS])
    endpoint = target.endpoints.get()
    make_test(make_campaign(project), endpoint=endpoint)
    for tls, is_there in (({"profile": "rsa"}, False), ({}, True)):
        endpoints = [{**HTTPS, "tls": tls}]
        edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=endpoints)
        endpoint.refresh_from_db()
        assert (endpoint.archived_at is None) is is_there


def test_a_run_keeps_what_its_profile_meant_and_an_injector_gets_only_that(project, as_bob):
    target = make(as_bob, project, endpoints=[{**HTTPS, "tls": {"profile": "classical"}}])
    endpoint = target.endpoints.get()
    groups = {"groups": "X25519:P-256:P-384"}
    assert endpoint.tls == {"profile": "classical"}
    assert endpoint.frozen().to_json()["tls"] == {"profile": "classical", **groups}
    assert endpoint.frozen().to_order()["tls"] == groups


def test_a_wrong_edit_changes_nothing(project, as_bob):
    target = make(as_bob, project)
    with pytest.raises(InvalidTarget):
        edit_target(by=as_bob, target=target, name="other", environment=[], endpoints=[])
    target.refresh_from_db()
    assert target.name == "shop"
    assert origins(target) == ["http://10.0.0.5:80"]


def test_a_target_with_a_run_that_is_not_done_is_not_archived(project, as_bob):
    target = make_target(project)
    make_run(make_test(make_campaign(project), endpoint=make_endpoint(target)))
    with pytest.raises(Refused, match="have not ended"):
        archive_items(by=as_bob, items=[target])


ORIGIN = {"scheme": "https", "host": "10.0.0.5", "port": 443}


@pytest.fixture
def profile(project, as_bob) -> OwnTlsProfile:
    return create_profile(by=as_bob, project=project, name="our clients", groups="X25519")


def target_naming(as_bob, project, name="our clients", **tls) -> Target:
    endpoints = [ORIGIN | {"tls": {"profile": name, **tls}}]
    return create_target(
        by=as_bob, project=project, name="shop", environment=[], endpoints=endpoints
    )


def test_endpoints_name_it_and_runs_freeze_what_it_offers(project, as_bob, profile):
    endpoint = target_naming(as_bob, project).endpoints.get()
    assert endpoint.tls == {"profile": "our clients"}
    assert str(endpoint) == "https://10.0.0.5:443, our clients"
    snapshot = endpoint.frozen()
    assert snapshot.to_json()["tls"] == {"profile": "our clients", "groups": "X25519"}
    assert snapshot.to_order()["tls"] == {"groups": "X25519"}


def test_a_name_is_used_once_in_a_project(project, as_bob, profile):
    with pytest.raises(InvalidFields) as refusal:
        create_profile(by=as_bob, project=project, name="our clients")
    assert "already" in refusal.value.errors["name"]
    other = make_project("other", owner=as_bob.user)
    assert create_profile(by=as_bob, project=other, name="our clients").pk != profile.pk


def test_another_project_s_profile_is_none_here(project, as_bob):
    other = make_project("other", owner=as_bob.user)
    create_profile(by=as_bob, project=other, name="their clients")
    with pytest.raises(InvalidTarget) as refusal:
        target_naming(as_bob, project, "their clients")
    assert "Choose one of" in refusal.value.errors["endpoints.0.tls.profile"]


def test_a_change_is_for_runs_to_come_and_leaves_those_that_were_measured(project, as_bob, profile):
    endpoint = target_naming(as_bob, project).endpoints.get()
    run = make_run(make_test(make_campaign(project), endpoint=endpoint))
    change_profile(by=as_bob, profile=profile, name="clients of 2026", groups="P-256")
    endpoint.refresh_from_db()
    assert endpoint.frozen().to_json()["tls"] == {"profile": "clients of 2026", "groups": "P-256"}
    run.refresh_from_db()
    assert run.snapshot["endpoint"]["tls"] == {"profile": "our clients", "groups": "X25519"}
    assert run.frozen.arm_label.endswith("our clients")


def test_a_change_that_an_endpoint_cannot_follow_is_refused_with_its_name(project, as_bob, profile):
    target_naming(as_bob, project, min_version="1.3")
    with pytest.raises(InvalidFields) as refusal:
        change_profile(by=as_bob, profile=profile, name="our clients", max_version="1.2")
    assert "On shop, https://10.0.0.5:443" in refusal.value.errors["max_version"]
    profile.refresh_from_db()
    assert profile.offers == {"groups": "X25519"}


def test_one_that_was_deleted_meanwhile_is_not_changed(as_bob, profile):
    OwnTlsProfile.objects.all().delete()
    with pytest.raises(Refused, match="has been deleted"):
        change_profile(by=as_bob, profile=profile, name="our clients")


def test_one_that_an_endpoint_names_is_not_deleted_and_it_says_where(project, as_bob, profile):
    target = target_naming(as_bob, project)
    with pytest.raises(Refused, match=r"1 endpoint: shop \(https://10.0.0.5:443\)"):
        delete_profile(by=as_bob, profile=profile)
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=[ORIGIN])
    delete_profile(by=as_bob, profile=profile)
    assert not OwnTlsProfile.objects.exists()
    entry = AuditEntry.objects.get(deed=AuditEvent.DELETED)
    assert entry.what == f"TLS profile {profile.pk}: our clients"


def test_an_archived_endpoint_keeps_the_name_and_what_it_meant(project, as_bob, profile):
    target = target_naming(as_bob, project)
    endpoint = target.endpoints.get()
    make_test(make_campaign(project), endpoint=endpoint)
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=[ORIGIN])
    delete_profile(by=as_bob, profile=profile)
    endpoint.refresh_from_db()
    assert endpoint.tls == {"profile": "our clients", "groups": "X25519"}
    assert endpoint.frozen().to_json()["tls"] == endpoint.tls


def test_an_archived_target_does_not_hold_it(project, as_bob, profile):
    target = target_naming(as_bob, project)
    archive_items(by=as_bob, items=[target])
    delete_profile(by=as_bob, profile=profile)
    assert Endpoint.objects.get().frozen().tls.groups == "X25519"


def test_a_profile_that_somebody_deleted_before_is_gone_without_a_word(as_bob, profile):
    again = OwnTlsProfile.objects.get(pk=profile.pk)
    delete_profile(by=as_bob, profile=profile)
    delete_profile(by=as_bob, profile=again)
    assert not OwnTlsProfile.objects.exists()


@pytest.fixture
def probe(project, as_bob):
    return try_typed(by=as_bob, project=project, request=read_typed("https://typo.example/"))


def is_listed(by, project) -> bool:
    is_there = list_targets(by).filter(project=project).exists()
    assert bool(grid_of(project).targets) == is_there
    return is_there


def test_no_list_and_no_grid_has_it_and_a_second_try_finds_it(probe, project, as_bob):
    assert not is_listed(as_bob, project)
    again = try_typed(by=as_bob, project=project, request=read_typed("https://typo.example/b"))
    assert again.endpoint == probe.endpoint


def plan_a_campaign(by, probe):
    project = probe.endpoint.target.project
    cell = CampaignCell(make_plan(project), probe.endpoint, "new")
    create(by, project, cells=[cell])


def ask_a_question(by, probe):
    step = {"method": "GET", "path": "/", "headers": [], "body": ""}
    cells_of_question(by=by, question=QUESTIONS["works"], step=step, probes=[probe])


def save_its_form(by, probe):
    target = probe.endpoint.target
    endpoints = [endpoint.described().to_json() for endpoint in target.endpoints.all()]
    edit_target(by=by, target=target, name="shop", environment=[], endpoints=endpoints)


def set_an_exporter(by, probe):
    url = "http://127.0.0.1:9100/metrics"
    fields = {"name": "shop", "url": url, "is_server": False, "verify_tls": True}
    add_exporter(by=by, target=probe.endpoint.target, **fields)


def rename_it(by, probe):
    describe_item(by=by, item=probe.endpoint.target, name="shop")


def test_it_is_kept_by_what_is_built_on_it(probe, project, as_bob):
    for use in [
        plan_a_campaign,
        ask_a_question,
        save_its_form,
        set_an_exporter,
        rename_it,
    ]:
        use(as_bob, probe)
        assert is_listed(as_bob, project)


def test_it_takes_nobody_s_name(probe, project, as_bob):
    make_target(project, "typo.example")
    ask_a_question(as_bob, probe)
    assert {each.name for each in project.targets.all()} == {"typo.example", "typo.example (2)"}


def test_it_goes_a_week_after_it_was_tried_and_a_kept_one_stays(probe, project):
    other = make_target(project)
    Target.objects.update(created_at=db_now(-8 * 24 * 3600))
    delete_old_rows()
    assert Target.objects.count() == 2
    Probe.objects.update(requested_at=db_now(-8 * 24 * 3600))
    delete_old_rows()
    assert list(Target.objects.all()) == [other]


CAFE = "caf\u00e9"  # é in one character
CAFE_IN_TWO = "cafe\u0301"  # e, with an accent after it
ALIKE = [CAFE_IN_TWO, "ca\u00adf\u00e9\u200b", "\u202ecaf\u00e9\u202c"]


def target_of(by, project, name, profile=""):
    endpoint = {"scheme": "https", "host": "10.0.0.5", "port": 443, "tls": {"profile": profile}}
    facts = {"name": name, "environment": [], "endpoints": [endpoint]}
    return create_target(by=by, project=project, **facts)


@pytest.mark.parametrize("alike", ALIKE)
def test_what_may_have_a_name_once_has_it_once(project, as_alice, alike):
    common = {"by": as_alice, "project": project}
    acts = {
        InvalidFields: [
            lambda name: create_plan(**common, name=name, spec=plan_spec()),
            lambda name: create_profile(**common, name=name),
        ],
        InvalidTarget: [lambda name: target_of(as_alice, project, name)],
    }
    for refusal, makers in acts.items():
        for make in makers:
            make(CAFE)
            with pytest.raises(refusal):
                make(alike)


def test_what_is_renamed_is_stored_and_found_by_either_spelling(project, as_alice):
    for kind in KINDS:
        for alike in ALIKE:
            with undone():
                item = make_item(kind, project, "shop")
                describe_item(by=as_alice, item=item, name=alike)
                item.refresh_from_db()
                assert item.name == CAFE
                for text in (CAFE, alike):
                    assert type(item).objects.get(matching(type(item), text)) == item


def test_campaigns_and_projects_are_stored_in_one_spelling(project, as_alice):
    assert create(as_alice, project, name=CAFE_IN_TWO).name == CAFE
    assert create_project(by=as_alice, name=f" {CAFE_IN_TWO} ").name == CAFE


def test_a_name_that_no_page_shows_makes_no_project(client, alice):
    client.force_login(alice)
    assert client.post(reverse("project-new"), {"name": "\u200b"}).status_code == 422
    assert not Project.objects.filter(name="").exists()


def test_an_endpoint_names_a_profile_in_either_spelling(project, as_alice):
    create_profile(by=as_alice, project=project, name=CAFE)
    target = target_of(as_alice, project, "shop", profile=CAFE_IN_TWO)
    assert target.endpoints.get().tls == {"profile": CAFE}
