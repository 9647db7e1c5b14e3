"""TLS: verified or not, resumed or not, closed properly or not; by profile and by fingerprint."""

import base64
import os
import socket
import ssl
from functools import cache
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding

from campaigns.domain.plan.tls_options import PROFILES
from tests.injector.authority import authority, issue, server_context
from tests.injector.openssl_server import OpenSslServer
from tests.injector.servers import OK_REPLY, always, closed, measure, probe_order, scripted
from workers.injector import attempt, probe
from workers.injector.order import Order

HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def https(server_tls):
    def start(script):
        return scripted(script, server_tls)

    return start


def close_raggedly(reply):
    """Send the reply, and with it the end of TCP without an end of TLS."""

    def script(sock, server):
        server.read_request(sock)
        # One segment has both: on a busy machine a next request could come between them.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        sock.sendall(reply)
        # Closing the descriptor underneath leaves TLS no chance to say goodbye.
        os.close(sock.detach())

    return script


def test_parts_of_a_new_tls_connection(https):
    with https(always(OK_REPLY)) as server:
        result = measure(server.port, scheme="https", mode="new", load=closed(10, 2))
    total = result.total
    assert (total.count("ok"), total.count("tls_full"), total.count("tls_resumed")) == (10, 10, 0)
    assert total.timing("tls").n == 10
    (tls,) = result.ends[0].tls
    assert (tls.version, tls.resumed, tls.count) == ("TLSv1.3", False, 10)
    assert tls.group == "X25519"
    assert result.ends[0].tls_library.startswith("OpenSSL ")
    assert result.ends[0].certificate_der_b64


def test_a_kept_tls_connection_has_one_handshake(https):
    with https(always(OK_REPLY)) as server:
        total = measure(server.port, scheme="https", load=closed(100)).total
    assert (total.count("ok"), total.timing("tls").n, server.n_connections) == (100, 1, 1)


