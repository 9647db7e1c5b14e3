"""What a request costs the injector: CPU time, user and system, beside its peers.

Each tool runs alone, pinned to one core, against the same server on the other, with 32 connections.
For wrk and ab that is the CPU time of the whole process, start-up included, which is next to
nothing there. Starting is left out for those to which it matters: our injector says what it used
since the load began, and of k6's a run of one request each is taken off.
"""

import functools
import json
import re
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import peers
from benchmarks.figures import GoalRow
from benchmarks.servers import Server

CONNECTIONS = 32
DURATION_S = 3
REPEATS = 3
RESUMED_SHARE = 0.55
_HERE = Path(__file__).parent
_OURS = [sys.executable, "-m", "workers.injector"]


@dataclass(frozen=True)
class Case:
    """`ab_requests`: ab has no duration that does not also cap the number of requests.

    `goals`: at most so many times the tool's CPU time. `skips`: tools that do another thing here.
    k6 is run only where there is a goal for it. `groups`: our key exchange groups, where they are
    not a browser's. `streams`: requests at a time on each connection.
    """

    name: str
    scheme: str
    flags: tuple[str, ...]
    ab_requests: int
    goals: dict[str, float]
    skips: tuple[str, ...] = ()
    connections: int = CONNECTIONS
    groups: str = ""
    streams: int = 1

    def takes(self, tool: str) -> bool:
        return tool in self.goals if tool == "k6" else tool not in self.skips

    @property
    def is_new(self) -> bool:
        return bool(self.flags)


NEW, RESUMED = ("--new-connection",), ("--resume",)
# As ab and wrk: a key share of X25519. A browser's has one of X25519MLKEM768, too.
_CLASSICAL = "X25519:P-256:P-384"
FULL, AGAIN = "full TLS handshake", "resumed TLS session"
CASES = (
    Case("keep-alive", "http", (), 300_000, {"wrk": 1.25, "k6": 1 / 4}),
    Case("keep-alive, TLS 1.3", "https", (), 200_000, {"wrk": 1.25}),
    Case("new connection", "http", NEW, 40_000, {"ab": 1.3}),
    Case(FULL, "https", NEW, 4_000, {"ab": 0.9}, ("wrk",), groups=_CLASSICAL),
    Case(f"{FULL}, hybrid share", "https", NEW, 4_000, {}, ("wrk",)),
    Case(AGAIN, "https", RESUMED, 0, {"wrk": 1.3}, ("ab",), groups=_CLASSICAL),
    Case(f"{AGAIN}, hybrid share", "https", RESUMED, 0, {}, ("ab",)),
)


# Of what it printed and of the CPU time of the whole process in µs: the cost of one request, µs.
Cost = Callable[[str, float], float]
# The command that makes a case's requests to a server, and how its cost is read.
Tool = Callable[[Case, Server], tuple[list[str], Cost]]


def _counted(count: Callable[[str], int]) -> Cost:
    return lambda output, cpu_us: cpu_us / count(output)


def ours(case: Case, server: Server) -> tuple[list[str], Cost]:
    command = [*_OURS, server.url(case.scheme), "--json", "--insecure", *case.flags]
    command += ["--connections", str(case.connections), "--duration", str(DURATION_S)]
    command += ["--groups", case.groups] if case.groups else []
    return command, lambda output, _: json.loads(output)["cpu_us_per_request"]


def ours_full(case: Case, server: Server) -> tuple[list[str], Cost]:
    """The same with full handshakes."""
    return ours(replace(case, flags=NEW), server)


def wrk(case: Case, server: Server) -> tuple[list[str], Cost]:
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{DURATION_S}s", server.url(case.scheme)]
    command += ["-H", "Connection: close"] if case.is_new else []
    return command, _counted(lambda output: int(re.search(r"(\d+) requests in", output)[1]))


def ab(case: Case, server: Server) -> tuple[list[str], Cost]:
    command = ["ab", "-q", "-c", str(CONNECTIONS), "-n", str(case.ab_requests)]
    command += [] if case.is_new else ["-k"]
    command.append(server.url(case.scheme))
    return command, _counted(lambda out: int(re.search(r"Complete requests:\s+(\d+)", out)[1]))


def k6(case: Case, server: Server) -> tuple[list[str], Cost]:
    return k6_on(server.url(case.scheme), CONNECTIONS)


def k6_on(address: str, users: int, at_once: int = 1) -> tuple[list[str], Cost]:
    """So many users, each with so many requests at a time on its connection."""
    start_us = _k6_start_us(address, users, at_once)
    command = _k6(address, users, at_once, "--duration", f"{DURATION_S}s")
    return command, lambda output, cpu_us: k6_cost_us(output, cpu_us, start_us, users * at_once)


