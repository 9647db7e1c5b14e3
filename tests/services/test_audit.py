"""The audit log: every deed of its list leaves an entry that nothing takes back."""

import pytest
from django.contrib.auth.signals import user_logged_in
from django.db import DatabaseError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import Forbidden, Refused
from campaigns.models import AuditEntry, Campaign, Membership, Run
from campaigns.permissions import Actor
from campaigns.services import blocks, campaigns, caps, endings, items, load_control, tokens, vault
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_target,
    make_test,
    make_user,
)

pytestmark = pytest.mark.django_db


def told() -> list[tuple[str, str, str]]:
    """(deed, who, what) of every entry, oldest first."""
    return list(AuditEntry.objects.order_by("pk").values_list("deed", "who", "what"))


def test_tokens_leave_their_name_and_scope_and_never_their_text(as_alice):
    token, text = tokens.create_token(by=as_alice, name="nightly", scope="run", days=30)
    tokens.create_token(by=as_alice, name="other", scope="read", days=1)
    tokens.revoke_token(by=as_alice, token=token)
    tokens.revoke_token(by=as_alice, token=token)
    tokens.revoke_all_tokens(by=as_alice)
    assert told() == [
        ("token_created", "alice", "nightly, scope run, 30 days"),
        ("token_created", "alice", "other, scope read, 1 day"),
        ("token_revoked", "alice", "nightly"),
        ("token_revoked", "alice", "all 1"),
    ]
    assert not [entry for entry in AuditEntry.objects.values() if text in str(entry)]


def test_shares_say_what_for_how_long(as_alice, project):
    campaign = make_campaign(project, "nightly")
    share, token = tokens.create_share(by=as_alice, project=project, campaign=campaign, days=7)
    tokens.revoke_share(by=as_alice, share=share)
    assert told() == [
        ("shared", "alice", "link to nightly, 7 days"),
        ("share_revoked", "alice", "link to nightly"),
    ]
    assert not [entry for entry in AuditEntry.objects.values() if token in str(entry)]


def test_members_and_their_roles(as_alice, project):
    make_user("zoe")
    member = caps.add_member(by=as_alice, project=project, username="zoe", role="viewer")
    caps.change_role(by=as_alice, membership=member, role="editor")
    caps.remove_member(by=as_alice, membership=member)
    assert told() == [
        ("member_added", "alice", "zoe as viewer"),
        ("role_changed", "alice", "zoe: viewer to editor"),
        ("member_removed", "alice", "zoe"),
    ]


def test_the_log_tells_of_members_what_was_done_and_not_what_an_older_tab_believed(
    as_alice, project
):
    make_user("zoe")
    seen = caps.add_member(by=as_alice, project=project, username="zoe", role="viewer")
    other = Membership.objects.get(pk=seen.pk)
    caps.change_role(by=as_alice, membership=other, role="editor")
    caps.change_role(by=as_alice, membership=seen, role="editor")
    caps.change_role(by=as_alice, membership=seen, role="owner")
    caps.remove_member(by=as_alice, membership=other)
    with pytest.raises(Refused, match="zoe is no longer a member"):
        caps.change_role(by=as_alice, membership=seen, role="viewer")
    with pytest.raises(Refused, match="zoe is no longer a member"):
        caps.remove_member(by=as_alice, membership=seen)
    assert [what for _, _, what in told()] == [
        "zoe as viewer",
        "zoe: viewer to editor",
        "zoe: editor to owner",
        "zoe",
    ]


def test_a_stored_secret_leaves_the_plan_and_not_itself(as_alice, project):
    plan = make_plan(project, "checkout").plan
    for secret in ("correct horse", None, ""):
        vault.keep_secret(by=as_alice, plan=plan, secret=secret)
    what = f"plan {plan.pk}: checkout"
    assert told() == [("secret_stored", "alice", what), ("secret_deleted", "alice", what)]
    assert not [entry for entry in AuditEntry.objects.values() if "horse" in str(entry)]


