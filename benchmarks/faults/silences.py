"""Stops runs as a user does, and reads from the target's log when they fell silent."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from random import Random

from benchmarks.faults import runs
from benchmarks.faults.evidence import Arrivals
from benchmarks.faults.kinds import RunPhase
from benchmarks.faults.lab import Lab
from benchmarks.faults.network import TARGETS
from benchmarks.faults.report import quantile
from benchmarks.faults.verdicts import silent_after_s
from benchmarks.faults.world import World, send
from local.console import LocalError

# Much longer than it takes to stop it.
MEASURED_S = 60
COMES_TO_ITS_PHASE_S = 60.0
FROZEN_S, THAWED_S = 0.45, 0.05
ENDS_WITHIN_S = 60.0
SOON_S = 0.5


def measure(
    world: World, n_stops: int, seed: int, *, is_slow: bool = False, of_projects: bool = False
) -> None:
    """Print how long load went on after each of so many stops; `of_projects`: each run of a project
    counts, of which all were stopped together."""
    stop_four = _stop_two_projects if of_projects else partial(_stop_four, is_slow=is_slow)
    lab, arrivals, found = Lab(world), Arrivals(world.arrivals), []
    chance, number = Random(seed), 0
    while len(found) < n_stops:
        number += 1
        lab.settle()
        found += stop_four(world, arrivals, number, chance)
        print(f"{len(found)} stopped, {_words(found)}, load {os.getloadavg()[0]:.0f}", flush=True)


def _stop_four(
    world: World, arrivals: Arrivals, number: int, chance: Random, *, is_slow: bool
) -> list[float]:
    """Each at a moment of its own, with no other between the click and its silence."""
    paths = [f"/stopped/{number}/{place}" for place in range(len(TARGETS))]
    run_ids = [runs.start_one(path, MEASURED_S, place) for place, path in enumerate(paths)]
    until = time.monotonic() + COMES_TO_ITS_PHASE_S
    clicked: dict[int, int] = {}
    for place, run_id in enumerate(run_ids):
        if not runs.await_phase(run_id, RunPhase.MEASURED, chance.random() / MEASURED_S, until):
            raise LocalError(f"Run {run_id} did not begin.")
        _await_load(arrivals, paths[place])
        time.sleep(chance.random())
        with _slowed(world) if is_slow else contextlib.nullcontext():
            clicked[place] = time.monotonic_ns()
            runs.stop(run_id)
            _await_silence(arrivals, paths[place])
    _await_ends(run_ids)
    seen = (
        silent_after_s(arrivals.of(paths[place]), clicked_ns)
        for place, clicked_ns in clicked.items()
    )
    return [each for each in seen if each is not None]


def _stop_two_projects(_: World, arrivals: Arrivals, number: int, chance: Random) -> list[float]:
    """Two runs of one project fall silent while those of the other go on, which are then stopped as
    well. Raises LocalError where they do not."""
    paths = [f"/stopped/{number}/{place}" for place in range(len(TARGETS))]
    run_ids = [
        runs.start_one(path, MEASURED_S, place, n_projects=2) for place, path in enumerate(paths)
    ]
    for path in paths:
        _await_load(arrivals, path)
    time.sleep(chance.random())
    found = []
    for stopped, others in ((0, 1), (2, 3)), ((2, 3), ()):
        clicked_ns = time.monotonic_ns()
        runs.stop_project_of(run_ids[stopped[0]])
        for place in stopped:
            _await_silence(arrivals, paths[place])
            found.append(silent_after_s(arrivals.of(paths[place]), clicked_ns))
        for place in others:
            _go_on(arrivals, paths[place])
    _await_ends(run_ids)
    return [each for each in found if each is not None]


def _go_on(arrivals: Arrivals, path: str) -> None:
    n_before = len(arrivals.of(path))
    time.sleep(SOON_S)
    if len(arrivals.of(path)) == n_before:
        raise LocalError(f"Load to {path}, of another project, has ended as well.")


def _await_load(arrivals: Arrivals, path: str) -> None:
    until = time.monotonic() + COMES_TO_ITS_PHASE_S
    while not arrivals.of(path):
        if time.monotonic() > until:
            raise LocalError(f"No load to {path} within {COMES_TO_ITS_PHASE_S:g} s.")
        time.sleep(0.1)


def _await_silence(arrivals: Arrivals, path: str) -> None:
    """At 40 requests/s a second without one is silence."""
    until = time.monotonic() + ENDS_WITHIN_S
    while time.monotonic_ns() - arrivals.of(path)[-1] < 1e9:
        if time.monotonic() > until:
            raise LocalError(f"Load to {path} has not ended within {ENDS_WITHIN_S:g} s.")
        time.sleep(0.1)


def _await_ends(run_ids: list[int]) -> None:
    until = time.monotonic() + ENDS_WITHIN_S
    while (waiting := runs.ask(lambda: runs.unended(run_ids))) != []:
        if time.monotonic() > until:
            raise LocalError(f"Not ended within {ENDS_WITHIN_S:g} s: {waiting}")
        time.sleep(0.1)


@contextlib.contextmanager
def _slowed(world: World) -> Iterator[None]:
    over = threading.Event()

    def freeze_and_thaw() -> None:
        while not over.is_set():
            frozen = world.part("postgres")
            send(frozen, signal.SIGSTOP)
            over.wait(FROZEN_S)
            send(frozen, signal.SIGCONT)
            over.wait(THAWED_S)

    thread = threading.Thread(target=freeze_and_thaw)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _words(found: list[float]) -> str:
    ranks = ", ".join(f"p{100 * rank:g} {quantile(found, rank):.2f} s" for rank in (0.5, 0.9, 0.99))
    return f"{ranks}, max {max(found):.2f} s"