def test_the_rest_of_a_record_is_read_at_once_by_who_has_been_busy_for_long(https, monkeypatch):
    """Nothing more comes, so nobody would wake it: as if each part had taken a whole turn."""
    monkeypatch.setattr(attempt, "_TURN_NS", -1)
    short, long = (HEAD + b"Content-Length: %d\r\n\r\n" % n + bytes(n) for n in (100, 9000))

    def script(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(long if server.n_requests == 2 else short)

    with https(script) as server:
        total = measure(server.port, scheme="https", load=closed(3)).total
    assert (total.count("ok"), total.errors) == (3, {})


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_nearly_all_sessions_are_resumed(https, server_tls, version):
    server_tls.maximum_version = version
    with https(always(OK_REPLY)) as server:
        total = measure(server.port, scheme="https", mode="resumed", load=closed(100, 2)).total
    assert total.count("ok") == 100
    assert total.count("tls_resumed") >= 95
    assert total.count("tls_full") + total.count("tls_resumed") == 100


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_ragged_close_does_not_spoil_the_session(https, server_tls, version):
    server_tls.maximum_version = version
    with https(close_raggedly(OK_REPLY)) as server:
        total = measure(server.port, scheme="https", mode="resumed", load=closed(20)).total
    assert (total.count("ok"), total.count("tls_full")) == (20, 1)


def test_without_tickets_every_handshake_is_full(https, server_tls):
    server_tls.num_tickets = 0
    with https(always(OK_REPLY)) as server:
        total = measure(server.port, scheme="https", mode="resumed", load=closed(10)).total
    assert (total.count("ok"), total.count("tls_full"), total.errors) == (10, 10, {})


@pytest.mark.parametrize("mode", ["new", "keep-alive"])
def test_a_ragged_close_after_a_complete_body_is_only_counted(https, mode):
    # With time between requests a kept connection is idle when its end is seen.
    load = {"model": "over", "requests": 10, "over_s": 0.5}
    with https(close_raggedly(OK_REPLY)) as server:
        total = measure(server.port, scheme="https", mode=mode, load=load).total
    assert (total.count("ok"), total.errors) == (10, {})
    # The last connection of a kept load is not used again, so nobody sees how it ends.
    assert total.count("tls_ragged_eof") >= 9


def test_a_proper_close_ends_a_body_without_length(https):
    def script(sock, server):
        server.read_request(sock)
        sock.sendall(HEAD + b"\r\nuntil the end")
        sock.unwrap()

    with https(script) as server:
        total = measure(server.port, scheme="https", mode="new", load=closed(3)).total
    assert (total.count("ok"), total.errors, total.count("tls_ragged_eof")) == (3, {}, 0)


@pytest.mark.parametrize(("host", "name"), [("localhost", "localhost"), ("127.0.0.1", None)])
def test_a_name_is_announced_but_never_an_address(https, server_tls, host, name):
    names = []
    server_tls.sni_callback = lambda sock, server_name, context: names.append(server_name)
    with https(always(OK_REPLY)) as server:
        measure(server.port, scheme="https", host=host, allow=["127.0.0.0/8", "::1/128"])
    assert names == [name]


@pytest.fixture
def leaf():
    return issue(authority())


@pytest.fixture
def trusted_server(leaf):
    with scripted(always(OK_REPLY), server_context(leaf)) as server:
        yield server


def fingerprint_of(leaf) -> str:
    body = "".join(line for line in leaf.pem.splitlines() if not line.startswith("-----"))
    return sha256(base64.b64decode(body)).hexdigest()


def answer_of(server, **fields) -> dict:
    """What a probe of this server says."""
    order = probe_order(server.port, **{"scheme": "https", "verify_tls": True, **fields})
    return probe.run(Order.from_json(order))


@pytest.mark.parametrize("mode", ["new", "resumed", "keep-alive"])
def test_the_accepted_certificate_is_measured(trusted_server, leaf, mode):
    tls = {"fingerprint": fingerprint_of(leaf)}
    result = measure(
        trusted_server.port, scheme="https", mode=mode, verify_tls=True, load=closed(20), tls=tls
    )
    assert (result.total.count("ok"), result.total.errors) == (20, {})


def test_another_certificate_is_refused_before_anything_is_sent(trusted_server):
    tls = {"fingerprint": "ab" * 32}
    result = measure(trusted_server.port, scheme="https", mode="new", load=closed(3), tls=tls)
    assert result.total.errors == {"tls_fingerprint": 3}
    assert trusted_server.requests == []


def test_a_probe_shows_the_certificate_that_it_refuses_and_sends_nothing(trusted_server, leaf):
    answer = answer_of(trusted_server)
    assert answer["error"] == "tls_unknown_issuer"
    der = base64.b64decode(answer["certificates_der_b64"][0])
    assert sha256(der).hexdigest() == fingerprint_of(leaf)
    assert trusted_server.requests == []


def test_a_probe_takes_the_accepted_certificate(trusted_server, leaf):
    answer = answer_of(trusted_server, tls={"fingerprint": fingerprint_of(leaf)})
    assert (answer["status"], answer["error"]) == (200, None)


def test_a_probe_sends_credentials_with_its_secret():
    auth = {"auth": {"kind": "basic", "user": "ann"}, "secrets": {"auth": "s3cret"}}
    with scripted(always(OK_REPLY)) as server:
        assert answer_of(server, scheme="http", **auth)["status"] == 200
        assert f"Basic {base64.b64encode(b'ann:s3cret').decode()}" in str(server.requests)


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
    return measured_run(server_tls, mode=mode, requests=requests, **tls).ends[0].tls


def measured_run(server_tls, *, mode="new", requests=3, **tls):
    with scripted(always(OK_REPLY), server_tls) as server:
        result = measure(server.port, scheme="https", mode=mode, load=closed(requests), tls=tls)
    assert result.total.errors == {}
    return result


def test_each_profile_is_agreed_on():
    table = [
        ("", "TLSv1.3", "TLS_AES_256_GCM_SHA384", HYBRID, "ECDSA secp256r1"),
        ("browser", "TLSv1.3", "TLS_AES_128_GCM_SHA256", HYBRID, "ECDSA secp256r1"),
        ("tls12", "TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384", "X25519", "ECDSA secp256r1"),
        ("classical", "TLSv1.3", "TLS_AES_256_GCM_SHA384", "X25519", "ECDSA secp256r1"),
        ("ecdsa", "TLSv1.3", "TLS_AES_256_GCM_SHA384", HYBRID, "ECDSA secp256r1"),
        ("rsa", "TLSv1.3", "TLS_AES_256_GCM_SHA384", HYBRID, "RSA 2048"),
    ]
    assert {row[0] for row in table} == PROFILES.keys()
    for profile, version, cipher, group, certificate in table:
        (tls,) = agreed(OpenSslServer(ecdsa(), with_rsa()), profile=profile)
        assert (tls.version, tls.cipher, tls.group, tls.certificate, tls.count) == (
            version, cipher, group, certificate, 3,
        )  # fmt: skip


def test_a_profile_also_holds_with_tls_1_2():
    for profile in ["browser", "rsa"]:
        (tls,) = agreed(OpenSslServer(ecdsa(), with_rsa()), profile=profile, max_version="1.2")
        words = {"browser": "ECDHE-ECDSA-AES128-GCM-SHA256", "rsa": "ECDHE-RSA-AES256-GCM-SHA384"}
        assert (tls.version, tls.cipher) == ("TLSv1.2", words[profile])


def test_an_option_of_its_own_replaces_what_the_profile_says():
    for options, group, cipher in [
        ({"groups": "P-384"}, "P-384", "TLS_AES_256_GCM_SHA384"),
        ({"groups": "SecP256r1MLKEM768:X25519"}, "SecP256r1MLKEM768", "TLS_AES_256_GCM_SHA384"),
        ({"ciphersuites": "TLS_CHACHA20_POLY1305_SHA256"}, HYBRID, "TLS_CHACHA20_POLY1305_SHA256"),
        ({"profile": "classical", "groups": "P-521"}, "P-521", "TLS_AES_256_GCM_SHA384"),
    ]:
        (tls,) = agreed(OpenSslServer(ecdsa()), **options)
        assert (tls.group, tls.cipher) == (group, cipher)


def test_the_bytes_of_a_handshake_are_those_that_the_server_received():
    server_tls = OpenSslServer(ecdsa())
    result = measured_run(server_tls)
    (tls,) = result.ends[0].tls
    requests = result.total.count("bytes_sent") + tls.count * RECORD_BYTES
    assert tls.bytes_sent + requests == sum(server_tls.received_bytes)
    chain = [each.certificate for each in (ecdsa(), authority())]
    assert tls.chain_bytes == sum(len(each.public_bytes(Encoding.DER)) for each in chain)
    assert tls.bytes_received > 3 * tls.chain_bytes


def test_a_hybrid_key_exchange_sends_a_kilobyte_more_each_way():
    (hybrid,) = agreed(OpenSslServer(ecdsa()), requests=1)
    (classical,) = agreed(OpenSslServer(ecdsa()), requests=1, profile="classical")
    # FIPS 203: a key of ML-KEM-768 has 1,184 bytes and its answer 1,088.
    assert 1184 <= hybrid.bytes_sent - classical.bytes_sent <= 1250
    # The server says which groups it knows if it would have preferred another one.
    assert 1000 <= hybrid.bytes_received - classical.bytes_received <= 1100


def test_a_resumed_handshake_has_no_certificate_and_fewer_bytes():
    full, resumption = sorted(
        agreed(OpenSslServer(ecdsa()), mode="resumed", requests=10), key=lambda each: each.resumed
    )
    assert (full.count, resumption.count) == (1, 9)
    assert (resumption.certificate, resumption.chain_bytes) == (None, None)
    assert resumption.bytes_received / 9 < full.bytes_received - full.chain_bytes + 100
