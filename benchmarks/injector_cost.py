"""What a request costs the injector: CPU time, user and system, beside wrk and ab.

Each tool runs alone, pinned to one core, against the same server on the other, with 32 connections.
The CPU time is that of the whole process, start-up included. `engine` is what our injector says of
itself: the same without the start of Python.
"""

import json
import re
import resource
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.servers import Server, pin, serving

CONNECTIONS = 32
DURATION_S = 3
REPEATS = 3
_OURS = [sys.executable, "-m", "workers.injector"]


@dataclass(frozen=True)
class Case:
    """`ab_requests`: ab has no duration that does not also cap the number of requests."""

    name: str
    scheme: str
    is_new: bool
    ab_requests: int


CASES = (
    Case("keep-alive", "http", False, 300_000),
    Case("keep-alive, TLS", "https", False, 200_000),
    Case("new connection", "http", True, 40_000),
    Case("new connection, TLS", "https", True, 4_000),
)


def ours(case: Case, server: Server) -> tuple[list[str], Callable[[str], int]]:
    command = [*_OURS, server.url(case.scheme), "--json", "--insecure"]
    command += ["--connections", str(CONNECTIONS), "--duration", str(DURATION_S)]
    command += ["--new-connection"] if case.is_new else []
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


def main() -> int:
    names = [name for name in TOOLS if name == "ours" or shutil.which(name)]
    missing = sorted(set(TOOLS) - set(names))
    pin(0)
    with serving(core=1) as server:
        print(f"CPU µs a request against {server.name}, {CONNECTIONS} connections, ", end="")
        print(f"median of {REPEATS} runs" + (f"; not installed: {missing}" if missing else ""))
        print("".join(f"{title:>14}" for title in _titles(names)))
        for case in CASES:
            costs, engine_us = _measure(case, server, names)
            ratios = [f"{costs['ours'] / costs[name]:.2f}" for name in names if name != "ours"]
            figures = [*(f"{costs[name]:.1f}" for name in names), f"{engine_us:.1f}", *ratios]
            print(f"{case.name:<22}" + "".join(f"{each:>14}" for each in figures), flush=True)
    return 0


def _titles(names: list[str]) -> list[str]:
    others = [f"ours/{name}" for name in names if name != "ours"]
    return [f"{'':>8}", *names, "engine", *others]


def _measure(case: Case, server: Server, names: list[str]) -> tuple[dict[str, float], float]:
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
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, used_s * 1e6


if __name__ == "__main__":
    sys.exit(main())
