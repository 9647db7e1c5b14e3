"""A certificate that is accepted by its fingerprint, and no other."""

import base64
from hashlib import sha256

import pytest

from tests.injector.authority import authority, issue, server_context
from tests.injector.servers import OK_REPLY, always, closed, measure, scripted
from workers.injector import probe
from workers.injector.order import Order


@pytest.fixture
def shown():
    return issue(authority())


@pytest.fixture
def https(shown):
    with scripted(always(OK_REPLY), server_context(shown)) as server:
        yield server


def fingerprint_of(issued) -> str:
    body = "".join(line for line in issued.pem.splitlines() if not line.startswith("-----"))
    return sha256(base64.b64decode(body)).hexdigest()


def answer_of(server, **endpoint) -> dict:
    """What a probe of this server says."""
    origin = {"scheme": "https", "host": "127.0.0.1", "port": server.port, **endpoint}
    order = {
        "protocol": 1,
        "probe": True,
        "step": {"method": "GET", "path": "/"},
        "endpoint": origin,
        "policy": {"allow": ["127.0.0.0/8"]},
    }
    return probe.run(Order.from_json(order))


@pytest.mark.parametrize("mode", ["new", "resumed", "keep-alive"])
def test_the_accepted_certificate_is_measured(https, shown, mode):
    tls = {"fingerprint": fingerprint_of(shown)}
    result = measure(
        https.port, scheme="https", mode=mode, verify_tls=True, load=closed(20), tls=tls
    )
    assert (result.total.count("ok"), result.total.errors) == (20, {})


def test_another_certificate_is_refused_before_anything_is_sent(https):
    tls = {"fingerprint": "ab" * 32}
    result = measure(https.port, scheme="https", mode="new", load=closed(3), tls=tls)
    assert result.total.errors == {"tls_fingerprint": 3}
    assert https.requests == []


def test_a_probe_shows_the_certificate_that_it_refuses_and_sends_nothing(https, shown):
    answer = answer_of(https)
    assert answer["error"] == "tls_unknown_issuer"
    der = base64.b64decode(answer["certificates_der_b64"][0])
    assert sha256(der).hexdigest() == fingerprint_of(shown)
    assert https.requests == []


def test_a_probe_takes_the_accepted_certificate(https, shown):
    answer = answer_of(https, tls={"fingerprint": fingerprint_of(shown)})
    assert (answer["status"], answer["error"]) == (200, None)


def test_a_probe_sends_credentials_with_its_secret():
    with scripted(always(OK_REPLY)) as server:
        order = {
            "protocol": 1,
            "probe": True,
            "step": {"method": "GET", "path": "/"},
            "auth": {"kind": "basic", "user": "ann"},
            "secrets": {"auth": "s3cret"},
            "endpoint": {"scheme": "http", "host": "127.0.0.1", "port": server.port},
            "policy": {"allow": ["127.0.0.0/8"]},
        }
        assert probe.run(Order.from_json(order))["status"] == 200
        assert f"Basic {base64.b64encode(b'ann:s3cret').decode()}" in str(server.requests)