def k6_cost_us(output: str, cpu_us: float, start_us: float, at_start: int = CONNECTIONS) -> float:
    return (cpu_us - start_us) / (_all_ok(json.loads(output)) - at_start)


def _k6(address: str, users: int, at_once: int, *load: str) -> list[str]:
    command = [peers.find("k6"), "run", "--quiet", "--no-usage-report"]
    given = ["--env", f"ADDRESS={address}", "--env", f"AT_ONCE={at_once}", "--vus", str(users)]
    return [*command, *given, *load, str(_HERE / "k6.js")]


@functools.cache
def _k6_start_us(address: str, users: int, at_once: int) -> float:
    """Reading the script and making the users, with one turn each."""
    command = _k6(address, users, at_once, "--iterations", str(users))
    return statistics.median(run(command)[1] for _ in range(REPEATS))


def _all_ok(said: dict[str, int]) -> int:
    """How many requests there were. RuntimeError if there was none, or if some failed, which is
    cheaper than a reply."""
    if not said["requests"]:
        raise RuntimeError(f"no request has ended in {DURATION_S} s: the machine is too busy")
    if said["failures"]:
        raise RuntimeError(f"{said['failures']} of {said['requests']} requests failed")
    return said["requests"]


TOOLS = {"ours": ours, "wrk": wrk, "ab": ab, "k6": k6}


def measure(server: Server) -> Iterator[GoalRow]:
    """The lines of each case, then what could not be measured."""
    names = [name for name in TOOLS if name == "ours" or peers.find(name)]
    for case in CASES:
        tools = {name: TOOLS[name] for name in names if case.takes(name)}
        if case.name != AGAIN:
            yield from lines_of(case, costs_of(case, server, tools))
            continue
        # In turns with it: a case that was measured minutes before may have had another machine.
        costs = costs_of(case, server, {**tools, "full": ours_full})
        full_us = costs.pop("full")
        yield from lines_of(case, costs)
        share, words = costs["ours"] / full_us, f"≤ {RESUMED_SHARE:g}"
        measured = f"{share:.2f}: {costs['ours']:.1f} of {full_us:.1f} µs in turns"
        yield GoalRow("resumed / full handshake", measured, words, share <= RESUMED_SHARE)
    for name in TOOLS:
        if name not in {*names, "k6"}:
            yield GoalRow(name, "not measured: not installed")


def lines_of(case: Case, costs: dict[str, float]) -> Iterator[GoalRow]:
    """What each tool costs, beside the goals for wrk and ab; then a line for k6."""
    own_us = costs["ours"]
    others = {name: cost for name, cost in costs.items() if name not in {"ours", "k6"}}
    parts = [f"{name} {cost:.1f} ({own_us / cost:.2f} ×)" for name, cost in others.items()]
    goals = {name: goal for name, goal in case.goals.items() if name != "k6"}
    met = [own_us <= goal * costs[name] for name, goal in goals.items() if name in costs]
    words = ", ".join(f"≤ {goal:g} × {name}" for name, goal in goals.items())
    measured = ", ".join([f"{own_us:.1f} µs", *parts])
    yield GoalRow(case.name, measured, words, all(met) if met else None)
    if case.takes("k6"):
        yield _beside_k6(case, own_us, costs.get("k6"))


def _beside_k6(case: Case, own_us: float, cost_us: float | None) -> GoalRow:
    goal = case.goals["k6"]
    name, words = f"{case.name}, k6", f"≤ 1/{1 / goal:g} of k6's"
    if cost_us is None:
        return GoalRow(name, peers.HOW, words)
    measured = f"k6 {cost_us:.1f} µs; ours is 1/{cost_us / own_us:.1f} of it"
    return GoalRow(name, measured, words, own_us <= goal * cost_us)


def costs_of(case: Case, server: Server, tools: dict[str, Tool]) -> dict[str, float]:
    """The median cost of a request by tool, µs; the tools take turns."""
    seen: dict[str, list[float]] = {name: [] for name in tools}
    for _ in range(REPEATS):
        for name, tool in tools.items():
            command, cost = tool(case, server)
            seen[name].append(cost(*run(command)))
    return {name: statistics.median(costs) for name, costs in seen.items()}


def run(command: list[str]) -> tuple[str, float]:
    """(what it printed, the CPU time of it and what it started in µs)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Exit status 3, an unusable measurement, is usual here: the injector is meant to be busy.
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip())
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, used_s * 1e6
