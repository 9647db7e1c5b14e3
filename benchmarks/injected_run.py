"""One run of our injector by its contract, with a hand on it between ready and start."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from benchmarks.servers import pin
from campaigns.domain.measured.injector_end import InjectorEnd
from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.measured.snapshot import Second
from campaigns.domain.plan.plan import Plan

_COMMAND = [sys.executable, "-m", "workers.injector"]
START_NS = 100_000_000
Hold = Callable[[int], AbstractContextManager[Any]]


def free(_: int) -> AbstractContextManager[None]:
    """Nothing holds the injector back."""
    return contextlib.nullcontext()


def measure(
    plan: Mapping[str, Any],
    port: int,
    hold: Hold = free,
    *,
    scheme: str = "http",
    mode: str = "keep-alive",
    core: int | None = 0,
) -> Measurement:
    """The run of a plan against 127.0.0.1 by an injector on that core; None: on any.

    `hold` gets its process id and is entered when it is ready, just before it starts.
    """
    return _measurement(plan, told(plan, port, hold, scheme=scheme, mode=mode, core=core))


def told(
    plan: Mapping[str, Any],
    port: int,
    hold: Hold = free,
    *,
    scheme: str = "http",
    mode: str = "keep-alive",
    core: int | None = 0,
) -> list[dict[str, Any]]:
    """The lines of the same run after its start."""
    with subprocess.Popen(
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=None if core is None else lambda: pin(core),
    ) as process:
        _say(process, _order(plan, port, scheme, mode))
        ready = json.loads(process.stdout.readline())
        if ready["type"] != "ready":
            raise RuntimeError(ready["reason"])
        with hold(process.pid):
            _say(process, {"start_at_ns": time.monotonic_ns() + START_NS})
            return [json.loads(line) for line in process.stdout]


def _order(plan: Mapping[str, Any], port: int, scheme: str, mode: str) -> dict[str, Any]:
    endpoint = {"scheme": scheme, "host": "127.0.0.1", "port": port, "verify_tls": False}
    policy = {"allow": ["127.0.0.0/8"]}
    return {
        "protocol": 1, "plan": plan, "endpoint": endpoint, "connection_mode": mode,
        "policy": policy, "seed": 1,
    }  # fmt: skip


def _say(process: subprocess.Popen, message: dict[str, Any]) -> None:
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def _measurement(plan: Mapping[str, Any], lines: list[dict[str, Any]]) -> Measurement:
    measurement = Measurement(Plan.from_json(dict(plan)))
    for line in lines:
        if line["type"] == "second":
            measurement.add(Second.from_json(line))
        elif line["type"] == "end":
            measurement.close(InjectorEnd.from_json(line))
    return measurement.settle()
