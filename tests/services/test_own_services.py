"""The installation's own servers are in every order as what is never dialled."""

import socket

import pytest

from campaigns.services import own_services
from campaigns.services.own_services import policy


@pytest.fixture(autouse=True)
def _nothing_is_remembered():
    forget()
    own_services._known.clear()
    yield
    forget()


def forget() -> None:
    """As after a minute."""
    own_services._own_services.cache_clear()


@pytest.fixture
def servers(settings):
    """Put the installation's servers elsewhere, without connecting to them."""

    def servers(database_url: str, redis_url: str, never=()):
        settings.DATABASE_URL, settings.REDIS_URL = database_url, redis_url
        settings.NEVER = list(never)
        return policy(["10.0.0.0/8"])

    return servers


def test_database_redis_and_what_is_listed_are_never_dialled(servers):
    told = servers(
        "postgres://me:secret@10.0.0.5/site",
        "redis://:secret@10.0.0.6:6380/0",
        [("10.0.0.7", 8000), ("::1", 80)],
    )
    assert told == {
        "allow": ["10.0.0.0/8"],
        "never": ["10.0.0.5:5432", "10.0.0.6:6380", "10.0.0.7:8000", "[::1]:80"],
    }


def test_a_name_is_looked_up(servers):
    assert (
        "127.0.0.1:6379"
        in servers("postgres://me@%2Frun%2Fpostgres:5432/site", "redis://localhost/0")["never"]
    )


def test_sockets_of_the_file_system_have_no_port(servers):
    assert servers("postgres://me@%2Frun%2Fpostgres:5432/site", "unix:///run/redis")["never"] == []


def test_a_name_that_nobody_knows_keeps_no_run_from_starting(servers):
    assert servers("postgres://me@no-such-host.invalid/site", "unix:///run/redis")["never"] == []


def test_while_no_name_server_answers_a_name_is_what_it_was_before(servers, monkeypatch):
    """Load to a literal address needs no name server."""
    servers("postgres://me@localhost/site", "unix:///run/redis")

    def away(*_, **__):
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", away)
    forget()
    assert "127.0.0.1:5432" in policy(["127.0.0.0/8"])["never"]
