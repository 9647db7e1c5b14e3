"""The demo target over TLS: on the injector's own library, with two certificates."""

import ssl

import pytest
from gevent import socket as gevent_socket
from gevent.ssl import SSLContext

from tests.injector.servers import closed, measure
from workers.echo.arrival import Journal
from workers.echo.certificate import ensure_certificate, ensure_rsa_certificate
from workers.echo.server import EchoServer
from workers.echo.tls import make_tls_context


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    return [make(folder, "127.0.0.1") for make in (ensure_certificate, ensure_rsa_certificate)]


@pytest.fixture
def port(certificates):
    server = EchoServer(("127.0.0.1", 0), "https", Journal(None), make_tls_context(*certificates))
    server.start()
    yield server.port
    server.stop()


@pytest.mark.parametrize(
    ("profile", "group", "certificate"),
    [
        ("", "X25519MLKEM768", "ECDSA secp256r1"),
        ("classical", "X25519", "ECDSA secp256r1"),
        ("rsa", "X25519MLKEM768", "RSA 2048"),
        ("ecdsa", "X25519MLKEM768", "ECDSA secp256r1"),
    ],
)
def test_it_has_hybrid_groups_and_certificates_of_both_kinds(port, profile, group, certificate):
    result = measure(port, scheme="https", mode="new", load=closed(4, 2), tls={"profile": profile})
    (found,) = result.ends[0].tls
    assert (result.total.count("ok"), found.group, found.certificate) == (4, group, certificate)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_it_resumes_sessions(port, version):
    tls = {"max_version": version}
    total = measure(port, scheme="https", mode="resumed", load=closed(10), tls=tls).total
    assert (total.count("tls_full"), total.count("tls_resumed")) == (1, 9)


def test_it_agrees_on_a_protocol_that_it_speaks_or_on_none(port):
    assert [
        agreed_with(port, *offered) for offered in (("spdy/3", "http/1.1"), ("spdy/3",), ())
    ] == [
        "http/1.1",
        None,
        None,
    ]


def agreed_with(port: int, *offered: str) -> str | None:
    context = SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if offered:
        context.set_alpn_protocols(list(offered))
    plain = gevent_socket.create_connection(("127.0.0.1", port))
    with context.wrap_socket(plain) as sock:
        return sock.selected_alpn_protocol()


def test_a_large_reply_is_sent_whole(port):
    total = measure(port, scheme="https", path="/?size=3000000", load=closed(3)).total
    assert (total.count("ok"), total.errors) == (3, {})
    assert total.count("bytes_received") > 9_000_000


def test_its_keys_are_only_its_owners(certificates):
    for _, key in certificates:
        assert key.stat().st_mode & 0o077 == 0


def test_a_certificate_is_made_once(certificates):
    (_, key), _ = certificates
    before = key.read_bytes()
    assert ensure_certificate(key.parent, "127.0.0.1") == certificates[0]
    assert key.read_bytes() == before
