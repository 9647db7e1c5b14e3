"""The product's own injector with arms that take turns: what it tells, and what that costs it."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.figures import GoalRow
from benchmarks.noises import Beside
from benchmarks.servers import Server, free_ports, program
from campaigns.domain.metrics.injector_end import ArmsRound

RATE_PER_S, REPLY_MS = 200, 3.0  # of campaigns of the demo target
_START_DELAY_NS = 50_000_000
# More requests a second than a campaign usually has, so that CPU time is well above what the clock
# of the kernel can tell.
_COST_PER_S, _COST_S, _COST_REPEATS, _MOST = 1_000, 15.0, 5, 1.05
TITLE = f"CPU time a request of arms in turns, {_COST_PER_S:,}/s in all"


@dataclass(frozen=True, slots=True)
class InTurns:
    """What the injector told. `round_s`: how long a round took."""

    rounds: list[ArmsRound]
    round_s: float


@contextlib.contextmanager
def demo_target() -> Iterator[tuple[int, int]]:
    """(port, number of its process) for the length of a `with` block."""
    (port,) = free_ports(1)
    with program("workers.echo", "--http-port", str(port), port=port) as process:
        yield port, process.pid


def arm(port: int, path: str, rate_per_s: float, most_s: float) -> dict[str, Any]:
    """Of an order; alone it is one, but for its protocol and policy."""
    load = {"model": "open", "rate_per_s": rate_per_s, "duration_s": most_s}
    endpoint = {"scheme": "http", "host": "127.0.0.1", "port": port}
    plan = {"load": load, "steps": [{"path": path}]}
    return {"endpoint": endpoint, "plan": plan, "connection_mode": "keep-alive"}


def measure_in_turns(
    port: int, replies_ms: Sequence[float], beside: Beside, **turns: Any
) -> InTurns:
    """An arm for each time to wait before the reply. `turns`: of the order. RuntimeError if it
    measured nothing."""
    paths = [f"/?delay_ms={ms}" for ms in replies_ms]
    arms = [arm(port, path, RATE_PER_S, turns["limit_s"]) for path in paths]
    lines = _lines({"protocol": 2, "arms": arms, "turns": turns}, beside)
    pace = next((line for line in lines if line["type"] == "pace"), None)
    if lines[-1]["type"] != "end" or pace is None:
        raise RuntimeError(f"the injector ended with {lines[-1]}")
    return InTurns(
        [ArmsRound.from_json(line) for line in lines if line["type"] == "round"],
        len(arms) * (pace["slice_s"] + pace["gap_s"]),
    )


def _lines(order: dict[str, Any], beside: Beside) -> list[dict[str, Any]]:
    """What an injector says to an order that it begins at once."""
    order |= {"policy": {"allow": ["127.0.0.1"]}}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    lines = []
    with subprocess.Popen([sys.executable, "-m", "workers.injector"], **pipes) as process:
        print(json.dumps(order), file=process.stdin)
        with beside(process.pid):
            for line in map(json.loads, process.stdout):
                lines.append(line)
                if line["type"] == "ready":
                    start = {"start_at_ns": time.monotonic_ns() + _START_DELAY_NS}
                    print(json.dumps(start), file=process.stdin)
    return lines


def measure(server: Server) -> Iterator[GoalRow]:
    """Two and six arms beside one alone, in turns: the median of the quotients of each sitting."""
    costs_us = [[_cost_us(server, n) for n in (1, 2, 6)] for _ in range(_COST_REPEATS)]
    for place, n in ((1, 2), (2, 6)):
        share = median(each[place] / each[0] for each in costs_us)
        alone_us, own_us = (median(each[which] for each in costs_us) for which in (0, place))
        measured = f"{share:.2f} × alone: {own_us:.0f} of {alone_us:.0f} µs"
        yield GoalRow(f"{n} arms in turns", measured, f"≤ {_MOST:g} × alone", share <= _MOST)


def _cost_us(server: Server, n: int) -> float:
    one = arm(server.http_port, "/", _COST_PER_S, _COST_S / n)
    turns = {"limit_s": _COST_S, "until_settled": False}
    order = {"protocol": 1, **one} if n == 1 else {"protocol": 2, "arms": [one] * n, "turns": turns}
    end = _lines(order, lambda _: contextlib.nullcontext())[-1]
    return end["cpu_us"] / sum(each["totals"]["ok"] for each in end.get("arms", [end]))