def test_a_campaign_from_its_start_to_its_deletion(as_bob, as_alice, project):
    campaign = make_campaign(project, "nightly", repeats=1)
    endpoint = make_endpoint(make_target(project))
    make_test(campaign, make_plan(project), endpoint=endpoint)
    campaigns.start_campaign(by=as_bob, campaign=campaign, anyway=True)
    endings.stop_run(by=as_bob, run=Run.objects.get(campaign=campaign))
    campaigns.stop_campaign(by=as_bob, campaign=campaign)
    Campaign.objects.update(finished_at=campaign.stop_requested_at)
    campaign.refresh_from_db()
    items.delete_items(by=as_alice, items=[campaign])
    name = f"campaign {campaign.pk}: nightly"
    assert told() == [
        ("campaign_started", "bob", name),
        ("run_stopped", "bob", f"run {campaign.pk}.1"),
        ("campaign_stopped", "bob", name),
        ("deleted", "alice", name),
    ]
    assert set(AuditEntry.objects.values_list("project", "project_name")) == {
        (project.pk, project.name)
    }


def test_blocks_that_were_added(as_bob, project):
    campaign = make_campaign(project, "nightly", repeats=1)
    make_test(campaign, make_plan(project), endpoint=make_endpoint(make_target(project)))
    campaigns.start_campaign(by=as_bob, campaign=campaign, anyway=True)
    blocks.add_blocks(by=as_bob, campaign=campaign, after=1, blocks=2)
    assert told()[-1] == ("blocks_added", "bob", f"campaign {campaign.pk}: nightly, 2 blocks")


def test_load_of_the_installation_by_a_person_and_from_a_shell(as_adam):
    load_control.stop_all_load(by=as_adam)
    load_control.allow_load(by=as_adam)
    load_control.drain_from_console()
    load_control.allow_load_from_console()
    load_control.stop_all_load_from_console()
    assert told() == [
        ("load_switched_off", "adam", ""),
        ("load_allowed", "adam", ""),
        ("load_switched_off", "", "to drain"),
        ("load_allowed", "", ""),
        ("load_switched_off", "", ""),
    ]


def test_a_sign_in_keeps_its_address(alice):
    request = HttpRequest()
    request.META["REMOTE_ADDR"] = "203.0.113.7"
    user_logged_in.send(type(alice), request=request, user=alice)
    (entry,) = AuditEntry.objects.all()
    assert (entry.deed, entry.who, entry.address) == ("signed_in", "alice", "203.0.113.7")


def test_the_token_that_was_used_is_named(alice, as_alice, project):
    token, _ = tokens.create_token(by=as_alice, name="nightly", scope="write", days=1)
    campaign = make_campaign(project)
    items.delete_items(by=Actor(user=alice, token=token), items=[campaign])
    assert AuditEntry.objects.latest("pk").token == "nightly"


def test_what_is_refused_leaves_no_entry(as_vera, project):
    campaign = make_campaign(project)
    with pytest.raises(Forbidden), transaction.atomic():
        items.delete_items(by=as_vera, items=[campaign])
    assert told() == []


@pytest.mark.parametrize("change", [lambda rows: rows.update(who="nobody"), QuerySet.delete])
def test_the_database_refuses_to_change_or_delete_an_entry(as_alice, change):
    tokens.create_token(by=as_alice, name="nightly", scope="run", days=30)
    with pytest.raises(DatabaseError, match="never changed or deleted"), transaction.atomic():
        change(AuditEntry.objects.all())
    assert told()[0][1] == "alice"


def test_entries_are_for_owners_and_administrators(as_alice, as_bob, as_adam, project, charlie):
    tokens.create_token(by=as_alice, name="hers", scope="read", days=1)
    tokens.create_share(by=as_bob, project=project, campaign=make_campaign(project), days=1)
    visible = AuditEntry.objects.visible_to
    assert {entry.deed for entry in visible(as_adam)} == {
        AuditEvent.TOKEN_CREATED,
        AuditEvent.SHARED,
    }
    assert {entry.deed for entry in visible(as_alice)} == {AuditEvent.SHARED}
    assert not visible(as_bob)
    assert not visible(Actor(user=charlie))
    assert not visible(Actor())
