"""Is trust put where it belongs? Real runs on loopback, of injectors that are starved and that are
not, judged by the product's own functions.

A starved run is off if its mean, p50 or p99 (p90 where the page shows no p99) is more than 10 % and
more than 1 ms (0.4 ms of mean and p50) above the truth: the server's own log, which begins with
the kernel's stamp of a request's arrival, and what an injector adds that is not starved, the median
of such runs. It must not be trusted then, and the target must never be blamed.
"""

import contextlib
import json
import socket
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from benchmarks import starvation
from benchmarks.figures import GoalRow
from benchmarks.injected_run import Hold, free, measure
from benchmarks.servers import free_ports, program
from campaigns.domain.judged.judgement import Judgement, judge
from campaigns.domain.judged.observations import judged_percentile, observe
from campaigns.domain.lifecycle import TargetState, Trust
from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.percentiles import P50, WHOLE
from campaigns.domain.plan.presets import PRESETS

TITLE = "Judgement, by real runs on loopback"
TRIALS = 10
_DURATION_S = 1.4
_OFF, _TYPICAL_MS, _HIGH_MS = 0.10, 0.4, 1.0
_FEW = 5
_COUNTED_PLANS = 40

_SAMPLE_ARMS = [
    ("http", "new"), ("http", "keep-alive"),
    ("https", "new"), ("https", "resumed"), ("https", "keep-alive"),
]  # fmt: skip
_SPEEDS = {"1 ms": 1, "50 ms": 50}
_LOADS = {
    ("open", "1 ms"): {"model": "open", "rate_per_s": 800},
    ("open", "50 ms"): {"model": "open", "rate_per_s": 400},
    ("closed", "1 ms"): {"model": "closed", "connections": 4},
    ("closed", "50 ms"): {"model": "closed", "connections": 40},
}
_HOLDS: dict[str, Hold] = {
    "1 burner": lambda pid: starvation.burners(1, core=0),
    "3 burners": lambda pid: starvation.burners(3, core=0),
    "quota 10 %": lambda pid: starvation.quota(pid, 0.1),
    "quota 40 %": lambda pid: starvation.quota(pid, 0.4),
    "stopped 300 ms": lambda pid: starvation.stopped(pid, _DURATION_S / 2, 0.3),
}


def measure_all(trials: int = TRIALS) -> Iterator[tuple[str, Iterator[GoalRow]]]:
    """(title, lines) of each section."""
    how = starvation.how_quotas_are_made()
    yield f"A starved injector, {trials} runs each; quotas by {how}", _starved(trials)
    yield f"A healthy injector, {trials} runs each", _bad_targets(trials)
    title = (
        f"An idle machine, the bundled target and the sample campaign's tests, {trials} runs each"
    )
    yield title, _ordinary(trials)
    yield "Counts against the server's own log", _counts(trials)


def judgement_of(seen: Measurement) -> Judgement:
    return judge(observe(seen, is_co_located=True), seen.total.timing("response"))


# --- a starved injector --------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Levels:
    """Times in ms."""

    mean: float
    p50: float
    high: float


def _starved(trials: int) -> Iterator[GoalRow]:
    with _echo() as (port, log):
        added = {key: _added(key, port, log, min(trials, _FEW)) for key in _LOADS}
        for name, hold in _HOLDS.items():
            for key in _LOADS:
                yield _cell(name, hold, key, added[key], (port, log), trials)


def _cell(
    name: str,
    hold: Hold,
    key: tuple[str, str],
    added: _Levels,
    server: tuple[int, Path],
    trials: int,
) -> GoalRow:
    n_off = n_trusted = n_noted = n_wrong = n_blamed = 0
    for _ in range(trials):
        seen, truth = _run(key, *server, hold)
        found = judgement_of(seen)
        off = _off(_levels(seen), truth, added)
        is_trusted = found.measurement.state == Trust.TRUSTED
        is_noted = bool(found.why_weak_tail) and off == {"high"}
        n_off += bool(off)
        n_trusted += is_trusted
        n_noted += is_trusted and is_noted
        n_wrong += is_trusted and bool(off) and not is_noted
        n_blamed += found.target.state not in {None, TargetState.HEALTHY}
    load, speed = key
    return GoalRow(
        f"{name}, {load}, {speed}",
        f"off {n_off}, of these trusted {n_wrong}, noted {n_noted}; blamed {n_blamed}; "
        f"trusted {n_trusted}",
        "0 trusted, 0 blamed",
        not n_wrong and not n_blamed,
    )


