"""Clients of the API: somebody signed in, or somebody's program with a token."""

import pytest
from django.core.cache import cache
from rest_framework.test import APIClient

from campaigns.accounts.tokens import create_token
from campaigns.core.permissions import Actor, Scope


@pytest.fixture(autouse=True)
def _no_failures_counted_before():
    cache.clear()


def client_of(user) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


def token_client(user, scope=Scope.WRITE) -> APIClient:
    _, text = create_token(by=Actor(user=user), name=f"{scope} job", scope=scope, days=1)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


@pytest.fixture
def api(alice):
    """Alice's program, which may write."""
    return token_client(alice)


@pytest.fixture
def post_to(client, bob):
    """Bob's browser sends JSON to an address of the API."""
    client.force_login(bob)

    def post(path, **body):
        return client.post(f"/api/v1/{path}", body, content_type="application/json")

    return post
