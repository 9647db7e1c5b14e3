"""A node_exporter on a real socket: what a real one answered, with counters that grow."""

import socket
import time
from collections.abc import Callable
from pathlib import Path

from tests.injector.servers import Scripted

RECORDED = (Path(__file__).parents[1] / "golden" / "node_exporter.txt").read_text()
# What grows in a second, by the beginning of the line.
BUSY, IDLE = 0.25, 0.75
GROWTH = {
    'node_cpu_seconds_total{cpu="0",mode="user"}': BUSY,
    'node_cpu_seconds_total{cpu="0",mode="idle"}': IDLE,
    'node_cpu_seconds_total{cpu="1",mode="idle"}': 1.0,
    'node_network_transmit_bytes_total{device="lo"}': 5000.0,
    "node_netstat_Tcp_OutSegs": 40.0,
}


def recorded_after(age_s: float) -> str:
    """What the real one answered, so much later."""
    return "\n".join(_line_after(line, age_s) for line in RECORDED.split("\n"))


def _line_after(line: str, age_s: float) -> str:
    for begin, per_s in GROWTH.items():
        if line.startswith(f"{begin} "):
            return f"{begin} {float(line.removeprefix(begin)) + per_s * age_s}"
    return line


def reply(text: str, status: str = "200 OK", *, more: str = "") -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def node_exporter(answer: Callable[[float], bytes] | None = None):
    """A script that answers as the machine is by now; `answer` makes another reply from how long
    ago the first was."""
    make = answer or (lambda age_s: reply(recorded_after(age_s)))
    began: list[float] = []

    def script(sock: socket.socket, server: Scripted) -> None:
        while server.read_request(sock) is not None:
            began.append(time.monotonic())
            sock.sendall(make(began[-1] - began[0]))

    return script