def _added(key: tuple[str, str], port: int, log: Path, runs: int) -> _Levels:
    """What an injector adds that nothing starves: the medians over some runs."""
    pairs = [(_levels(seen), truth) for seen, truth in (_run(key, port, log) for _ in range(runs))]
    return _Levels(
        *(
            statistics.median(getattr(seen, name) - getattr(truth, name) for seen, truth in pairs)
            for name in _Levels.__slots__
        )
    )


def _run(
    key: tuple[str, str], port: int, log: Path, hold: Hold = free
) -> tuple[Measurement, _Levels]:
    """A run, and the server's own times of it."""
    path = f"/?delay_ms={_SPEEDS[key[1]]}&timed=1"
    plan = {
        "steps": [{"method": "GET", "path": path}],
        "load": _LOADS[key] | {"duration_s": _DURATION_S},
    }
    known = log.stat().st_size
    seen = measure(plan, port, hold)
    with open(log) as file:
        file.seek(known)
        took_ms = sorted(json.loads(line)["service_us"] / 1000 for line in file)
    high = _high_of(seen) / WHOLE
    ranks = (_nearest(took_ms, P50 / WHOLE), _nearest(took_ms, high))
    return seen, _Levels(statistics.fmean(took_ms), *ranks)


def _levels(seen: Measurement) -> _Levels:
    response = seen.total.timing("response")
    ranks = (response.percentile_us(P50) / 1000, response.percentile_us(_high_of(seen)) / 1000)
    return _Levels(response.mean_us / 1000, *ranks)


def _high_of(seen: Measurement) -> int:
    return judged_percentile(seen.total.timing("response").n)


def _nearest(ordered: list[float], share: float) -> float:
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def _off(seen: _Levels, truth: _Levels, added: _Levels) -> set[str]:
    """Which levels are."""

    def is_above(name: str, least_ms: float) -> bool:
        true_ms = getattr(truth, name) + max(0.0, getattr(added, name))
        return getattr(seen, name) - true_ms > max(_OFF * true_ms, least_ms)

    least_ms = {"mean": _TYPICAL_MS, "p50": _TYPICAL_MS, "high": _HIGH_MS}
    return {name for name in least_ms if is_above(name, least_ms[name])}


@contextlib.contextmanager
def _echo() -> Iterator[tuple[int, Path]]:
    """The bundled target on the other core: its port and its log."""
    with tempfile.TemporaryDirectory() as folder:
        (port,) = free_ports(1)
        log = Path(folder) / "log"
        command = ["workers.echo", "--http-port", str(port), "--log", str(log)]
        with program(*command, port=port, core=1):
            yield port, log


# --- a healthy injector, bad targets -------------------------------------------------------------
def _open(rate_per_s: int, duration_s: float, **more: Any) -> dict[str, Any]:
    load = {"model": "open", "rate_per_s": rate_per_s, "duration_s": duration_s}
    return {"steps": [{"method": "GET", "path": "/"}], "load": load, **more}


_QUICK = {"connect_s": 0.3, "tls_s": 0.3, "total_s": 0.3}
_BAD = {
    "20 % 503": ("failing", _open(200, 1), TargetState.FAILING),
    "refusing": ("", _open(100, 1), TargetState.FAILING),
    "30 % time out": ("slow", _open(100, 1, timeouts=_QUICK), TargetState.FAILING),
    "at 100 % CPU": ("saturated", _open(450, 2), TargetState.OVERLOADED),
    "all 404": ("missing", _open(200, 1), TargetState.FAILING),
}


def _bad_targets(trials: int) -> Iterator[GoalRow]:
    for name, (kind, plan, state) in _BAD.items():
        (port,) = free_ports(1)
        with contextlib.ExitStack() as stack:
            if kind:
                command = ["benchmarks.bad_target", kind, str(port)]
                stack.enter_context(program(*command, port=port, core=1))
            found = [judgement_of(measure(plan, port)) for _ in range(trials)]
        n_trusted = sum(each.measurement.state == Trust.TRUSTED for each in found)
        n_right = sum(each.target.state == state for each in found)
        yield GoalRow(
            name,
            f"trusted {n_trusted} of {trials}, {state} {n_right} of {trials}{_doubts(found)}",
            "all trusted, all right",
            n_trusted == n_right == trials,
        )


def _doubts(found: list[Judgement]) -> str:
    """Why some were not trusted, by code."""
    codes = Counter(reason.code for each in found for reason in each.measurement.reasons)
    return f" ({', '.join(f'{code} {n}' for code, n in codes.most_common(3))})" if codes else ""


