"""Invitations: who may make them, who they let in, and when their links are dead."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from campaigns.accounts.models import Invitation
from campaigns.accounts.services import (
    accept_invitation,
    find_invitation,
    invite,
    join,
    revoke_invitation,
)
from campaigns.core.permissions import Actor, Role
from campaigns.domain.errors import Forbidden, InvalidFields, Refused
from campaigns.models import AuditEntry, Membership
from tests.accounts.scenes import link_in
from tests.notifications.receivers import smtp_receiver, use_mail

pytestmark = pytest.mark.django_db
JOINED = {
    "username": "lena",
    "name": "Lena Lund",
    "email": "Lena@shop.example",
    "password": "quiet-Harbour-42",
}


@pytest.fixture
def link(as_alice, project):
    """The secret of an invitation of an editor."""
    return invite(by=as_alice, project=project, role="editor", email="lena@shop.example")[1]


def test_only_owners_invite(as_bob, project):
    with pytest.raises(Forbidden):
        invite(by=as_bob, project=project, role="viewer")


def test_a_link_makes_an_account_with_its_role_once(client, link, project):
    where = reverse("invitation-accept", args=[link])
    assert "lena@shop.example" in client.get(where).content.decode()
    home = client.post(where, JOINED)
    assert home.url == reverse("campaign-list", args=[project.pk])
    assert client.get(home.url).status_code == 200
    lena = User.objects.get(username="lena")
    assert (lena.get_full_name(), lena.email) == ("Lena Lund", "lena@shop.example")
    assert project.memberships.get(user=lena).role == Role.EDITOR
    assert type(client)().get(where).status_code == 404
    deeds = AuditEntry.objects.filter(who="lena").values_list("deed", flat=True)
    assert {"account_created", "invitation_accepted", "signed_in"} <= set(deeds)


def test_who_has_an_account_joins_with_it(client, link, project, charlie):
    client.force_login(charlie)
    client.post(reverse("invitation-accept", args=[link]))
    assert project.memberships.get(user=charlie).role == Role.EDITOR
    assert Invitation.objects.get().accepted_by == charlie


def test_a_member_keeps_the_role_and_the_link(link, as_vera, project):
    with pytest.raises(Refused, match="already"):
        accept_invitation(by=as_vera, secret=link)
    assert project.memberships.get(user=as_vera.user).role == Role.VIEWER
    assert find_invitation(link)


@pytest.mark.parametrize("name", ["alice", "ALICE"])
def test_a_name_that_is_taken_leaves_the_link_unused(name, link):
    with pytest.raises(InvalidFields, match="taken"):
        join(secret=link, username=name, password="quiet-Harbour-42")
    assert find_invitation(link)


def test_a_guessable_password_leaves_the_link_unused(client, link):
    fields = JOINED | {"password": "password"}
    answer = client.post(reverse("invitation-accept", args=[link]), fields)
    assert answer.status_code == 422
    assert not User.objects.filter(username="lena").exists()
    assert find_invitation(link)


def _revoke(invitation, as_alice):
    revoke_invitation(by=as_alice, invitation=invitation)


def _expire(invitation, as_alice):
    Invitation.objects.update(expires_at=timezone.now())


def _demote_inviter(invitation, as_alice):
    Membership.objects.filter(user=as_alice.user).update(role=Role.EDITOR)


def _disable_inviter(invitation, as_alice):
    User.objects.filter(pk=as_alice.user.pk).update(is_active=False)


def _archive(invitation, as_alice):
    type(invitation.project).objects.update(archived_at=timezone.now())


@pytest.mark.parametrize("end", [_revoke, _expire, _demote_inviter, _disable_inviter, _archive])
def test_a_dead_link_lets_nobody_in(end, client, link, as_alice, as_charlie):
    end(Invitation.objects.get(), as_alice)
    where = reverse("invitation-accept", args=[link])
    assert client.get(where).status_code == 404
    assert client.post(where, JOINED).status_code == 404
    with pytest.raises(Refused):
        accept_invitation(by=as_charlie, secret=link)
    assert not User.objects.filter(username="lena").exists()


def test_a_link_is_for_seven_days_and_stored_as_a_hash(link):
    invitation = Invitation.objects.get()
    left = invitation.expires_at - timezone.now()
    assert timedelta(days=6, hours=23) < left <= timedelta(days=7)
    assert link not in str(Invitation.objects.values().get())


def test_the_page_shows_the_link_once(client, alice, project, settings):
    settings.HAS_EMAIL = False
    client.force_login(alice)
    where = reverse("project-members", args=[project.pk])
    answer = client.post(where, {"do": "invite", "email": "", "role": "viewer"})
    link = answer.context["address"]
    assert link in answer.content.decode()
    assert link not in client.get(where).content.decode()
    assert find_invitation(link.rstrip("/").rpartition("/")[2]).role == Role.VIEWER


def test_the_link_is_sent_where_the_site_sends_mail(client, alice, project, settings):
    client.force_login(alice)
    where = reverse("project-members", args=[project.pk])
    fields = {"do": "invite", "email": "lena@shop.example", "role": "operator"}
    with smtp_receiver() as (port, mails):
        use_mail(settings, port)
        client.post(where, fields)
    ((to, message),) = mails
    assert to == ["lena@shop.example"]
    assert type(client)().get(link_in(message)).status_code == 200


def test_owners_read_in_the_log_who_invited_and_revoked(link, as_alice, project):
    revoke_invitation(by=as_alice, invitation=Invitation.objects.get())
    entries = AuditEntry.objects.visible_to(as_alice).filter(project=project.pk)
    assert list(entries.values_list("who", "deed", "what")) == [
        ("alice", deed, "invitation of lena@shop.example as editor")
        for deed in ("invitation_revoked", "invited")
    ]


def test_two_who_open_one_link_do_not_both_join(link, as_charlie, project):
    accept_invitation(by=as_charlie, secret=link)
    with pytest.raises(Refused):
        accept_invitation(by=Actor(user=User.objects.create_user("dave")), secret=link)
    assert project.memberships.count() == 4


def test_a_project_has_so_many_open_invitations_and_dead_ones_let_nobody_in(
    as_alice, as_bob, link, project, monkeypatch
):
    monkeypatch.setattr("campaigns.accounts.services.MOST_OPEN", 1)
    with pytest.raises(Refused):
        invite(by=as_alice, project=project, role="viewer")
    with pytest.raises(Forbidden):
        accept_invitation(by=Actor(), secret=link)
    revoke_invitation(by=as_alice, invitation=Invitation.objects.get())
    with pytest.raises(Refused):
        accept_invitation(by=as_bob, secret=link)
    with pytest.raises(Refused):
        join(secret=link, username="lena", password="quiet-Harbour-42")
