"""Are the figures right? Against the demo target's own log, with distributions that are known.

The truth of a request is the time from its arrival at the target's socket, by the kernel's stamp,
to its reply handed to the kernel. A response time is that, the way back, and the injector's
lateness in sending and reading, which is left out in a second set. Target and injector have a core
each.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from math import ceil
from pathlib import Path

from benchmarks.figures import GoalRow
from benchmarks.servers import free_ports, pin, program

RATE_PER_S, DURATION_S = 200, 10
SHARE, ABSOLUTE_MS, MEAN_SHARE = 0.01, 0.2, 0.005
DIALS = {
    "constant 20 ms": "delay_ms=20&timed=1",
    "bimodal 20 and 100 ms": "bimodal=20,100,0.1",
    "Pareto from 20 ms": "pareto=20,2.5",
}


def measure() -> Iterator[GoalRow]:
    for name, dial in DIALS.items():
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            seen = _seen(dial, log)
            took_us = (json.loads(line)["service_us"] for line in log.read_text().splitlines())
            truth_ms = sorted(us / 1000 for us in took_us)
        for timing, said in (("response", ""), ("undelayed", " undelayed")):
            yield from _against_truth(name, said, seen[timing], truth_ms)


def _against_truth(
    name: str, said: str, seen: dict[str, float], truth_ms: list[float]
) -> Iterator[GoalRow]:
    for key, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        true_ms = truth_ms[ceil(q * len(truth_ms)) - 1]
        allowed_ms = max(SHARE * true_ms, ABSOLUTE_MS)
        yield _line(f"{name}, {key}{said}", seen[key], true_ms, allowed_ms, "1 % or 0.2 ms")
    mean_ms = sum(truth_ms) / len(truth_ms)
    allowed_ms = MEAN_SHARE * mean_ms
    yield _line(f"{name}, mean{said}", seen["mean"], mean_ms, allowed_ms, "0.5 %")


def _seen(dial: str, log: Path) -> dict[str, dict[str, float]]:
    (port,) = free_ports(1)
    echo = ["workers.echo", "--http-port", str(port), "--log", str(log)]
    with program(*echo, port=port, core=1):
        load = ["--rate", str(RATE_PER_S), "--duration", str(DURATION_S), "--json"]
        injector = [sys.executable, "-m", "workers.injector", f"http://127.0.0.1:{port}/?{dial}"]
        # Not left to the kernel: one that saves power puts both on one core, to take turns.
        done = subprocess.run(
            [*injector, *load], preexec_fn=lambda: pin(0), capture_output=True, text=True
        )
    return json.loads(done.stdout)["timings_ms"]


def _line(name: str, seen_ms: float, true_ms: float, allowed_ms: float, goal: str) -> GoalRow:
    off_ms = seen_ms - true_ms
    return GoalRow(
        name,
        f"{seen_ms:.3f} ms, target's log {true_ms:.3f}: {off_ms:+.3f} ms",
        f"within {goal}",
        abs(off_ms) <= allowed_ms,
    )
