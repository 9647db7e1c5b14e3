"""The demo target over WebSocket: its echo, its delays, and its faults."""

import pytest

from tests.injector.servers import closed
from tests.injector.websocket.peers import measure
from workers.echo.arrival import Journal
from workers.echo.server import EchoServer
from workers.echo.tls import make_tls_context

TIMEOUTS = {"connect_s": 1, "tls_s": 1, "total_s": 1}


@pytest.fixture(params=["ws", "wss"])
def target(request, tmp_path_factory):
    """(scheme, port): the demo target within this process."""
    from workers.echo.certificate import ensure_certificate

    tls = None
    if request.param == "wss":
        folder = tmp_path_factory.mktemp("certificate")
        tls = make_tls_context(ensure_certificate(folder, "127.0.0.1"))
    server = EchoServer(("127.0.0.1", 0), request.param, Journal(None), tls)
    server.start()
    yield request.param, server.port
    server.stop()


@pytest.mark.parametrize("mode", ["echo_sync", "echo_async"])
@pytest.mark.parametrize("size", [0, 64, 100_000])
def test_it_sends_every_message_back(target, mode, size):
    scheme, port = target
    exchange = {"messages": 20, "size_bytes": size, "mode": mode, "subprotocols": ["chat"]}
    total = measure(port, closed(6, 3), exchange, scheme=scheme).total
    assert (total.errors, total.count("ok")) == ({}, 6)
    assert total.count("messages_received") == 120
    assert total.count("close_code_1000") == 6


def test_it_waits_before_an_echo_when_dialled(target):
    scheme, port = target
    exchange = {"path": "/?delay_ms=30", "messages": 3}
    message = measure(port, closed(1), exchange, scheme=scheme).total.timing("message")
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
def test_it_misbehaves_when_dialled(target, fault, kind):
    scheme, port = target
    exchange = {"path": f"/?fault={fault}", "messages": 1}
    errors = measure(port, closed(2), exchange, scheme=scheme, timeouts=TIMEOUTS).total.errors
    assert errors == {kind: 2}


def test_it_never_closes_when_dialled(target):
    scheme, port = target
    total = measure(port, closed(1), {"path": "/?fault=never-close"}, scheme=scheme).total
    assert total.errors == {"ws_close_timeout": 1}
