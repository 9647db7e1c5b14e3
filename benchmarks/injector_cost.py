"""What a request costs the injector: CPU time, user and system, beside wrk and ab.

Each tool runs alone, pinned to one core, against the same server on the other, with 32 connections.
The CPU time is that of the whole process, start-up included. `engine` is what our injector says of
itself: the same without the start of Python; the goals are for that.
"""

import json
import re
import resource
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.figures import Line
from benchmarks.servers import Server

CONNECTIONS = 32
DURATION_S = 3
REPEATS = 3
# wrk and ab are measured where they are installed; these would need scripts of their own.
OTHERS = ("k6", "locust")
_OURS = [sys.executable, "-m", "workers.injector"]


@dataclass(frozen=True)
class Case:
    """`ab_requests`: ab has no duration that does not also cap the number of requests.

    `goals`: at most so many times the tool's CPU time. `skips`: tools that do another thing here.
    """

    name: str
    scheme: str
    flags: tuple[str, ...]
    ab_requests: int
    goals: dict[str, float]
    skips: tuple[str, ...] = ()

    @property
    def is_new(self) -> bool:
        return bool(self.flags)


NEW, RESUMED = ("--new-connection",), ("--resume",)
CASES = (
    Case("keep-alive", "http", (), 300_000, {"wrk": 2.0}),
    Case("keep-alive, TLS 1.3", "https", (), 200_000, {"wrk": 2.0}),
    Case("new connection", "http", NEW, 40_000, {"ab": 1.5}),
    Case("full TLS handshake", "https", NEW, 4_000, {"ab": 1.2}, ("wrk",)),
    Case("resumed TLS session", "https", RESUMED, 0, {}, ("ab",)),
)


def ours(case: Case, server: Server) -> tuple[list[str], Callable[[str], int]]:
    command = [*_OURS, server.url(case.scheme), "--json", "--insecure", *case.flags]
    command += ["--connections", str(CONNECTIONS), "--duration", str(DURATION_S)]
    return command, lambda output: json.loads(output)["counters"]["ok"]


def wrk(case: Case, server: Server) -> tuple[list[str], Callable[[str], int]]:
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{DURATION_S}s", server.url(case.scheme)]
    command += ["-H", "Connection: close"] if case.is_new else []
    return command, lambda output: int(re.search(r"(\d+) requests in", output)[1])


def ab(case: Case, server: Server) -> tuple[list[str], Callable[[str], int]]:
    command = ["ab", "-q", "-c", str(CONNECTIONS), "-n", str(case.ab_requests)]
    command += [] if case.is_new else ["-k"]
    command.append(server.url(case.scheme))
    return command, lambda output: int(re.search(r"Complete requests:\s+(\d+)", output)[1])


TOOLS = {"ours": ours, "wrk": wrk, "ab": ab}


def measure(server: Server) -> Iterator[Line]:
    """A line for each case, then what could not be measured."""
    names = [name for name in TOOLS if name == "ours" or shutil.which(name)]
    full_us = None
    for case in CASES:
        costs, engine_us = _costs(case, server, [name for name in names if name not in case.skips])
        yield _line(case, costs, engine_us)
        if case.flags == NEW and case.scheme == "https":
            full_us = engine_us
        if case.flags == RESUMED:
            yield Line("resumed / full handshake", f"{engine_us / full_us:.2f}", "well below 1")
    for name in (*TOOLS, *OTHERS):
        if name not in names:
            there = "installed, but has no case here" if shutil.which(name) else "not installed"
            yield Line(name, f"not measured: {there}")


def _line(case: Case, costs: dict[str, float], engine_us: float) -> Line:
    parts = [f"{engine_us:.1f} µs"]
    parts += [
        f"{name} {cost:.1f} ({engine_us / cost:.2f} ×)"
        for name, cost in costs.items()
        if name != "ours"
    ]
    met = [engine_us <= goal * costs[name] for name, goal in case.goals.items() if name in costs]
    words = ", ".join(f"≤ {goal:g} × {name}" for name, goal in case.goals.items())
    return Line(case.name, ", ".join(parts), words, all(met) if met else None)


def _costs(case: Case, server: Server, names: list[str]) -> tuple[dict[str, float], float]:
    """(median cost by tool, median cost of our engine without start-up), µs."""
    seen: dict[str, list[float]] = {name: [] for name in names}
    engine_us = []
    for _ in range(REPEATS):
        for name in names:
            command, count = TOOLS[name](case, server)
            output, cpu_us = run(command)
            seen[name].append(cpu_us / count(output))
            if name == "ours":
                engine_us.append(json.loads(output)["cpu_us_per_request"])
    medians = {name: statistics.median(costs) for name, costs in seen.items()}
    return medians, statistics.median(engine_us)


def run(command: list[str]) -> tuple[str, float]:
    """(what it printed, the CPU time of it and what it started in µs)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Exit status 3, an invalid run, is usual here: the injector is meant to be busy.
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip())
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, used_s * 1e6
