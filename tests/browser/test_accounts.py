"""Accounts in Chromium: an invitation, a passkey of a virtual authenticator, and a provider. The
Content-Security-Policy lets no form redirect to it."""

import re

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import expect

from campaigns.core.permissions import Role
from tests.accounts.providers import provider_for, use_provider
from tests.browser.installation import enter

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "quiet-Harbour-42"


def add_authenticator(tab) -> None:
    """A device that keeps passkeys, and whose owner touches it at once."""
    session = tab.context.new_cdp_session(tab)
    session.send("WebAuthn.enable")
    device = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": device})


def watch(tab) -> list[str]:
    """What the browser complains about on our pages."""
    faults: list[str] = []

    def note(line) -> None:
        if line.type == "error" and "//localhost" in line.location["url"]:
            faults.append(line.text)

    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("console", note)
    return faults


def test_an_invited_person_joins_and_signs_in_by_passkey(served_tab, project, alice):
    tab, faults = served_tab, watch(served_tab)
    enter(tab, "alice")
    tab.goto(reverse("project-members", args=[project.pk]))
    tab.get_by_label("E-mail address").fill("lena@shop.example")
    tab.get_by_role("button", name="Make a link").click()
    link = tab.locator("#link").inner_text()
    tab.context.clear_cookies()

    add_authenticator(tab)
    tab.goto(link)
    tab.get_by_label("User name").fill("lena")
    tab.get_by_label("Display name").fill("Lena Lund")
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Create account and join").click()
    tab.wait_for_url(f"**{reverse('campaign-list', args=[project.pk])}")
    assert project.memberships.get(user__username="lena").role == Role.EDITOR

    tab.goto(reverse("profile"))
    tab.get_by_role("link", name="Add a passkey").click()
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Continue").click()
    tab.get_by_role("button", name="Create passkey").click()
    expect(tab.get_by_role("heading", name="Recovery codes")).to_be_visible()
    assert Authenticator.objects.filter(type="webauthn", user__username="lena").exists()

    tab.get_by_text("Lena Lund").click()
    tab.get_by_role("button", name="Sign out").click()
    tab.get_by_role("button", name="Use a passkey").click()
    tab.wait_for_url(lambda url: "/login/" not in url)
    expect(tab.get_by_text("Lena Lund")).to_be_visible()

    # A password alone no longer signs in: the passkey is asked for.
    tab.context.clear_cookies()
    tab.goto(reverse("account_login"))
    tab.get_by_label("User name").fill("lena")
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Sign in").click()
    tab.wait_for_url(f"**{reverse('mfa_authenticate')}")
    tab.get_by_role("button", name="Use a passkey").click()
    tab.wait_for_url(lambda url: "/login/" not in url)
    assert faults == []


def test_the_provider_s_button_leads_there_and_back(served_tab, live_server, settings):
    tab, faults = served_tab, watch(served_tab)
    with provider_for(live_server.url) as issuer:
        use_provider(settings, issuer)
        tab.goto(reverse("account_login"))
        tab.get_by_role("button", name="Continue with Shop SSO").click()
        tab.wait_for_url(re.compile(f"^{issuer}"))
        tab.locator("[name=login]").fill("lena@shop.example")
        tab.locator("[name=password]").fill("any")
        tab.locator("[type=submit]").click()
        tab.locator("[name=prompt][value=consent]").wait_for(state="attached")
        tab.locator("[type=submit]").click()
        tab.wait_for_url(f"{live_server.url}/**")
        expect(tab.get_by_text("lena of SSO")).to_be_visible()
    assert User.objects.get().username == "lena"
    assert faults == []
