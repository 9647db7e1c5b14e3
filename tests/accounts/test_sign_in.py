"""The second step, a forgotten password, addresses that are confirmed, and when somebody was here.

Passwords and locked names are in tests/accounts/test_accounts.py."""

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from django.http import StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone

from campaigns.accounts.adapter import LastSeenMiddleware
from campaigns.accounts.models import LastSeen
from campaigns.models import AuditEntry
from campaigns.projects.services import rotate_secrets
from tests.accounts.scenes import (
    SECRET,
    add_app,
    code_now,
    link_in,
    stored_secret,
    wrong_code,
)
from tests.factories import make_user
from tests.notifications.receivers import smtp_receiver, use_mail

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_was_tried():
    cache.clear()


@pytest.fixture
def mails(settings):
    """A real mail server's, and a site that uses it."""
    with smtp_receiver() as (port, mailbox):
        use_mail(settings, port)
        yield mailbox


def password_of(client, **more):
    fields = {"username": "alice", "password": "pw"} | more
    return client.post(reverse("account_login"), fields)


def enter_code(client, code: str):
    return client.post(reverse("mfa_authenticate"), {"code": code})


def is_signed_in(client) -> bool:
    return client.get(reverse("profile")).status_code == 200


def test_an_account_with_an_app_needs_its_code_after_the_password(client, alice):
    add_app(alice)
    where = reverse("storage")
    assert password_of(client, next=where).url.startswith(reverse("mfa_authenticate"))
    assert not is_signed_in(client)
    assert enter_code(client, wrong_code()).status_code == 200
    assert enter_code(client, code_now()).url == where
    assert is_signed_in(client)


def test_the_site_for_staff_is_no_way_round_the_code(client):
    add_app(make_user("ruth", is_staff=True, is_superuser=True))
    client.post(reverse("admin:login"), {"username": "ruth", "password": "pw"})
    assert not is_signed_in(client)


def test_a_code_and_a_recovery_code_work_once(client, alice):
    add_app(alice)
    recovery = Authenticator.objects.get(user=alice, type="recovery_codes")
    for code in (code_now(), recovery.wrap().get_unused_codes()[0]):
        for works in (True, False):
            client.logout()
            password_of(client)
            enter_code(client, code)
            assert is_signed_in(client) == works


def test_wrong_codes_lock_the_name_as_wrong_passwords_do(client, alice, settings):
    add_app(alice)
    password_of(client)
    answers = [enter_code(client, wrong_code()) for _ in range(settings.AXES_FAILURE_LIMIT)]
    assert answers[-1].status_code == 429
    cache.clear()  # allauth's own limit, which each web process has for itself
    enter_code(client, code_now())
    assert not is_signed_in(client)
    assert password_of(type(client)()).status_code == 429


def test_secrets_of_factors_are_encrypted(alice):
    app = add_app(alice)
    rows = Authenticator.objects.filter(user=alice).values_list("data", flat=True)
    assert SECRET not in str(list(rows))
    assert stored_secret(app) == SECRET


def test_secrets_of_factors_move_to_a_new_key(alice, settings):
    app, old = add_app(alice), settings.VAULT_KEYS
    settings.VAULT_KEYS = ["n" * 40, *old]
    assert rotate_secrets() == 2
    settings.VAULT_KEYS = ["n" * 40]
    app.refresh_from_db()
    assert stored_secret(app) == SECRET
    assert Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes()


def test_who_adds_a_factor_confirms_the_password_first(client, alice):
    client.force_login(alice)
    where = client.get(reverse("mfa_activate_totp")).url
    assert client.post(where, {"password": "wrong"}).status_code == 200
    back = client.post(where, {"password": "pw"}).url
    secret = client.get(back).context["form"].secret
    assert client.post(back, {"code": "1"}).status_code == 200
    codes = client.post(back, {"code": code_now(secret)}, follow=True)
    assert len(codes.context["unused_codes"]) == 10
    ways = AuditEntry.objects.filter(deed="sign_in_added", who="alice").values_list(
        "what", flat=True
    )
    assert "TOTP Authenticator" in ways


