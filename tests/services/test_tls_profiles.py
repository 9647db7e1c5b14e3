"""A project's TLS profiles: what follows a change, what stays, and when one can be deleted."""

import pytest

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import InvalidFields, InvalidTarget, Refused
from campaigns.models import AuditEntry, Endpoint, OwnTlsProfile, Target
from campaigns.services.items import archive_items
from campaigns.services.targets import (
    change_profile,
    create_profile,
    create_target,
    delete_profile,
    edit_target,
)
from tests.factories import make_campaign, make_project, make_run, make_test

pytestmark = pytest.mark.django_db
HTTPS = {"scheme": "https", "host": "10.0.0.5", "port": 443}


@pytest.fixture
def profile(project, as_bob) -> OwnTlsProfile:
    return create_profile(by=as_bob, project=project, name="our clients", groups="X25519")


def target_naming(as_bob, project, name="our clients", **tls) -> Target:
    endpoints = [HTTPS | {"tls": {"profile": name, **tls}}]
    return create_target(
        by=as_bob, project=project, name="shop", environment=[], endpoints=endpoints
    )


def test_endpoints_name_it_and_runs_freeze_what_it_offers(project, as_bob, profile):
    endpoint = target_naming(as_bob, project).endpoints.get()
    assert endpoint.tls == {"profile": "our clients"}
    assert str(endpoint) == "https://10.0.0.5:443, our clients"
    frozen = endpoint.frozen()
    assert frozen.to_json()["tls"] == {"profile": "our clients", "groups": "X25519"}
    assert frozen.to_order()["tls"] == {"groups": "X25519"}


def test_a_name_is_used_once_in_a_project(project, as_bob, profile):
    with pytest.raises(InvalidFields) as refused:
        create_profile(by=as_bob, project=project, name="our clients")
    assert "already" in refused.value.errors["name"]
    other = make_project("other", owner=as_bob.user)
    assert create_profile(by=as_bob, project=other, name="our clients").pk != profile.pk


def test_another_project_s_profile_is_none_here(project, as_bob):
    other = make_project("other", owner=as_bob.user)
    create_profile(by=as_bob, project=other, name="their clients")
    with pytest.raises(InvalidTarget) as refused:
        target_naming(as_bob, project, "their clients")
    assert "Choose one of" in refused.value.errors["endpoints.0.tls.profile"]


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
    with pytest.raises(InvalidFields) as refused:
        change_profile(by=as_bob, profile=profile, name="our clients", max_version="1.2")
    assert "On shop, https://10.0.0.5:443" in refused.value.errors["max_version"]
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
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=[HTTPS])
    delete_profile(by=as_bob, profile=profile)
    assert not OwnTlsProfile.objects.exists()
    entry = AuditEntry.objects.get(deed=AuditEvent.DELETED)
    assert entry.what == f"TLS profile {profile.pk}: our clients"


def test_an_archived_endpoint_keeps_the_name_and_what_it_meant(project, as_bob, profile):
    target = target_naming(as_bob, project)
    endpoint = target.endpoints.get()
    make_test(make_campaign(project), endpoint=endpoint)
    edit_target(by=as_bob, target=target, name="shop", environment=[], endpoints=[HTTPS])
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
