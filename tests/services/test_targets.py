"""Targets: made, edited by origin, archived; what has results is never deleted."""

import pytest

from campaigns.domain.errors import InvalidTarget, Refused
from campaigns.models import Endpoint, Target
from campaigns.services.items import archive_items, delete_items, tag_items
from campaigns.services.targets import create_target, edit_target
from tests.factories import make_campaign, make_endpoint, make_run, make_target, make_test

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


def test_a_target_is_made_with_its_endpoints_and_facts(project, as_bob):
    target = make(as_bob, project, endpoints=[HTTP, HTTPS])
    assert target.environment == [["CPU", "8 cores"]]
    assert origins(target) == ["http://10.0.0.5:80", "https://10.0.0.5:443"]
    assert [each.verify_tls for each in target.endpoints.all()] == [True, False]


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
    seen = make(as_bob, project)
    act(by=as_bob, items=[Target.objects.get(pk=seen.pk)])
    with pytest.raises(Refused, match=r"archived|deleted"):
        edit_target(by=as_bob, target=seen, name="shop", environment=[], endpoints=[HTTPS])
    assert not project.targets.filter(archived_at=None).exists()


def test_tags_that_were_given_meanwhile_stay(project, as_bob):
    seen = make(as_bob, project)
    tag_items(by=as_bob, items=[seen], add=["nightly"])
    edit_target(by=as_bob, target=seen, name="shop", environment=[], endpoints=[HTTPS])
    assert project.targets.get().tags == ["nightly"]


def test_an_endpoint_without_results_is_deleted_when_left_out(project, as_bob):
    target = make(as_bob, project, endpoints=[HTTP, HTTPS])
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=[HTTPS])
    assert Endpoint.objects.filter(target=target).count() == 1


def test_an_endpoint_with_results_is_archived_and_revived_when_it_comes_back(project, as_bob):
    target = make(as_bob, project, endpoints=[HTTP, HTTPS])
    tested = target.endpoints.get(scheme="http")
    make_test(make_campaign(project), endpoint=tested)
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=[HTTPS])
    tested.refresh_from_db()
    assert tested.archived_at is not None
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=[HTTP, HTTPS])
    tested.refresh_from_db()
    assert tested.archived_at is None


def test_two_endpoints_may_swap_their_ports(project, as_bob):
    other = {**HTTP, "host": "10.0.0.6", "port": 81}
    target = make(as_bob, project, endpoints=[HTTP, other])
    swapped = [{**HTTP, "port": 81}, {**other, "port": 80}]
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=swapped)
    assert origins(target) == ["http://10.0.0.5:81", "http://10.0.0.6:80"]


def test_whether_the_certificate_is_verified_can_be_changed(project, as_bob):
    target = make(as_bob, project, endpoints=[HTTPS])
    verified = {**HTTPS, "verify_tls": True}
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=[verified])
    assert target.endpoints.get().verify_tls


def test_an_origin_is_listed_once_for_each_tls_profile(project, as_bob):
    old = {**HTTPS, "tls": {"profile": "tls12"}}
    target = make(as_bob, project, endpoints=[HTTPS, old])
    names = sorted(map(str, target.endpoints.all()))
    assert names == ["https://10.0.0.5:443", "https://10.0.0.5:443, TLS 1.2 only"]
    with pytest.raises(InvalidTarget) as refusal:
        make(as_bob, project, name="other", endpoints=[old, old])
    assert "another TLS profile" in refusal.value.errors["endpoints.1.host"]


def test_the_endpoint_of_another_profile_is_another_one_and_comes_back_as_it_was(project, as_bob):
    target = make(as_bob, project, endpoints=[HTTPS])
    tested = target.endpoints.get()
    make_test(make_campaign(project), endpoint=tested)
    for tls, is_there in (({"profile": "rsa"}, False), ({}, True)):
        endpoints = [{**HTTPS, "tls": tls}]
        edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=endpoints)
        tested.refresh_from_db()
        assert (tested.archived_at is None) is is_there


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
