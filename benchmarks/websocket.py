"""WebSocket opening and closing handshakes a second: one process, 250 connections in flight.

Against libwebsockets' own test server, a native one, where Debian's libwebsockets-test-server is
installed; against the demo target elsewhere. Either may be the limit: the line of our CPU says so.
"""

import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Line, show
from benchmarks.servers import free_ports, pin, wait_for

IN_FLIGHT = 250
DURATION_S = 3
REPEATS = 3
GOAL_PER_S = 15_000
TITLE = f"WebSocket, {IN_FLIGHT} in flight, opened and closed, one process"
_NATIVE = "libwebsockets-test-server"


def measure() -> Iterator[Line]:
    """Handshakes a second, and what our core could do if the server were no limit."""
    with _serving(core=1) as (name, address, more):
        seen = [_measure(address, more) for _ in range(REPEATS)]
    per_s = statistics.median(rate for rate, _ in seen)
    cpu_us = statistics.median(cost for _, cost in seen)
    is_met = per_s >= GOAL_PER_S
    yield Line(f"handshakes/s against {name}", f"{per_s:,.0f}", f"≥ {GOAL_PER_S:,}/s", is_met)
    share = per_s * cpu_us / 1e6
    yield Line("our CPU for each", f"{cpu_us:.1f} µs: {share:.0%} of a core at that rate")


def _measure(address: str, more: list[str]) -> tuple[float, float]:
    """(opened and closed a second, CPU µs of each)."""
    command = [sys.executable, "-m", "workers.injector", address, "--json", *more]
    command += ["--connections", str(IN_FLIGHT), "--duration", str(DURATION_S)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)
    return said["metrics"]["rate"], said["cpu_us_per_request"]


@contextlib.contextmanager
def _serving(core: int) -> Iterator[tuple[str, str, list[str]]]:
    """(name, address, further options) of a server for the length of a `with` block."""
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory() as folder:
        name, command, more = _command(Path(folder), port)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, preexec_fn=lambda: pin(core), **quiet)
        try:
            wait_for(port)
            yield name, f"ws://127.0.0.1:{port}/", more
        finally:
            process.terminate()
            process.wait()


def _command(folder: Path, port: int) -> tuple[str, list[str], list[str]]:
    native = shutil.which(_NATIVE)
    if native is None:
        echo = [sys.executable, "-m", "workers.echo", "--http-port", str(port)]
        return "the demo target", echo, []
    command = [native, "--port", str(port), "-r", str(folder), "-d", "1"]
    return "libwebsockets", command, ["--subprotocol", "lws-mirror-protocol"]


if __name__ == "__main__":
    pin(0)
    show(TITLE, measure())
