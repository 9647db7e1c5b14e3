"""The demo target over TLS, HTTP/2 and WebSocket: on the injector's own library, with two
certificates; by the preface in clear text, by ALPN over TLS; its echo, its delays, its faults.
"""

import json
import ssl
from collections import Counter

import pytest
from gevent import socket as gevent_socket
from gevent.ssl import SSLContext

from tests.injector.servers import closed, measure
from tests.injector.websocket.peers import measure as measure_websocket
from workers.echo.arrival import Journal
from workers.echo.server import EchoServer
from workers.echo.tls import ensure_certificate, ensure_rsa_certificate, make_tls_context

TIMEOUTS = {"connect_s": 1, "tls_s": 1, "total_s": 1}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    return [make(folder, "127.0.0.1") for make in (ensure_certificate, ensure_rsa_certificate)]


@pytest.fixture
def log(tmp_path):
    return tmp_path / "arrivals.jsonl"


@pytest.fixture
def serve(certificates, log):
    """A demo target of that scheme; returns its port."""
    servers, journal = [], Journal(str(log))

    def start(scheme):
        tls = make_tls_context(*certificates) if scheme in {"https", "wss"} else None
        servers.append(EchoServer(("127.0.0.1", 0), scheme, journal, tls))
        servers[-1].start()
        return servers[-1].port

    yield start
    for server in servers:
        server.stop()
    journal.close()


@pytest.mark.parametrize(
    ("profile", "group", "certificate"),
    [
        ("", "X25519MLKEM768", "ECDSA secp256r1"),
        ("classical", "X25519", "ECDSA secp256r1"),
        ("rsa", "X25519MLKEM768", "RSA 2048"),
        ("ecdsa", "X25519MLKEM768", "ECDSA secp256r1"),
    ],
)
def test_it_has_hybrid_groups_and_certificates_of_both_kinds(serve, profile, group, certificate):
    tls = {"profile": profile}
    result = measure(serve("https"), scheme="https", mode="new", load=closed(4, 2), tls=tls)
    (agreed,) = result.ends[0].tls
    assert (result.total.count("ok"), agreed.group, agreed.certificate) == (4, group, certificate)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_it_resumes_sessions(serve, version):
    tls = {"max_version": version}
    total = measure(serve("https"), scheme="https", mode="resumed", load=closed(10), tls=tls).total
    assert (total.count("tls_full"), total.count("tls_resumed")) == (1, 9)


@pytest.mark.parametrize(
    ("offers", "agreed"),
    [
        (("spdy/3", "http/1.1"), "http/1.1"),
        (("http/1.1", "h2"), "http/1.1"),
        (("h2",), "h2"),
        (("spdy/3",), None),
        ((), None),
    ],
)
def test_it_agrees_on_the_protocol_that_a_client_prefers_or_on_none(serve, offers, agreed):
    context = SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if offers:
        context.set_alpn_protocols(list(offers))
    plain = gevent_socket.create_connection(("127.0.0.1", serve("https")))
    with context.wrap_socket(plain) as sock:
        assert sock.selected_alpn_protocol() == agreed


def test_a_certificate_is_made_once_and_its_key_is_only_its_owner_s(certificates):
    for _, key in certificates:
        assert key.stat().st_mode & 0o077 == 0
    (_, key), _ = certificates
    before = key.read_bytes()
    assert ensure_certificate(key.parent, "127.0.0.1") == certificates[0]
    assert key.read_bytes() == before


def over_http2(port, paths=("/",), **fields):
    steps = [{"label": path, "method": "GET", "path": path} for path in paths]
    return measure(port, plan={"http_version": "2", "streams": 4, "steps": steps}, **fields).total


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("mode", ["keep-alive", "new", "resumed"])
def test_every_request_over_http_2_is_answered_and_logged(serve, log, scheme, mode):
    total = over_http2(serve(scheme), scheme=scheme, mode=mode, load=closed(60, 3))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert (total.count("ok"), total.errors, total.statuses) == (60, {}, {"200": 60})
    assert Counter((each["scheme"], each["method"], each["path"]) for each in lines) == {
        (scheme, "GET", "/"): 60
    }
    n_connections = len({each["connection"] for each in lines})
    assert n_connections == total.count("connections_opened") == (3 if mode == "keep-alive" else 60)


def test_a_fault_resets_its_stream_and_not_the_others(serve):
    total = over_http2(serve("http"), ("/fault/reset", "/"), load=closed(8))
    assert (total.count("ok"), sum(total.errors.values())) == (4, 4)
    assert total.count("connections_opened") == 1


@pytest.mark.parametrize("scheme", ["ws", "wss"])
@pytest.mark.parametrize("mode", ["echo_sync", "echo_async"])
@pytest.mark.parametrize("size", [0, 64, 100_000])
def test_it_sends_every_message_back(serve, scheme, mode, size):
    exchange = {"messages": 20, "size_bytes": size, "mode": mode, "subprotocols": ["chat"]}
    total = measure_websocket(serve(scheme), closed(6, 3), exchange, scheme=scheme).total
    assert (total.errors, total.count("ok")) == ({}, 6)
    assert total.count("messages_received") == 120
    assert total.count("close_code_1000") == 6


def test_it_waits_before_an_echo_when_dialled(serve):
    exchange = {"path": "/?delay_ms=30", "messages": 3}
    message = measure_websocket(serve("ws"), closed(1), exchange).total.timing("message")
    assert message.min_us >= 30_000


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("reject", "ws_upgrade_rejected"),
        ("wrong-accept", "ws_protocol"),
        ("never-close", "body_timeout"),
        ("masked", "ws_protocol"),
        ("huge", "body_cap"),
        ("bad-text", "ws_protocol"),
        ("ping-flood", "ws_protocol"),
        ("wrong-echo", "body_mismatch"),
        ("reset", "reset"),
    ],
)
def test_a_websocket_misbehaves_when_dialled(serve, fault, kind):
    exchange = {"path": f"/?fault={fault}", "messages": 1}
    total = measure_websocket(serve("ws"), closed(2), exchange, timeouts=TIMEOUTS).total
    assert total.errors == {kind: 2}
