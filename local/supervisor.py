"""Keeps children running, and leaves none behind.

A child that dies or hangs is restarted with increasing delay and a message on the terminal. At the
end the children are stopped in reverse order of their start, and their leftover processes are ended
too.
"""

import ctypes
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from local.children import Program, end_with_make, how_it_ended, rotate, shorten, spawn
from local.console import LocalError, say
from local.endings import end_orphans, end_together, kill_session, reap_orphans
from local.paths import closed

PR_SET_CHILD_SUBREAPER = 36
TICK_S = 0.1
FIRST_BACKOFF_S = 0.5
LONGEST_BACKOFF_S = 30.0
# More than enough for the longest; after a thousand the number would be no float any more.
MOST_DOUBLINGS = 10
# A child that lived this long is healthy: its restart delay is reset.
HEALTHY_S = 30.0
# On a crowded machine a start takes minutes, and one that is killed begins anew.
STARTS_WITHIN_S = 600.0


class StopRequested(Exception):
    """This process was asked to end."""


@dataclass
class Child:
    program: Program
    process: subprocess.Popen
    started_at: float
    failures: int = 0
    pulse_ns: int = 0
    pulsed_at: float = 0.0
    restart_at: float | None = None


class Supervisor:
    """Starts programs, watches them, and stops them all; use it from the main thread only."""

    def __init__(self, log_dir: Path, tell: Callable[[str], None] = say):
        self.log_dir = log_dir
        self.tell = tell
        self.children: dict[str, Child] = {}
        self.guests: set[int] = set()  # programs of run_together
        self.is_stopping = False
        closed(log_dir)
        # Adopt our children's orphans, so that they can be found and ended.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)

    def start(self, program: Program) -> None:
        rotate(self._log(program.name))
        process = spawn(program, self._log(program.name))
        touched_ns = _touched_ns(program)
        self.children[program.name] = Child(program, process, time.monotonic(), pulse_ns=touched_ns)

    def pids(self) -> dict[str, int]:
        return {name: child.process.pid for name, child in self.children.items()}

    def is_alive(self, name: str) -> bool:
        return self.children[name].process.poll() is None

    def tick(self) -> None:
        """Restart dead children whose delay is over; keep logs short."""
        reap_orphans(set(self.pids().values()) | self.guests)
        for child in self.children.values():
            with suppress(OSError):  # a disk that refuses to: nothing may end because of a log
                shorten(self._log(child.program.name))
            if child.restart_at is None and self._hangs(child):
                self._kill(child)
            if child.restart_at is None and child.process.poll() is not None:
                self._plan_restart(child)
            if child.restart_at is not None and time.monotonic() >= child.restart_at:
                self._restart(child)

    def wait(self, seconds: float) -> None:
        """Sleep while watching the children. Raises StopRequested."""
        until = time.monotonic() + seconds
        while True:
            if self.is_stopping:
                raise StopRequested
            self.tick()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(TICK_S, left))

    def wait_until(self, is_ready: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait for a condition. Raises LocalError if it is not met in time."""
        until = time.monotonic() + seconds
        while not is_ready():
            if time.monotonic() > until:
                raise LocalError(f"{what} was not ready within {seconds:.0f} s.")
            self.wait(TICK_S)

    def run_to_end(self, program: Program, log: Path | None) -> int:
        """Run a program to its end while watching the others; returns its exit status."""
        (status,) = self.run_together([(program, log)])
        return status

    def run_together(self, jobs: Sequence[tuple[Program, Path | None]]) -> list[int]:
        """Run programs at the same time, each with its log, to the end of all; their statuses."""
        started = []
        try:
            for program, log in jobs:
                started.append((program, spawn(program, log)))
                self.guests.add(started[-1][1].pid)
            while any(process.poll() is None for _, process in started):
                self.wait(TICK_S)
        finally:
            end_together(started)
            self.guests.difference_update(process.pid for _, process in started)
        return [process.returncode for _, process in started]

    def request_stop(self, *_signal: object) -> None:
        self.is_stopping = True

    def stop_on_signals(self) -> None:
        """Treat Ctrl-C, SIGTERM and the terminal's end as stop requests."""
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, self.request_stop)
        end_with_make()

    def stop(self, name: str) -> None:
        """Stop one child for good."""
        child = self.children.pop(name)
        end_together([(child.program, child.process)])

    def stop_all(self) -> None:
        """Stop the servers' users together, then the servers."""
        for is_server in (False, True):
            group = [
                (child.program, child.process)
                for child in self.children.values()
                if child.program.is_server == is_server
            ]
            end_together(group)
        self.children.clear()
        end_orphans()

    def _log(self, name: str) -> Path:
        return self.log_dir / f"{name}.log"

    def _hangs(self, child: Child) -> bool:
        if child.program.pulse is None:
            return False
        touched_ns, now = _touched_ns(child.program), time.monotonic()
        if touched_ns != child.pulse_ns:
            child.pulse_ns, child.pulsed_at = touched_ns, now
        return now - max(child.pulsed_at, child.started_at) > _may_be_silent_s(child)

    def _kill(self, child: Child) -> None:
        """Not asked first: what hangs does not listen."""
        self.tell(f"{child.program.name} has done nothing for {_may_be_silent_s(child):g} s")
        child.process.kill()
        child.process.wait()

    def _plan_restart(self, child: Child) -> None:
        lived_s = time.monotonic() - child.started_at
        child.failures = 1 if lived_s > HEALTHY_S else child.failures + 1
        backoff_s = _put_off(child)
        kill_session(child.process.pid)
        self.tell(
            f"{child.program.name} {how_it_ended(child.process.returncode)}; restarting it in "
            f"{backoff_s:g} s (log: {self._log(child.program.name)})"
        )

    def _restart(self, child: Child) -> None:
        try:
            child.process = spawn(child.program, self._log(child.program.name))
        except OSError as error:  # the others go on, and their runs
            child.failures += 1
            name, backoff_s = child.program.name, _put_off(child)
            self.tell(f"{name} cannot be started: {error}; trying again in {backoff_s:g} s")
            return
        child.started_at = time.monotonic()
        child.restart_at = None


def _put_off(child: Child) -> float:
    """Until its next start, the longer the more often it has failed; in so many seconds."""
    doublings = min(child.failures - 1, MOST_DOUBLINGS)
    backoff_s = min(FIRST_BACKOFF_S * 2**doublings, LONGEST_BACKOFF_S)
    child.restart_at = time.monotonic() + backoff_s
    return backoff_s


def _may_be_silent_s(child: Child) -> float:
    has_begun = child.pulsed_at > child.started_at
    return child.program.silent_s if has_begun else STARTS_WITHIN_S


def _touched_ns(program: Program) -> int:
    """When its pulse was last touched; 0 for never."""
    return program.pulse.stat().st_mtime_ns if program.pulse and program.pulse.exists() else 0
