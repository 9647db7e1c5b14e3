"""WebSocket opening and closing handshakes a second: one process, 250 connections in flight.

The server is our own small one in C, alone on the other core, which does nothing else: awake it
never sleeps, so that a client pays for no wake-ups; asleep it waits for work as servers do. A
client in C makes the same system calls, in turns with the injector: what the kernel takes differs
from machine to machine, and from day to day.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import GoalRow
from benchmarks.injector_cost import run
from benchmarks.servers import free_ports, running

IN_FLIGHT = 250
DURATION_S = 3
REPEATS = 3
GOAL_PER_S = 15_000
TITLE = f"WebSocket, {IN_FLIGHT} in flight, opened and closed, one process"
SERVER, CLIENT = "websocket_server", "websocket_client"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def measure() -> Iterator[GoalRow]:
    """Handshakes a second against each server, what each costs us, and how busy the server is."""
    with tempfile.TemporaryDirectory() as folder:
        if shutil.which("cc") is None:
            yield GoalRow("WebSocket", "not measured: there is no C compiler")
            return
        server, client = (_build(name, Path(folder)) for name in (SERVER, CLIENT))
        for is_awake in (True, False):
            (port,) = free_ports(1)
            command = [server, str(port), *(["awake"] if is_awake else [])]
            with running(command, 1, port) as process:
                runs = [_measure(client, process, port) for _ in range(REPEATS)]
            medians = map(statistics.median, zip(*runs, strict=True))
            yield _line(*medians, is_awake=is_awake)


def _line(per_s: float, cpu_us: float, busy: float, in_c_us: float, *, is_awake: bool) -> GoalRow:
    measured = f"{per_s:,.0f}/s, {cpu_us:.1f} µs ({cpu_us / in_c_us:.2f} × C's {in_c_us:.1f})"
    measured += f": {per_s * cpu_us / 1e6:.0%} of our core"
    measured += "" if is_awake else f", {busy:.0%} of its"
    name = f"against our C server, {'awake' if is_awake else 'asleep'}"
    return GoalRow(name, measured, f"≥ {GOAL_PER_S:,}/s", per_s >= GOAL_PER_S)


def _measure(client: str, server: subprocess.Popen, port: int) -> tuple[float, float, float, float]:
    """(opened and closed a second, CPU µs of each, the server's share of its core, CPU µs of the
    same from C)."""
    command = [sys.executable, "-m", "workers.injector", f"ws://127.0.0.1:{port}/", "--json"]
    command += ["--connections", str(IN_FLIGHT), "--duration", str(DURATION_S)]
    began_s = _cpu_s(server)
    seen = json.loads(run(command)[0])
    server_s = _cpu_s(server) - began_s
    if seen["errors"]:
        raise RuntimeError(f"handshakes failed: {seen['errors']}")
    rate = seen["metrics"]["rate"]
    busy = server_s * rate / seen["counters"]["ok"]
    in_c = json.loads(run([client, str(port), str(DURATION_S), str(IN_FLIGHT)])[0])
    return rate, seen["cpu_us_per_request"], busy, in_c["cpu_us"]


def _cpu_s(process: subprocess.Popen) -> float:
    """User and system time so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def _build(name: str, folder: Path) -> str:
    """The path of our program in C, compiled into a folder."""
    path, source = folder / name, Path(__file__).with_name(f"{name}.c")
    subprocess.run(["cc", "-O2", "-o", path, source], check=True)
    return str(path)