def test_a_forgotten_password_is_set_by_a_link_that_works_once(client, alice, mails):
    type(alice).objects.filter(pk=alice.pk).update(email="alice@shop.example")
    answer = client.post(reverse("account_reset_password"), {"email": "alice@shop.example"})
    (to, message) = mails[0]
    assert (answer.url, to) == (reverse("account_login"), ["alice@shop.example"])
    page = client.get(link_in(message), follow=True)
    passwords = {"password1": "quiet-Harbour-42", "password2": "quiet-Harbour-42"}
    assert client.post(page.request["PATH_INFO"], passwords).url == reverse("account_login")
    assert client.get(link_in(message), follow=True).status_code == 404
    assert password_of(client, password="quiet-Harbour-42").url == reverse("project-list")
    assert AuditEntry.objects.filter(deed="password_reset", who="alice").exists()


def test_an_address_that_no_account_has_gets_the_same_answer_and_no_mail(client, alice, mails):
    answer = client.post(reverse("account_reset_password"), {"email": "eve@shop.example"})
    assert answer.url == reverse("account_login")
    assert mails == []


def test_a_site_without_mail_says_who_helps(client, settings):
    settings.HAS_EMAIL = False
    page = client.get(reverse("account_reset_password")).content.decode()
    assert "<form" not in page
    answer = client.post(reverse("account_reset_password"), {"email": "a@b.example"})
    assert answer.status_code == 409


def test_a_mail_server_that_is_away_is_said(client, alice, settings):
    use_mail(settings, 9)
    type(alice).objects.filter(pk=alice.pk).update(email="alice@shop.example")
    answer = client.post(reverse("account_reset_password"), {"email": "alice@shop.example"})
    assert answer.status_code == 409


def test_another_address_counts_once_its_link_was_opened(client, alice, mails):
    client.force_login(alice)
    client.post(reverse("profile"), {"name": "Alice Adams", "email": "a.adams@shop.example"})
    alice.refresh_from_db()
    assert (alice.get_full_name(), alice.email) == ("Alice Adams", "")
    (_, message) = mails[0]
    assert client.get(link_in(message)).status_code == 200
    client.post(link_in(message))
    alice.refresh_from_db()
    assert alice.email == "a.adams@shop.example"
    assert EmailAddress.objects.get(user=alice).verified


def test_the_address_of_another_account_is_refused(client, alice, bob, settings):
    settings.HAS_EMAIL = False
    type(bob).objects.filter(pk=bob.pk).update(email="bob@shop.example")
    client.force_login(alice)
    answer = client.post(reverse("profile"), {"name": "Alice", "email": "bob@shop.example"})
    assert answer.status_code == 422
    alice.refresh_from_db()
    assert (alice.get_full_name(), alice.email) == ("", "")


def test_sign_out_everywhere_else_ends_other_sessions_only(client, alice, bob):
    others = [type(client)() for _ in range(2)]
    for each, user in zip([client, *others], (alice, alice, bob), strict=True):
        each.force_login(user)
    client.post(reverse("sessions-end"))
    assert [is_signed_in(each) for each in (client, *others)] == [True, False, True]


def test_it_is_noted_when_somebody_was_here(client, alice):
    client.force_login(alice)
    before = timezone.now()
    client.get(reverse("profile"))
    at = LastSeen.objects.get(user=alice).at
    assert at >= before
    client.get(reverse("profile"))
    assert LastSeen.objects.get(user=alice).at == at  # not at each request


def test_a_stream_takes_no_connection_for_that(rf, alice):
    request = rf.get("/")
    request._cached_user = alice
    LastSeenMiddleware(lambda _: StreamingHttpResponse())(request)
    assert not LastSeen.objects.exists()


def test_who_asks_for_links_too_often_gets_our_page(client, settings):
    settings.HAS_EMAIL = True
    answers = (
        client.post(reverse("account_reset_password"), {"email": "eve@shop.example"})
        for _ in range(7)
    )
    last = list(answers)[-1]
    assert last.status_code == 429
    assert "You asked too often" in last.content.decode()
