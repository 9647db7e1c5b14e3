"""Who gets in: by tokens, by share links, as a member of a project."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.accounts.tokens import (
    authenticate_token,
    create_share,
    create_token,
    open_share,
    revoke_all_tokens,
    revoke_share,
    revoke_token,
)
from campaigns.core.permissions import Actor, Role, Scope
from campaigns.domain.errors import Forbidden, Refused
from campaigns.models import ApiToken, AuditEntry, Campaign, Membership, Run, ShareLink
from campaigns.operations.models import AuditEvent
from campaigns.projects.services import add_member, change_role, create_project, remove_member
from tests.factories import make_campaign, make_project, make_run, make_test, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def new_token(as_alice):
    return create_token(by=as_alice, name="nightly job", scope=Scope.READ, days=30)


def row_as_text(row) -> str:
    return repr(type(row).objects.filter(pk=row.pk).values().get())


def test_it_makes_a_token_that_secret_scanners_recognise(new_token):
    _, text = new_token
    assert re.fullmatch(r"bs_pat_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", text)


def test_the_database_holds_neither_the_text_nor_its_secret(new_token):
    token, text = new_token
    secret = text.removeprefix(f"bs_pat_{token.lookup}_")
    assert text not in row_as_text(token)
    assert secret not in row_as_text(token)
    assert re.fullmatch(r"[0-9a-f]{64}", token.token_hash)


def test_the_hash_depends_on_the_pepper(new_token, settings):
    _, text = new_token
    settings.TOKEN_PEPPER = "another pepper"
    assert authenticate_token(text=text) is None


def test_it_recognises_no_other_text(new_token):
    for change in ["secret", "lookup", "prefix", "nothing", "unicode"]:
        token, text = new_token
        other = {
            "secret": text[:-1] + ("A" if text[-1] != "A" else "B"),
            "lookup": text.replace(token.lookup, "0" * 16),
            "prefix": text.removeprefix("bs_pat_"),
            "nothing": "",
            "unicode": text + "ü\x00",
        }[change]
        assert authenticate_token(text=other) is None


def test_an_expired_token_is_dead(new_token):
    token, text = new_token
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now())
    assert authenticate_token(text=text) is None


def test_a_revoked_token_is_dead_at_once_and_stays_so(new_token, as_alice):
    token, text = new_token
    revoke_token(by=as_alice, token=token)
    assert authenticate_token(text=text) is None
    first = ApiToken.objects.get(pk=token.pk).revoked_at
    revoke_token(by=as_alice, token=token)
    assert ApiToken.objects.get(pk=token.pk).revoked_at == first


def test_the_token_of_an_inactive_user_is_dead(new_token, alice):
    _, text = new_token
    alice.is_active = False
    alice.save()
    assert authenticate_token(text=text) is None


def test_use_is_noted_at_most_once_a_minute(new_token):
    token, text = new_token
    authenticate_token(text=text)
    first = ApiToken.objects.get(pk=token.pk).last_used_at
    assert first is not None
    authenticate_token(text=text)
    assert ApiToken.objects.get(pk=token.pk).last_used_at == first
    earlier = first - timedelta(seconds=61)
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=earlier)
    authenticate_token(text=text)
    assert ApiToken.objects.get(pk=token.pk).last_used_at > earlier


def test_it_refuses_a_token_out_of_bounds(as_alice):
    for wrong in [
        {"days": 0},
        {"days": 366},
        {"name": " "},
        {"name": "x" * 101},
        {"scope": "root"},
    ]:
        with pytest.raises(Refused):
            create_token(by=as_alice, **{"name": "job", "scope": "read", "days": 30, **wrong})


def test_a_token_makes_and_revokes_no_token(new_token, alice):
    token, _ = new_token
    by_token = Actor(user=alice, token=token)
    with pytest.raises(Forbidden):
        create_token(by=by_token, name="successor", scope="read", days=1)
    with pytest.raises(Forbidden):
        revoke_token(by=by_token, token=token)


def test_to_revoke_all_where_none_is_live_leaves_no_note(new_token, as_alice):
    assert revoke_all_tokens(by=as_alice) == 1
    assert revoke_all_tokens(by=as_alice) == 0
    assert AuditEntry.objects.filter(deed=AuditEvent.TOKEN_REVOKED).count() == 1


@pytest.fixture
def link(as_bob, project, campaign):
    return create_share(by=as_bob, project=project, campaign=campaign, days=30, note="for Mia")


def test_the_token_has_256_bits_and_is_not_in_the_database(link):
    share, token = link
    assert len(token) == 43
    assert token not in repr(ShareLink.objects.filter(pk=share.pk).values().get())


def test_it_opens_with_its_token_and_counts_views_but_no_looks_whether_it_lives(link):
    share, token = link
    assert open_share(token=token) == open_share(token=token) == share
    assert open_share(token=token, counts_view=False) == share
    share.refresh_from_db()
    assert share.n_views == 2
    assert share.last_used_at is not None


def test_any_editor_revokes_a_link_and_it_is_dead_at_once(link, as_alice):
    share, token = link
    revoke_share(by=as_alice, share=share)
    assert open_share(token=token) is None


def test_a_link_sleeps_while_its_creator_may_not_share(link, bob, project):
    share, token = link
    membership = project.memberships.get(user=bob)
    membership.role = Role.VIEWER
    membership.save()
    assert open_share(token=token) is None
    membership.role = Role.EDITOR
    membership.save()
    assert open_share(token=token) == share
    membership.delete()
    assert open_share(token=token) is None


def test_a_link_dies_with_its_creators_account(link, bob):
    bob.delete()
    assert open_share(token=link[1]) is None


def test_a_campaigns_link_shows_that_campaign_and_no_run_page(link, project, campaign):
    run = make_run(make_test(campaign))
    make_campaign(project)
    visitor = Actor(share=link[0])
    assert list(Campaign.objects.visible_to(visitor)) == [campaign]
    assert run not in Run.objects.visible_to(visitor)


def test_a_runs_link_shows_that_run_only(as_bob, project, campaign):
    test = make_test(campaign)
    run, _ = make_run(test, repeat=1), make_run(test, repeat=2)
    share, _ = create_share(by=as_bob, project=project, run=run, days=1)
    visitor = Actor(share=share)
    assert list(Run.objects.visible_to(visitor)) == [run]
    assert not Campaign.objects.visible_to(visitor).exists()


@pytest.mark.parametrize("days", [0, 366])
def test_it_refuses_a_link_that_lives_too_long_or_not_at_all(as_bob, project, campaign, days):
    with pytest.raises(Refused, match="365"):
        create_share(by=as_bob, project=project, campaign=campaign, days=days)


def test_it_refuses_to_share_nothing_and_two_things(as_bob, project, campaign):
    run = make_run(make_test(campaign))
    for things in ({}, {"campaign": campaign, "run": run}):
        with pytest.raises(Refused, match="either"):
            create_share(by=as_bob, project=project, days=1, **things)


def test_it_refuses_to_share_what_belongs_to_another_project(as_bob, project):
    foreign = make_campaign(make_project())
    with pytest.raises(Refused, match="belongs to another project"):
        create_share(by=as_bob, project=project, campaign=foreign, days=1)
    with pytest.raises(Refused, match="belongs to another project"):
        create_share(by=as_bob, project=project, run=make_run(make_test(foreign)), days=1)


def test_a_link_is_revoked_once(link, as_alice, as_bob):
    share, _ = link
    revoke_share(by=as_alice, share=share)
    share.refresh_from_db()
    first = share.revoked_at
    revoke_share(by=as_bob, share=share)
    share.refresh_from_db()
    assert share.revoked_at == first
    assert AuditEntry.objects.filter(deed=AuditEvent.SHARE_REVOKED).count() == 1


def test_who_makes_a_project_owns_it(as_charlie, charlie):
    project = create_project(by=as_charlie, name="Shop")
    assert project.memberships.get().role == Role.OWNER
    assert project.memberships.get().user == charlie


def test_an_installation_may_leave_projects_to_its_administrators(as_charlie, settings):
    settings.PROJECTS_BY = "administrators"
    with pytest.raises(Forbidden, match="Only administrators create projects"):
        create_project(by=as_charlie, name="Shop")
    adam = Actor(user=make_user("adam", is_superuser=True))
    of_adam = Actor(user=adam.user, token=ApiToken(user=adam.user, scope=Scope.WRITE))
    with pytest.raises(Forbidden, match="Only administrators create projects"):
        create_project(by=of_adam, name="Shop")
    assert create_project(by=adam, name="Shop").memberships.get().user == adam.user


def test_an_owner_adds_a_member_by_name(project, as_alice, charlie):
    add_member(by=as_alice, project=project, username="charlie", role="operator")
    assert project.memberships.get(user=charlie).role == Role.OPERATOR


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nobody", "no account named nobody"),
        ("Charlie", "no account named Charlie"),
        ("gone", "no account named gone"),
        ("bob", "already a member"),
    ],
)
def test_only_an_account_that_is_no_member_becomes_one(
    name, words, project, as_alice, bob, charlie
):
    make_user("gone", is_active=False)
    with pytest.raises(Refused, match=words):
        add_member(by=as_alice, project=project, username=name, role="viewer")


def test_the_last_owner_stays(project, as_alice, alice):
    own = project.memberships.get(user=alice)
    with pytest.raises(Refused, match="only owner"):
        remove_member(by=as_alice, membership=own)
    with pytest.raises(Refused, match="only owner"):
        change_role(by=as_alice, membership=own, role="viewer")
    assert project.memberships.get(user=alice).role == Role.OWNER


def test_one_of_two_owners_may_leave(project, as_alice, alice, bob):
    change_role(by=as_alice, membership=project.memberships.get(user=bob), role="owner")
    remove_member(by=as_alice, membership=project.memberships.get(user=alice))
    assert not Membership.objects.filter(user=alice).exists()
