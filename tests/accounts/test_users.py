"""*Users*: what administrators do with accounts, and what becomes of whoever is disabled."""

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.core.cache import cache
from django.urls import reverse

from campaigns.accounts.services import (
    create_account,
    make_reset_link,
    set_active,
    set_administrator,
)
from campaigns.accounts.tokens import create_token
from campaigns.core.permissions import Actor, Scope
from campaigns.domain.errors import Forbidden, InvalidFields, Refused
from campaigns.models import AuditEntry
from tests.accounts.scenes import add_app
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def adam(client, as_adam):
    """Signed in: the only administrator."""
    cache.clear()
    client.force_login(as_adam.user)
    return as_adam


def act(client, user: User, do: str):
    return client.post(reverse("user-action", args=[user.pk]), {"do": do})


def path_of(link: str) -> str:
    return link.removeprefix("http://testserver")


def test_a_new_user_sets_a_password_by_the_link_that_is_shown_once(client, adam):
    fields = {"username": "zoe", "name": "Zoë Zimmer", "email": "zoe@shop.example"}
    link = client.post(reverse("user-new"), fields).context["link"]
    detail = reverse("user-detail", args=[User.objects.get(username="zoe").pk])
    assert link not in client.get(detail).content.decode()
    visitor = type(client)()
    page = visitor.get(path_of(link), follow=True)
    passwords = {"password1": "quiet-Harbour-42", "password2": "quiet-Harbour-42"}
    visitor.post(page.request["PATH_INFO"], passwords)
    signed_in = {"username": "zoe", "password": "quiet-Harbour-42"}
    assert visitor.post(reverse("account_login"), signed_in).status_code == 302
    assert type(client)().get(path_of(link), follow=True).status_code == 404


def test_a_name_that_is_taken_is_refused_whatever_its_case(as_adam, alice):
    with pytest.raises(InvalidFields):
        create_account(by=as_adam, username="Alice")


def test_an_address_belongs_to_one_account(as_adam):
    first = create_account(by=as_adam, username="zoe", email="zoe@shop.example")
    with pytest.raises(InvalidFields) as refusal:
        create_account(by=as_adam, username="zoe2", email="ZOE@shop.example")
    assert set(refusal.value.errors) == {"email"}
    assert not first.is_superuser
    options = {"username": "root2", "is_administrator": True}
    assert User.objects.get(pk=create_account(by=as_adam, **options).pk).is_superuser


def test_a_disabled_account_gets_no_reset_link(as_adam, bob):
    set_active(by=as_adam, user=bob, is_active=False)
    set_active(by=as_adam, user=bob, is_active=False)  # which changes nothing more
    assert AuditEntry.objects.filter(deed="account_disabled").count() == 1
    bob.refresh_from_db()
    with pytest.raises(Refused):
        make_reset_link(by=as_adam, user=bob)


def test_only_administrators_change_users(as_alice, bob):
    with pytest.raises(Forbidden):
        create_account(by=as_alice, username="zoe")
    with pytest.raises(Forbidden):
        set_active(by=as_alice, user=bob, is_active=False)


def test_a_disabled_account_has_no_session_token_or_sign_in(client, adam, alice, settings):
    session, program = type(client)(), type(client)()
    session.force_login(alice)
    _, token = create_token(by=Actor(user=alice), name="job", scope=Scope.READ, days=1)
    headers = {"Authorization": f"Bearer {token}"}
    assert program.get("/api/v1/projects/", headers=headers).status_code == 200
    act(client, alice, "disable")
    assert session.get(reverse("profile")).status_code == 302
    assert program.get("/api/v1/projects/", headers=headers).status_code == 401
    fields = {"username": "alice", "password": "pw"}
    assert session.post(reverse("account_login"), fields).status_code == 200
    act(client, alice, "enable")
    assert session.get(reverse("profile")).status_code == 302  # it ended for good
    assert program.get("/api/v1/projects/", headers=headers).status_code == 200
    deeds = AuditEntry.objects.filter(what="alice").values_list("deed", flat=True)
    assert list(deeds) == ["account_enabled", "account_disabled"]


def test_the_last_administrator_stays_one(client, adam):
    for do in ("disable", "demote"):
        act(client, adam.user, do)
        adam.user.refresh_from_db()
        assert adam.user.is_active
        assert adam.user.is_superuser
    make_user("eve", is_superuser=True, is_active=False)  # does not count
    with pytest.raises(Refused, match="only administrator"):
        set_administrator(by=adam, user=adam.user, is_administrator=False)


def test_one_of_two_administrators_may_go(adam, alice):
    set_administrator(by=adam, user=alice, is_administrator=True)
    alice.refresh_from_db()
    set_administrator(by=Actor(user=alice), user=adam.user, is_administrator=False)
    assert list(User.objects.filter(is_superuser=True)) == [alice]


def test_a_lost_second_factor_is_removed(client, adam, alice):
    add_app(alice)
    act(client, alice, "unlock")
    assert not Authenticator.objects.exists()
    signed_in = type(client)().post(
        reverse("account_login"), {"username": "alice", "password": "pw"}
    )
    assert signed_in.url == reverse("project-list")
    assert AuditEntry.objects.filter(who="adam", deed="sign_in_removed").exists()


def test_a_reset_link_unlocks_the_name(client, adam, alice, settings):
    tab = type(client)()
    fields = {"username": "alice", "password": "wrong"}
    for _ in range(settings.AXES_FAILURE_LIMIT):
        answer = tab.post(reverse("account_login"), fields)
    assert answer.status_code == 429
    act(client, alice, "link")
    right = tab.post(reverse("account_login"), fields | {"password": "pw"})
    assert right.status_code == 302


def test_the_list_finds_people_and_says_how_they_sign_in(client, adam, alice, bob):
    User.objects.filter(pk=alice.pk).update(first_name="Alice Adams")
    add_app(alice)
    set_active(by=adam, user=bob, is_active=False)

    def ways_of(query: str):
        rows = client.get(reverse("user-list") + query).context["rows"]
        return {row.username: row.ways for row in rows}

    assert ways_of("?search=adams") == {"alice": "password and authenticator app"}
    assert set(ways_of("?state=disabled")) == {"bob"}
    assert set(ways_of("?state=administrators")) == {"adam"}


def test_a_display_name_stands_in_for_the_user_name(client, adam, alice, project):
    User.objects.filter(pk=alice.pk).update(first_name="Alice Adams")
    client.force_login(alice)
    page = client.get(reverse("project-members", args=[project.pk])).content.decode()
    assert "Alice Adams" in page
