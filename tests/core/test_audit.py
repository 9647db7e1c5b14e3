"""Every deed of the audit log's list leaves an entry that nothing takes back; what is deleted
leaves nothing in any other table.

The tables come from the models: a new one that belongs to a campaign or a project fails here until
the world has a row of it.
"""

from collections import defaultdict

import pytest
from django.apps import apps
from django.contrib.auth.signals import user_logged_in
from django.db import DatabaseError, transaction
from django.db.models import SET_NULL, Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from campaigns.accounts import tokens
from campaigns.campaigns.services import blocks, campaigns
from campaigns.core.permissions import Actor
from campaigns.domain.errors import Forbidden, Refused
from campaigns.engine.services import endings
from campaigns.items import services as items
from campaigns.items.services import delete_items, purge_items
from campaigns.models import (
    AuditEntry,
    Baseline,
    Campaign,
    FailureExample,
    KeptMinute,
    Membership,
    PlanSecret,
    Probe,
    Project,
    RequestsOfShard,
    Round,
    Run,
    RunEvent,
    RunProfile,
    RunUse,
    Search,
    StoredBody,
)
from campaigns.operations.models import AuditEvent
from campaigns.operations.services import load_control
from campaigns.projects import services as projects
from tests.access_world import make_world
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_target,
    make_test,
    make_user,
)

pytestmark = pytest.mark.django_db


def entries() -> list[tuple[str, str, str]]:
    """(deed, who, what) of every entry, oldest first."""
    return list(AuditEntry.objects.order_by("pk").values_list("deed", "who", "what"))


