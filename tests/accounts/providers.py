"""A real OpenID Connect provider of its own process, and settings that name it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.setup import node_dir

SCRIPT = Path(__file__).with_name("oidc_provider.mjs")
CALLBACK = "/login/oidc/callback/"


@contextmanager
def provider_for(site: str) -> Iterator[str]:
    """Its issuer; `site` is where it sends people back to."""
    process = subprocess.Popen(
        [node_dir() / "node", SCRIPT, f"{site}{CALLBACK}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # it warns that it is for tests only
        text=True,
    )
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(20)


def use_provider(settings, issuer: str, *, trusts_email: bool = False) -> None:
    app = {
        "provider_id": settings.OIDC_KEY,
        "name": "Shop SSO",
        "client_id": "benchsite",
        "secret": "secret",
        "settings": {"server_url": issuer, "email_authentication": trusts_email},
    }
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}
    }
    settings.OIDC_DOMAINS = ["shop.example"]
