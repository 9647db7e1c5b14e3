"""Sign-in by OpenID Connect with a real provider: whom it lets in, and whose account it opens."""

import re

import pytest
import requests
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.urls import reverse

from campaigns.models import AuditEntry
from tests.accounts.providers import CALLBACK, provider_for, use_provider
from tests.accounts.scenes import add_app

pytestmark = pytest.mark.django_db
_ACTION = re.compile(r'<form[^>]* action="([^"]+)"')


@pytest.fixture(scope="module")
def issuer():
    with provider_for("http://testserver") as issuer:
        yield issuer


@pytest.fixture
def provider(issuer, settings):
    use_provider(settings, issuer)
    return issuer


def go_to_provider(client, **query: str) -> str:
    """The address to which the button leads."""
    return client.post(reverse("provider-login", query=query)).context["address"]


def come_back(client, address: str, email: str):
    """Sign in at the provider, agree to what it asks, and come back with what it sends."""
    browser = requests.Session()
    answer = browser.get(address, allow_redirects=False)
    for _ in range(12):
        if where := answer.headers.get("Location"):
            if CALLBACK in where:
                return client.get(where.removeprefix("http://testserver"))
            answer = browser.get(requests.compat.urljoin(answer.url, where), allow_redirects=False)
            continue
        prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)[1]
        fields = {"prompt": prompt, "login": email, "password": "any"}
        action = _ACTION.search(answer.text)[1]
        answer = browser.post(action, data=fields, allow_redirects=False)
    raise AssertionError(f"The provider does not lead back: {answer.status_code} {answer.text}")


def sign_in_as(client, email: str):
    return come_back(client, go_to_provider(client), email)


def signed_in(client) -> str:
    return client.get(reverse("profile")).wsgi_request.user.get_username()


def test_a_verified_address_of_the_domains_gets_an_account(client, provider):
    assert sign_in_as(client, "lena@shop.example").url == reverse("project-list")
    lena = User.objects.get()
    assert (lena.username, lena.get_full_name(), lena.email) == (
        "lena",
        "lena of SSO",
        "lena@shop.example",
    )
    assert not lena.has_usable_password()
    assert not lena.is_superuser
    again = type(client)()
    sign_in_as(again, "lena@shop.example")
    assert signed_in(again) == "lena"
    assert AuditEntry.objects.filter(who="lena", deed="account_created").count() == 1


def test_a_name_that_is_taken_gets_another_one(client, provider, alice):
    sign_in_as(client, "alice@shop.example")
    assert signed_in(client).startswith("alice")
    assert signed_in(client) != "alice"


@pytest.mark.parametrize("email", ["eve@elsewhere.example", "unverified@shop.example"])
def test_nobody_else_gets_an_account(email, client, provider):
    answer = sign_in_as(client, email)
    assert answer.status_code == 403
    assert not User.objects.exists()


@pytest.mark.parametrize("is_verified", [True, False])
def test_an_account_is_not_taken_over_by_its_address(is_verified, client, provider, alice):
    User.objects.update(email="alice@shop.example")
    EmailAddress.objects.create(user=alice, email="alice@shop.example", verified=is_verified)
    answer = sign_in_as(client, "alice@shop.example")
    assert answer.status_code == 403
    assert not SocialAccount.objects.exists()
    assert User.objects.count() == 1


def test_a_trusted_provider_signs_in_to_the_account_with_the_address(
    client, issuer, settings, alice
):
    use_provider(settings, issuer, trusts_email=True)
    User.objects.update(email="alice@shop.example")
    EmailAddress.objects.create(user=alice, email="alice@shop.example", verified=True)
    sign_in_as(client, "alice@shop.example")
    assert signed_in(client) == "alice"
    alice.refresh_from_db()
    assert alice.check_password("pw")


def test_an_address_that_an_account_only_claims_opens_it_to_nobody(client, issuer, settings, alice):
    use_provider(settings, issuer, trusts_email=True)
    User.objects.update(email="victim@shop.example")
    assert sign_in_as(client, "victim@shop.example").status_code == 403
    alice.refresh_from_db()
    assert alice.check_password("pw")


def test_a_trusted_provider_is_not_believed_about_what_it_has_not_verified(
    client, issuer, settings, alice
):
    use_provider(settings, issuer, trusts_email=True)
    User.objects.update(email="unverified@shop.example")
    assert sign_in_as(client, "unverified@shop.example").status_code == 403


def test_who_is_signed_in_connects_it_after_a_confirmation(client, provider, alice):
    client.force_login(alice)
    address = go_to_provider(client, process="connect")
    where = come_back(client, address, "someone@elsewhere.example").url
    assert where == reverse("account_reauthenticate")
    assert client.post(where, {"password": "pw"}).url == reverse("profile")
    assert SocialAccount.objects.get().user == alice
    elsewhere = type(client)()
    sign_in_as(elsewhere, "someone@elsewhere.example")
    assert signed_in(elsewhere) == "alice"


def test_the_second_step_and_a_disabled_account_hold_here_too(client, provider):
    sign_in_as(client, "lena@shop.example")
    add_app(User.objects.get())
    again = type(client)()
    assert sign_in_as(again, "lena@shop.example").url.startswith(reverse("mfa_authenticate"))
    User.objects.update(is_active=False)
    assert sign_in_as(type(client)(), "lena@shop.example").url == reverse("account_login")


def test_a_provider_that_is_away_is_said(client, settings):
    use_provider(settings, "http://127.0.0.1:9")
    answer = client.post(reverse("provider-login"))
    assert "Shop SSO did not sign you in" in answer.content.decode()
