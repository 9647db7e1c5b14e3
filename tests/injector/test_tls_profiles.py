"""TLS profiles: what a real OpenSSL server agrees on with each, and what is counted of it."""

from functools import cache

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding

from campaigns.domain.measured.outcomes import Kind
from campaigns.domain.plan.tls_options import PROFILES
from tests.injector.authority import authority, issue
from tests.injector.openssl_server import OpenSslServer
from tests.injector.servers import OK_REPLY, always, closed, measure, scripted

HYBRID = "X25519MLKEM768"
# What TLS 1.3 with AES-GCM adds to a record: its head, the kind of its content, the tag.
RECORD_BYTES = 5 + 1 + 16


@cache
def ecdsa():
    return issue(authority())


@cache
def with_rsa():
    return issue(authority(), key=rsa.generate_private_key(65537, key_size=2048))


def agreed(server_tls, *, mode="new", requests=3, **tls):
    """The handshakes of a run."""
    return measured(server_tls, mode=mode, requests=requests, **tls).ends[0].tls


def measured(server_tls, *, mode="new", requests=3, **tls):
    with scripted(always(OK_REPLY), server_tls) as server:
        result = measure(server.port, scheme="https", mode=mode, load=closed(requests), tls=tls)
    assert result.total.errors == {}
    return result


@pytest.mark.parametrize(
    ("profile", "version", "cipher", "group", "certificate"),
    [
        ("", "TLSv1.3", "TLS_AES_256_GCM_SHA384", HYBRID, "ECDSA secp256r1"),
        ("browser", "TLSv1.3", "TLS_AES_128_GCM_SHA256", HYBRID, "ECDSA secp256r1"),
        ("tls12", "TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384", "X25519", "ECDSA secp256r1"),
        ("classical", "TLSv1.3", "TLS_AES_256_GCM_SHA384", "X25519", "ECDSA secp256r1"),
        ("ecdsa", "TLSv1.3", "TLS_AES_256_GCM_SHA384", HYBRID, "ECDSA secp256r1"),
        ("rsa", "TLSv1.3", "TLS_AES_256_GCM_SHA384", HYBRID, "RSA 2048"),
    ],
)
def test_each_profile_is_agreed_on(profile, version, cipher, group, certificate):
    (found,) = agreed(OpenSslServer(ecdsa(), with_rsa()), profile=profile)
    assert (found.version, found.cipher, found.group, found.certificate, found.count) == (
        version, cipher, group, certificate, 3,
    )  # fmt: skip


def test_all_profiles_are_in_this_table():
    (table,) = (mark.args[1] for mark in test_each_profile_is_agreed_on.pytestmark if mark.args)
    assert {row[0] for row in table} == PROFILES.keys()


@pytest.mark.parametrize("profile", ["browser", "rsa"])
def test_a_profile_also_holds_with_tls_1_2(profile):
    (found,) = agreed(OpenSslServer(ecdsa(), with_rsa()), profile=profile, max_version="1.2")
    words = {"browser": "ECDHE-ECDSA-AES128-GCM-SHA256", "rsa": "ECDHE-RSA-AES256-GCM-SHA384"}
    assert (found.version, found.cipher) == ("TLSv1.2", words[profile])


def test_a_server_without_the_certificate_of_a_profile_fails_the_handshake():
    with scripted(always(OK_REPLY), OpenSslServer(ecdsa())) as server:
        tls = {"profile": "rsa"}
        result = measure(server.port, scheme="https", load=closed(2), tls=tls)
    assert result.total.errors == {Kind.TLS_HANDSHAKE: 2}


@pytest.mark.parametrize(
    ("options", "group", "cipher"),
    [
        ({"groups": "P-384"}, "P-384", "TLS_AES_256_GCM_SHA384"),
        ({"groups": "SecP256r1MLKEM768:X25519"}, "SecP256r1MLKEM768", "TLS_AES_256_GCM_SHA384"),
        (
            {"ciphersuites": "TLS_CHACHA20_POLY1305_SHA256"}, HYBRID,
            "TLS_CHACHA20_POLY1305_SHA256",
        ),
        ({"profile": "classical", "groups": "P-521"}, "P-521", "TLS_AES_256_GCM_SHA384"),
    ],
)  # fmt: skip
def test_an_option_of_its_own_replaces_what_the_profile_says(options, group, cipher):
    (found,) = agreed(OpenSslServer(ecdsa()), **options)
    assert (found.group, found.cipher) == (group, cipher)


def test_the_bytes_of_a_handshake_are_those_that_the_server_received():
    server_tls = OpenSslServer(ecdsa())
    result = measured(server_tls)
    (found,) = result.ends[0].tls
    requests = result.total.count("bytes_sent") + found.count * RECORD_BYTES
    assert found.bytes_sent + requests == sum(server_tls.received_bytes)
    chain = [each.certificate for each in (ecdsa(), authority())]
    assert found.chain_bytes == sum(len(each.public_bytes(Encoding.DER)) for each in chain)
    assert found.bytes_received > 3 * found.chain_bytes


def test_a_hybrid_key_exchange_sends_a_kilobyte_more_each_way():
    (hybrid,) = agreed(OpenSslServer(ecdsa()), requests=1)
    (classical,) = agreed(OpenSslServer(ecdsa()), requests=1, profile="classical")
    # FIPS 203: a key of ML-KEM-768 has 1,184 bytes and its answer 1,088.
    assert 1184 <= hybrid.bytes_sent - classical.bytes_sent <= 1250
    # The server says which groups it knows if it would have preferred another one.
    assert 1000 <= hybrid.bytes_received - classical.bytes_received <= 1100


def test_a_resumed_handshake_has_no_certificate_and_fewer_bytes():
    full, resumed = sorted(
        agreed(OpenSslServer(ecdsa()), mode="resumed", requests=10), key=lambda each: each.resumed
    )
    assert (full.count, resumed.count) == (1, 9)
    assert (resumed.certificate, resumed.chain_bytes) == (None, None)
    assert resumed.bytes_received / 9 < full.bytes_received - full.chain_bytes + 100
