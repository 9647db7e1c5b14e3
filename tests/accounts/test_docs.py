"""The example of docs/users-and-roles.md, with a real provider."""

import os
import re
import shlex
from unittest import mock

import pytest
from django.conf import settings as django_settings
from django.urls import reverse

from benchsite.env import env_list, env_oidc
from campaigns.accounts.services import invite
from tests.accounts.providers import CALLBACK, provider_for
from tests.accounts.test_provider import sign_in_as, signed_in

pytestmark = pytest.mark.django_db
GUIDE = (django_settings.BASE_DIR / "docs" / "users-and-roles.md").read_text()


def test_the_settings_of_the_guide_let_a_colleague_in(client, settings, as_alice, project):
    assert f"https://bench.shop.example{CALLBACK}" in GUIDE
    (example,) = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    lines = dict(each.split("=", 1) for each in shlex.split(example))
    with provider_for("http://testserver") as issuer:
        lines["BENCHSITE_OIDC_ISSUER"] = issuer
        with mock.patch.dict(os.environ, lines):
            provider = {"OAUTH_PKCE_ENABLED": True, **env_oidc(settings.OIDC_KEY, False)}
            settings.OIDC_DOMAINS = env_list("BENCHSITE_OIDC_DOMAINS")
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": provider}
        page = client.get(reverse("account_login")).content.decode()
        assert "Continue with Shop SSO" in page
        sign_in_as(client, "ada@shop.example")
    assert signed_in(client) == "ada"
    _, link = invite(by=as_alice, project=project, role="viewer")
    client.post(reverse("invitation-accept", args=[link]))
    assert project.memberships.filter(user__username="ada").exists()
