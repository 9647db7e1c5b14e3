"""WebSocket servers on real sockets: a proper one by wsproto, and pieces for improper ones."""

import re
import socket
import time
from collections.abc import Callable
from typing import Any

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Message, Request  # fmt: skip

from tests.injector.servers import Script, Scripted, make_order, scripted
from workers.injector.summary import LocalRun, run_here
from workers.injector.websocket.channel import accept_of

_KEY = re.compile(rb"\r\nSec-WebSocket-Key: ([^\r]+)\r\n")


def measure(port: int, load: dict[str, Any], exchange: dict[str, Any], **fields: Any) -> LocalRun:
    """Run an exchange in this process."""
    order = make_order(port, load=load, scheme=fields.pop("scheme", "ws"), mode="new", **fields)
    del order["plan"]["steps"]
    order["plan"]["exchange"] = {"close_timeout_s": 0.3, **exchange}
    return run_here(order, lambda second: None)


def against(
    script: Script, load: dict[str, Any], exchange: dict[str, Any], tls: Any = None, **fields
) -> tuple[LocalRun, Scripted]:
    """What an exchange with such a server came to, and the server's own account."""
    with scripted(script, tls) as server:
        return measure(server.port, load, exchange, **fields), server


def tally(script: Script, load: dict[str, Any], exchange: dict[str, Any], **fields: Any):
    """The same of the run's total alone."""
    result, server = against(script, load, exchange, **fields)
    return result.total, server


def head(key: bytes) -> bytes:
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept_of(key) + b"\r\n\r\n"
    )


def read_key(sock: socket.socket, server: Scripted) -> bytes:
    return _KEY.search(server.read_request(sock))[1]


def after_opening(then: Callable[[socket.socket], None]) -> Script:
    """Open properly, then do as told."""

    def script(sock: socket.socket, server: Scripted) -> None:
        sock.sendall(head(read_key(sock, server)))
        then(sock)

    return script


def hang(sock: socket.socket) -> None:
    """Read until the other side goes, and say nothing."""
    while sock.recv(65536):
        pass


def echo(messages: list[Any] | None = None, delay_s: float = 0.0, **accept: Any) -> Script:
    """Send every message back and close when asked; `messages` gathers the events."""

    def script(sock: socket.socket, server: Scripted) -> None:
        connection, data = WSConnection(ConnectionType.SERVER), []
        while more := sock.recv(65536):
            connection.receive_data(more)
            for event in connection.events():
                if messages is not None:
                    messages.append(event)
                if isinstance(event, Request):
                    sock.sendall(connection.send(AcceptConnection(**accept)))
                elif isinstance(event, CloseConnection):
                    sock.sendall(connection.send(event.response()))
                    return
                elif isinstance(event, Message):
                    data.append(event.data)
                    if event.message_finished:
                        whole = data[0][:0].join(data)
                        time.sleep(delay_s)
                        sock.sendall(connection.send(type(event)(whole)))
                        data.clear()

    return script