def test_tokens_leave_their_name_and_scope_and_never_their_text(as_alice):
    token, text = tokens.create_token(by=as_alice, name="nightly", scope="run", days=30)
    tokens.create_token(by=as_alice, name="other", scope="read", days=1)
    tokens.revoke_token(by=as_alice, token=token)
    tokens.revoke_token(by=as_alice, token=token)
    tokens.revoke_all_tokens(by=as_alice)
    assert entries() == [
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
    assert entries() == [
        ("shared", "alice", "link to nightly, 7 days"),
        ("share_revoked", "alice", "link to nightly"),
    ]
    assert not [entry for entry in AuditEntry.objects.values() if token in str(entry)]


def test_members_and_their_roles(as_alice, project):
    make_user("zoe")
    member = projects.add_member(by=as_alice, project=project, username="zoe", role="viewer")
    projects.change_role(by=as_alice, membership=member, role="editor")
    projects.remove_member(by=as_alice, membership=member)
    assert entries() == [
        ("member_added", "alice", "zoe as viewer"),
        ("role_changed", "alice", "zoe: viewer to editor"),
        ("member_removed", "alice", "zoe"),
    ]


def test_the_log_tells_of_members_what_was_done_and_not_what_an_older_tab_believed(
    as_alice, project
):
    make_user("zoe")
    stale = projects.add_member(by=as_alice, project=project, username="zoe", role="viewer")
    other = Membership.objects.get(pk=stale.pk)
    projects.change_role(by=as_alice, membership=other, role="editor")
    projects.change_role(by=as_alice, membership=stale, role="editor")
    projects.change_role(by=as_alice, membership=stale, role="owner")
    projects.remove_member(by=as_alice, membership=other)
    with pytest.raises(Refused, match="zoe is no longer a member"):
        projects.change_role(by=as_alice, membership=stale, role="viewer")
    with pytest.raises(Refused, match="zoe is no longer a member"):
        projects.remove_member(by=as_alice, membership=stale)
    assert [what for _, _, what in entries()] == [
        "zoe as viewer",
        "zoe: viewer to editor",
        "zoe: editor to owner",
        "zoe",
    ]


def test_a_stored_secret_leaves_the_plan_and_not_itself(as_alice, project):
    plan = make_plan(project, "checkout").plan
    for secret in ("correct horse", None, ""):
        projects.keep_secret(by=as_alice, plan=plan, secret=secret)
    what = f"plan {plan.pk}: checkout"
    assert entries() == [("secret_stored", "alice", what), ("secret_deleted", "alice", what)]
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
    assert entries() == [
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
    assert entries()[-1] == ("blocks_added", "bob", f"campaign {campaign.pk}: nightly, 2 blocks")


def test_load_of_the_installation_by_a_person_and_from_a_shell(as_adam):
    load_control.stop_all_load(by=as_adam)
    load_control.allow_load(by=as_adam)
    load_control.drain_from_console()
    load_control.allow_load_from_console()
    load_control.stop_all_load_from_console()
    assert entries() == [
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
    assert entries() == []


@pytest.mark.parametrize("change", [lambda rows: rows.update(who="nobody"), QuerySet.delete])
def test_the_database_refuses_to_change_or_delete_an_entry(as_alice, change):
    tokens.create_token(by=as_alice, name="nightly", scope="run", days=30)
    with pytest.raises(DatabaseError, match="never changed or deleted"), transaction.atomic():
        change(AuditEntry.objects.all())
    assert entries()[0][1] == "alice"


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


MODELS = apps.get_app_config("campaigns").get_models(include_auto_created=True)
# (model, name of the field, the model it refers to) of all whose rows go with what they refer to.
REFERENCES = [
    (model, field.name, field.related_model)
    for model in MODELS
    for field in model._meta.concrete_fields
    if field.is_relation and field.remote_field.on_delete is not SET_NULL
]


def reaching(root: type[Model]) -> set[type[Model]]:
    """The models whose rows belong, over however many references, to a row of `root`."""
    models = {root}
    while more := {model for model, _, to in REFERENCES if to in models} - models:
        models |= more
    return models


def belonging_to(row: Model) -> dict[type[Model], set]:
    """The keys of all rows that belong to this one, by model, itself included."""
    keys_by_model = defaultdict(set, {type(row): {row.pk}})
    n_before = 0
    while n_before != (n_before := sum(map(len, keys_by_model.values()))):
        for model, name, to in REFERENCES:
            rows = model._base_manager.filter(**{f"{name}__in": keys_by_model[to]})
            keys_by_model[model] |= set(rows.values_list("pk", flat=True))
    return {model: keys for model, keys in keys_by_model.items() if keys}


@pytest.fixture
def world():
    """One of everything, with all campaigns at their end."""
    rows = make_world().rows
    run = rows["run"]
    RunUse.objects.get_or_create(run=run, defaults={"project": rows["project"]})
    PlanSecret.objects.create(plan=rows["plan"], ciphertext="x")
    StoredBody.objects.create(project=rows["project"], sha256="0" * 64, data=b"")
    Probe.objects.create(endpoint=rows["endpoint"], campaign=rows["campaign"], request={})
    RunEvent.objects.create(run=run, kind="run_done")
    KeptMinute.objects.create(run=run, minute=0, step=0, packed=b"")
    Round.objects.create(run=run, number=0, line={})
    RequestsOfShard.objects.create(run=run, shard=0, packed=b"")
    RunProfile.objects.create(run=run, source="shop-1", data={})
    texts = {"request": "GET /", "reply": "", "detail": ""}
    FailureExample.objects.create(
        run=run, shard=0, second=0, step=0, kind="status", status=500, at_us=1, **texts
    )
    Search.objects.create(
        campaign=rows["campaign"],
        start_per_s=1,
        limit_per_s=9,
        trial_s=5,
        deadline=timezone.now(),
        ending="stopped",
    )
    # A baseline that was replaced; the runs of a current one are not deleted.
    Baseline.objects.update(replaced_at=timezone.now())
    Campaign.objects.update(finished_at=timezone.now())
    return rows


@pytest.mark.parametrize("noun", ["campaign", "project"])
def test_nothing_that_belongs_to_it_is_left(world, noun):
    row = world[noun]
    others = Campaign.objects.exclude(pk=world["campaign"].pk).count()
    before = belonging_to(row)
    assert reaching(type(row)) == before.keys(), "the world has a row of each"
    owner = Actor(world["project"].memberships.get(role="owner").user)
    delete_items(by=owner, items=[row])
    purge_items(by=owner, items=[row])
    left = {
        model: keys
        for model, keys_before in before.items()
        if (keys := keys_before & set(model._base_manager.values_list("pk", flat=True)))
    }
    assert left == {}
    assert Campaign.objects.count() == (others if noun == "campaign" else 0)
    assert Project.objects.filter(name="Charlie's own").exists()
