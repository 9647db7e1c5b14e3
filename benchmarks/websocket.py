"""WebSocket opening and closing handshakes a second: one process, 250 connections in flight.

Each server is native and alone on the other core. The first two are our own small one in C, which
does nothing else: awake it never sleeps, so that a client pays for no wake-ups; asleep it waits for
work as servers do. The third is libwebsockets' test server, where Debian's
libwebsockets-test-server is installed. Without a C compiler and without that, it is the demo
target, and then that is the limit. Against our own servers a client in C makes the same system
calls, in turns with the injector: what the kernel takes differs from machine to machine, and from
day to day.
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
from typing import Any

from benchmarks.figures import GoalRow, show
from benchmarks.servers import free_ports, pin, wait_for

IN_FLIGHT = 250
DURATION_S = 3
REPEATS = 3
GOAL_PER_S = 15_000
TITLE = f"WebSocket, {IN_FLIGHT} in flight, opened and closed, one process"
SERVER, CLIENT = "websocket_server", "websocket_client"
_LIBWEBSOCKETS = "libwebsockets-test-server"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Peer:
    """A server: its command, to which the port is added, and what a client has to say to it.
    `client`: the program that makes the same calls in C."""

    name: str
    command: tuple[str, ...]
    more: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    is_always_busy: bool = False
    client: str | None = None


def measure() -> Iterator[GoalRow]:
    """Handshakes a second against each server, what each costs us, and how busy the server is."""
    with tempfile.TemporaryDirectory() as folder:
        for peer in _peers(Path(folder)):
            with _serving(peer, core=1) as (process, port):
                runs = [_measure(peer, process, port) for _ in range(REPEATS)]
            yield _line(peer, *map(statistics.median, zip(*runs, strict=True)))


def _line(peer: Peer, per_s: float, cpu_us: float, busy: float, in_c_us: float) -> GoalRow:
    measured = f"{per_s:,.0f}/s, {cpu_us:.1f} µs"
    measured += f" ({cpu_us / in_c_us:.2f} × C's {in_c_us:.1f})" if in_c_us else ""
    measured += f": {per_s * cpu_us / 1e6:.0%} of our core"
    measured += "" if peer.is_always_busy else f", {busy:.0%} of its"
    return GoalRow(peer.name, measured, f"≥ {GOAL_PER_S:,}/s", per_s >= GOAL_PER_S)


def _measure(peer: Peer, server: subprocess.Popen, port: int) -> tuple[float, float, float, float]:
    """(opened and closed a second, CPU µs of each, the server's share of its core, CPU µs of the
    same from C or 0)."""
    address = f"ws://127.0.0.1:{port}/"
    command = [sys.executable, "-m", "workers.injector", address, "--json", *peer.more]
    command += ["--connections", str(IN_FLIGHT), "--duration", str(DURATION_S)]
    began_s = _cpu_s(server)
    said = _said_by(command)
    server_s = _cpu_s(server) - began_s
    if said["errors"]:
        raise RuntimeError(f"handshakes failed: {said['errors']}")
    rate = said["metrics"]["rate"]
    busy = server_s * rate / said["counters"]["ok"]
    return rate, said["cpu_us_per_request"], busy, _cost_in_c_us(peer, port)


def _cost_in_c_us(peer: Peer, port: int) -> float:
    if peer.client is None:
        return 0.0
    return _said_by([peer.client, str(port), str(DURATION_S), str(IN_FLIGHT)])["cpu_us"]


def _said_by(command: list[str]) -> dict[str, Any]:
    # Exit status 3, an unusable measurement, is usual here: the injector is meant to be busy.
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def _cpu_s(process: subprocess.Popen) -> float:
    """User and system time so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


@contextlib.contextmanager
def _serving(peer: Peer, core: int) -> Iterator[tuple[subprocess.Popen, int]]:
    """(process, port) of a server for the length of a `with` block."""
    (port,) = free_ports(1)
    command = [*peer.command, str(port), *peer.last]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, preexec_fn=lambda: pin(core), **quiet)
    try:
        wait_for(port)
        yield process, port
    finally:
        process.terminate()
        process.wait()


def _peers(folder: Path) -> Iterator[Peer]:
    """The servers that can be had here."""
    own, client, library = (
        build(SERVER, folder),
        build(CLIENT, folder),
        shutil.which(_LIBWEBSOCKETS),
    )
    if own is not None:
        awake = {"last": ("awake",), "is_always_busy": True}
        yield Peer("against our C server, awake", (own,), client=client, **awake)
        yield Peer("against our C server, asleep", (own,), client=client)
    if library is not None:
        command = (library, "-r", str(folder), "-d", "1", "--port")
        yield Peer("against libwebsockets", command, ("--subprotocol", "lws-mirror-protocol"))
    if own is None and library is None:
        demo = (sys.executable, "-m", "workers.echo", "--http-port")
        yield Peer("against the demo target", demo)


def build(name: str, folder: Path) -> str | None:
    """The path of our program in C, compiled into a folder; None without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    path = folder / name
    source = Path(__file__).with_name(f"{name}.c")
    subprocess.run([compiler, "-O2", "-o", path, source], check=True)
    return str(path)


if __name__ == "__main__":
    pin(0)
    sys.exit(not show(TITLE, measure()))
