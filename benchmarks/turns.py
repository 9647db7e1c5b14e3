"""Measurements of the product's own injector whose arms take turns, against the demo target."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.servers import free_ports, program
from campaigns.domain.metrics.rounds import ArmsEnd, ArmsRound

RATE_PER_S, REPLY_MS = 200, 3.0
_START_DELAY_NS = 50_000_000
Beside = Callable[[int], contextlib.AbstractContextManager]


@dataclass(frozen=True, slots=True)
class InTurns:
    """What the injector told. `round_s`: how long a round took."""

    rounds: list[ArmsRound]
    end: ArmsEnd
    round_s: float


@contextlib.contextmanager
def demo_target() -> Iterator[tuple[int, int]]:
    """(port, number of its process) for the length of a `with` block."""
    (port,) = free_ports(1)
    with program("workers.echo", "--http-port", str(port), port=port) as process:
        yield port, process.pid


def measure_in_turns(
    port: int, replies_ms: Sequence[float], beside: Beside, *, rate_per_s: float, **turns: Any
) -> InTurns:
    """An arm for each time to wait before the reply. `turns`: of the order. RuntimeError if it
    measured nothing."""
    load = {"model": "open", "rate_per_s": rate_per_s, "duration_s": turns["limit_s"]}
    endpoint = {"scheme": "http", "host": "127.0.0.1", "port": port}
    arms = [
        {"endpoint": endpoint, "plan": {"load": load, "steps": [{"path": f"/?delay_ms={ms}"}]}}
        for ms in replies_ms
    ]
    order = {"protocol": 2, "arms": arms, "policy": {"allow": ["127.0.0.1"]}, "turns": turns}
    lines = list(injector_lines(order, beside))
    said = {line["type"]: line for line in lines}
    if said["end"]["type"] != "end" or "pace" not in said:
        raise RuntimeError(f"the injector ended with {lines[-1]}")
    pace = said["pace"]
    return InTurns(
        [ArmsRound.from_json(line) for line in lines if line["type"] == "round"],
        ArmsEnd.from_json(said["end"]),
        len(arms) * (pace["slice_s"] + pace["gap_s"]),
    )


def injector_lines(order: dict[str, Any], beside: Beside) -> Iterator[dict[str, Any]]:
    """What an injector says to an order that it begins at once."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen([sys.executable, "-m", "workers.injector"], **pipes) as process:
        print(json.dumps(order), file=process.stdin)
        with beside(process.pid):
            for line in map(json.loads, process.stdout):
                if line["type"] == "ready":
                    start = {"start_at_ns": time.monotonic_ns() + _START_DELAY_NS}
                    print(json.dumps(start), file=process.stdin)
                yield line