# --- an ordinary machine -------------------------------------------------------------------------
def _ordinary(trials: int) -> Iterator[GoalRow]:
    """Nothing is pinned: target and injector share the machine as they like."""
    plan = PRESETS["https"].spec
    with tempfile.TemporaryDirectory() as folder:
        http, https = free_ports(2)
        ports = ["--http-port", str(http), "--https-port", str(https), "--cert-dir", folder]
        with program("workers.echo", *ports, port=https):
            for scheme, mode in _SAMPLE_ARMS:
                port = https if scheme == "https" else http
                found = [
                    judgement_of(measure(plan, port, scheme=scheme, mode=mode, core=None))
                    for _ in range(trials)
                ]
                n_trusted = sum(each.measurement.state == Trust.TRUSTED for each in found)
                n_noted = sum(bool(each.why_weak_tail) for each in found)
                yield GoalRow(
                    f"{scheme}, {mode}",
                    f"trusted {n_trusted} of {trials}, p99 noted {n_noted}{_doubts(found)}",
                    "every run",
                    n_trusted == trials,
                )


# --- counts --------------------------------------------------------------------------------------
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
_COUNTED_LOADS: tuple[dict[str, Any], ...] = (
    {"model": "closed", "connections": 8, "requests": 200},
    {"model": "sequential", "requests": 100},
    {"model": "open", "rate_per_s": 400, "requests": 200},
    {"model": "open", "rate_per_s": 300, "requests": 200, "distribution": "exponential"},
    {"model": "over", "requests": 200, "over_s": 0.5},
    {"model": "window", "low": 5, "high": 20, "requests": 200},
    {"model": "open", "rate_per_s": 50, "requests": 30, "arrival_unit": "session"},
)
_SESSION = {"calls_per_session": 5, "retry_on_failure": True}
_WAYS = (("http", "new"), ("http", "keep-alive"), ("https", "resumed"))


def counted_plans() -> list[tuple[dict[str, Any], str, str, str]]:
    """(plan, kind of server, scheme, mode): every load in every way, without resets and with."""
    return [
        ({"steps": _steps(load), "load": load, "session": _session(load)}, kind, scheme, mode)
        for kind in ("healthy", "resetting")
        for load in _COUNTED_LOADS
        for scheme, mode in _WAYS
    ][:_COUNTED_PLANS]


def _steps(load: dict[str, Any]) -> list[dict[str, Any]]:
    """One for each method; a POST is never sent again."""
    bodies = {"POST": "x", "PUT": "x"}
    left_out = {"POST"} if _session(load) else set()
    methods = [method for method in _METHODS if method not in left_out]
    return [{"method": each, "path": "/", "body": bodies.get(each, "")} for each in methods]


def _session(load: dict[str, Any]) -> dict[str, Any]:
    return _SESSION if "arrival_unit" in load else {}


def _counts(trials: int) -> Iterator[GoalRow]:
    plans = counted_plans()
    if trials < TRIALS:
        plans = plans[:: max(1, TRIALS // trials)]
    wrong = []
    for number, (plan, kind, scheme, mode) in enumerate(plans):
        with tempfile.TemporaryDirectory() as folder:
            port, log = _two_free_ports(), Path(folder) / "log"
            with program("benchmarks.bad_target", kind, str(port), str(log), port=port):
                seen = measure(plan, port + (scheme == "https"), scheme=scheme, mode=mode)
            lines = [json.loads(line) for line in log.read_text().splitlines()]
        wrong += [f"{number}: {text}" for text in differences(seen, lines)]
    yield GoalRow(
        f"{len(plans)} plans: methods, loads, modes, resets",
        "; ".join(wrong) or "exact",
        "exact",
        not wrong,
    )


def _two_free_ports() -> int:
    """The first of two neighbours."""
    while True:
        (port,) = free_ports(1)
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.enter_context(socket.create_server(("127.0.0.1", port + 1)))
            return port


def differences(seen: Measurement, lines: list[dict[str, Any]]) -> list[str]:
    """Where the measurement and the server's log of it do not agree."""
    total = seen.total
    by_method = Counter(line["method"] for line in lines)
    ours = {
        step.method: each.count("ok") + each.count("failed")
        for step, each in zip(seen.plan.steps, seen.steps, strict=True)
    }
    n_reset = sum(line["is_reset"] for line in lines)
    pairs = {
        "requests by method": (ours, dict(by_method)),
        "ok": (total.count("ok"), len(lines) - n_reset),
        "failed": (total.count("failed"), n_reset),
        "connections": (
            total.count("connections_opened"), len({line["connection"] for line in lines}),
        ),
    }  # fmt: skip
    return [f"{name} {a}, log {b}" for name, (a, b) in pairs.items() if a != b]
