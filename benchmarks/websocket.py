"""WebSocket opening and closing handshakes a second: one process, 250 connections in flight.

Each server is native and alone on the other core. The first two are our own small one in C, which
does nothing else: awake it never sleeps, so that a client pays for no wake-ups; asleep it waits for
work as servers do. The third is libwebsockets' test server, where Debian's
libwebsockets-test-server is installed. Without a C compiler and without that, it is the demo
target, and then that is the limit.
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import GoalRow, show
from benchmarks.servers import free_ports, pin, wait_for

IN_FLIGHT = 250
DURATION_S = 3
REPEATS = 3
GOAL_PER_S = 15_000
TITLE = f"WebSocket, {IN_FLIGHT} in flight, opened and closed, one process"
_SOURCE = Path(__file__).with_name("websocket_server.c")
_LIBWEBSOCKETS = "libwebsockets-test-server"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Peer:
    """A server: its command, to which the port is added, and what a client has to say to it."""

    name: str
    command: tuple[str, ...]
    more: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    is_always_busy: bool = False


def measure() -> Iterator[GoalRow]:
    """Handshakes a second against each server, what each costs us, and how busy the server is."""
    with tempfile.TemporaryDirectory() as folder:
        for peer in _peers(Path(folder)):
            with _serving(peer, core=1) as (process, address):
                began = _cpu_s(process)
                seen = [_measure(address, peer.more) for _ in range(REPEATS)]
                busy = (_cpu_s(process) - began) / sum(took_s for _, _, took_s in seen)
            yield _line(peer, seen, busy)


def _line(peer: Peer, seen: list[tuple[float, float, float]], busy: float) -> GoalRow:
    per_s = statistics.median(rate for rate, _, _ in seen)
    cpu_us = statistics.median(cost for _, cost, _ in seen)
    measured = f"{per_s:,.0f}/s, {cpu_us:.1f} µs: {per_s * cpu_us / 1e6:.0%} of our core"
    measured += "" if peer.is_always_busy else f", {busy:.0%} of its"
    return GoalRow(peer.name, measured, f"≥ {GOAL_PER_S:,}/s", per_s >= GOAL_PER_S)


def _measure(address: str, more: tuple[str, ...]) -> tuple[float, float, float]:
    """(opened and closed a second, CPU µs of each, seconds that it took)."""
    command = [sys.executable, "-m", "workers.injector", address, "--json", *more]
    command += ["--connections", str(IN_FLIGHT), "--duration", str(DURATION_S)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)
    if said["errors"]:
        raise RuntimeError(f"handshakes failed: {said['errors']}")
    rate = said["metrics"]["rate"]
    return rate, said["cpu_us_per_request"], said["counters"]["ok"] / rate


def _cpu_s(process: subprocess.Popen) -> float:
    """User and system time so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


@contextlib.contextmanager
def _serving(peer: Peer, core: int) -> Iterator[tuple[subprocess.Popen, str]]:
    """(process, address) of a server for the length of a `with` block."""
    (port,) = free_ports(1)
    command = [*peer.command, str(port), *peer.last]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, preexec_fn=lambda: pin(core), **quiet)
    try:
        wait_for(port)
        yield process, f"ws://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait()


def _peers(folder: Path) -> Iterator[Peer]:
    """The servers that can be had here."""
    own, library = build_server(folder), shutil.which(_LIBWEBSOCKETS)
    if own is not None:
        yield Peer("against our C server, awake", (own,), last=("awake",), is_always_busy=True)
        yield Peer("against our C server, asleep", (own,))
    if library is not None:
        command = (library, "-r", str(folder), "-d", "1", "--port")
        yield Peer("against libwebsockets", command, ("--subprotocol", "lws-mirror-protocol"))
    if own is None and library is None:
        demo = (sys.executable, "-m", "workers.echo", "--http-port")
        yield Peer("against the demo target", demo)


def build_server(folder: Path) -> str | None:
    """The path of our server, compiled into a folder; None without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    path = folder / "websocket_server"
    subprocess.run([compiler, "-O2", "-o", path, _SOURCE], check=True)
    return str(path)


if __name__ == "__main__":
    pin(0)
    show(TITLE, measure())
