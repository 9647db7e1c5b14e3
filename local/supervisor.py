"""Keeps children running, and leaves none behind.

A child that dies or hangs is restarted with increasing delay and a message on the terminal. At the
end the children are stopped in reverse order of their start, and their leftover processes are ended
too.
"""

import ctypes
import math
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from logging.handlers import RotatingFileHandler
from pathlib import Path

from local.base import ROOT, LocalError, StopRequested, private_folder, say

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
MOST_LOGS = 3
LONGEST_LOG_BYTES = 10 * 1024 * 1024
NICENESS = 10
ORPHANS_PATIENCE_S = 3.0
TICK_S = 0.05
FIRST_BACKOFF_S = 0.5
LONGEST_BACKOFF_S = 30.0
# More than enough for the longest; after a thousand the number would be no float any more.
MOST_DOUBLINGS = 10
# A child that lived this long is healthy: its restart delay is reset.
HEALTHY_S = 30.0
# On a crowded machine a start takes minutes, and one that is killed begins anew.
STARTS_WITHIN_S = 600.0
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Program:
    """A child: its command, and the signals that ask it to end, each with its timeout.

    `death_signal` is sent by the kernel to the child if this process is killed. `pulse` is a file
    that it touches while it works: one that does not for `silent_s` hangs. One that `gives_way`
    lets injectors and target have the CPU first. A folder of `sockets` goes at its end.
    """

    name: str
    command: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    cwd: Path = ROOT
    stop_signals: tuple[tuple[signal.Signals, float], ...] = ((signal.SIGTERM, 5.0),)
    death_signal: signal.Signals = signal.SIGTERM
    pulse: Path | None = None
    silent_s: float = 60.0
    gives_way: bool = False
    is_server: bool = False  # others need it, so it is stopped after them
    sockets: Path | None = None


def spawn(program: Program, log: Path | None) -> subprocess.Popen:
    """The started child, in its own session; its output goes to the log, or to ours."""
    parent = os.getpid()

    def prepare() -> None:
        if program.gives_way:
            os.nice(NICENESS)
            # Where the kernel groups processes by session, niceness counts only within the group,
            # and the group has one of its own.
            with suppress(OSError), open("/proc/self/autogroup", "w") as group:
                group.write(str(NICENESS))
        _libc.prctl(PR_SET_PDEATHSIG, int(program.death_signal))
        if os.getppid() != parent:
            os.kill(os.getpid(), program.death_signal)

    with log.open("ab") if log else nullcontext() as output:
        return subprocess.Popen(
            program.command,
            cwd=program.cwd,
            env=program.env or None,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            start_new_session=True,
            preexec_fn=prepare,
        )


def set_aside(log: Path) -> None:
    """Keep a log as .1, and those before it as .2 and .3. A running program has it open for
    appending, so it is emptied, not renamed: the program goes on at its start."""
    if log.exists():
        handler = RotatingFileHandler(log, backupCount=MOST_LOGS, delay=True)
        handler.rotator = _copy_and_empty
        handler.doRollover()


def _copy_and_empty(log: str, copy: str) -> None:
    try:
        shutil.copyfile(log, copy)
    except OSError:  # a full disk needs the room more than it needs what was written
        Path(copy).unlink(missing_ok=True)
    os.truncate(log, 0)


def end_together(children: Sequence[tuple[Program, subprocess.Popen]]) -> None:
    """End all of these and the rest of their sessions; return when they are gone. Each is sent its
    signals in turn, then killed."""
    due = {process: (0.0, iter(program.stop_signals)) for program, process in children}
    while running := [process for process in due if process.poll() is None]:
        for process in running:
            at, signals = due[process]
            if time.monotonic() >= at:
                stop_signal, patience_s = next(signals, (signal.SIGKILL, 60.0))
                process.send_signal(stop_signal)
                due[process] = (time.monotonic() + patience_s, signals)
        time.sleep(TICK_S)
    for _program, process in children:
        kill_session(process.pid)


def kill_session(pid: int) -> None:
    """Kill what is left of a child's session after its leader is gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def own_children() -> list[int]:
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


def reap_orphans(ours: set[int]) -> None:
    """Reap ended orphans that we adopted; otherwise they remain zombies."""
    for pid in set(own_children()) - ours:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def end_orphans() -> None:
    """End and reap grandchildren in other sessions, which have become our children."""
    until = time.monotonic() + ORPHANS_PATIENCE_S
    while orphans := own_children():
        stop_signal = signal.SIGTERM if time.monotonic() <= until else signal.SIGKILL
        for pid in orphans:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, stop_signal)
                os.waitpid(pid, os.WNOHANG)
        time.sleep(TICK_S)


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

    def __init__(self, log_dir: Path):
        self.log_dir = log_dir
        self.children: dict[str, Child] = {}
        self.guests: set[int] = set()  # programs of run_together
        self.is_stopping = False
        private_folder(log_dir)
        # Adopt our children's orphans, so that they can be found and ended.
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)

    def log(self, name: str) -> Path:
        return self.log_dir / f"{name}.log"

    def start(self, program: Program) -> None:
        set_aside(self.log(program.name))
        touched_ns = _touched_ns(program)
        process = spawn(program, self.log(program.name))
        self.children[program.name] = Child(program, process, time.monotonic(), pulse_ns=touched_ns)

    def pids(self) -> dict[str, int]:
        return {name: child.process.pid for name, child in self.children.items()}

    def tick(self) -> None:
        """Restart dead children whose delay is over; keep logs short."""
        reap_orphans(set(self.pids().values()) | self.guests)
        for child in self.children.values():
            log = self.log(child.program.name)
            with suppress(OSError):  # a disk that refuses to: nothing may end because of a log
                if log.stat().st_size >= LONGEST_LOG_BYTES:
                    set_aside(log)
            if child.restart_at is None:
                self._look_after(child)
            elif time.monotonic() >= child.restart_at:
                self._restart(child)

    def wait(self, seconds: float = math.inf) -> None:
        """Sleep while watching the children. Raises StopRequested."""
        until = time.monotonic() + seconds
        while True:
            if self.is_stopping:
                raise StopRequested
            self.tick()
            left_s = until - time.monotonic()
            if left_s <= 0:
                return
            time.sleep(min(TICK_S, left_s))

    def wait_until(self, is_ready: Callable[[], bool], seconds: float, name: str) -> None:
        """Wait for a child to be ready. Raises LocalError if it is not in time."""
        until = time.monotonic() + seconds
        while not is_ready():
            if time.monotonic() > until:
                raise LocalError(
                    f"{name} was not ready within {seconds:.0f} s (its log: {self.log(name)})."
                )
            self.wait(TICK_S)

    def run_to_end(self, program: Program) -> int:
        """Run a program on our terminal while watching the others; returns its exit status."""
        return self.run_together([(program, None)])[0]

    def run_together(self, jobs: Sequence[tuple[Program, Path | None]]) -> list[int]:
        """Run programs at the same time, each with its log, to the end of all; their statuses."""
        running = []
        try:
            for program, log in jobs:
                running.append((program, spawn(program, log)))
                self.guests.add(running[-1][1].pid)
            while any(process.poll() is None for _, process in running):
                self.wait(TICK_S)
        finally:
            end_together(running)
            self.guests.difference_update(process.pid for _, process in running)
        return [process.returncode for _, process in running]

    def request_stop(self, *_signal: object) -> None:
        self.is_stopping = True

    def stop_on_signals(self) -> None:
        """Treat Ctrl-C, SIGTERM and the terminal's end as stop requests, and the end of `make` if
        that is killed: nobody could press Ctrl-C then."""
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, self.request_stop)
        with suppress(OSError):
            if Path(f"/proc/{os.getppid()}/comm").read_text().strip() in {"make", "gmake"}:
                _libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))

    def stop_all(self) -> None:
        """Stop the servers' users together, then the servers."""
        children = [(child.program, child.process) for child in self.children.values()]
        end_together([each for each in children if not each[0].is_server])
        end_together([each for each in children if each[0].is_server])
        for program, _process in children:
            if program.sockets:
                shutil.rmtree(program.sockets, ignore_errors=True)
        self.children.clear()
        end_orphans()

    def _look_after(self, child: Child) -> None:
        """Kill what hangs, unasked because it does not listen; put off the start of what ended."""
        now = time.monotonic()
        if child.program.pulse and child.process.poll() is None:
            touched_ns = _touched_ns(child.program)
            if touched_ns != child.pulse_ns:
                child.pulse_ns, child.pulsed_at = touched_ns, now
            has_begun = child.pulsed_at > child.started_at
            longest_s = child.program.silent_s if has_begun else STARTS_WITHIN_S
            if now - max(child.pulsed_at, child.started_at) > longest_s:
                say(f"{child.program.name} has done nothing for {longest_s:g} s")
                child.process.kill()
                child.process.wait()
        status = child.process.poll()
        if status is not None:
            kill_session(child.process.pid)
            if now - child.started_at > HEALTHY_S:
                child.failures = 0
            by_signal = status < 0 and f"was killed by {signal.Signals(-status).name}"
            self._put_off(child, f"{by_signal or f'exited with status {status}'}; restarting it")

    def _restart(self, child: Child) -> None:
        try:
            child.process = spawn(child.program, self.log(child.program.name))
        except OSError as error:  # the others go on, and their runs
            self._put_off(child, f"cannot be started: {error}; trying again")
            return
        child.started_at = time.monotonic()
        child.restart_at = None

    def _put_off(self, child: Child, what: str) -> None:
        """Until its next start, the longer the more often it has failed."""
        child.failures += 1
        doublings = min(child.failures - 1, MOST_DOUBLINGS)
        backoff_s = min(FIRST_BACKOFF_S * 2**doublings, LONGEST_BACKOFF_S)
        child.restart_at = time.monotonic() + backoff_s
        name = child.program.name
        say(f"{name} {what} in {backoff_s:g} s (log: {self.log(name)})")


def _touched_ns(program: Program) -> int:
    """When its pulse was last touched; 0 for never."""
    return program.pulse.stat().st_mtime_ns if program.pulse and program.pulse.exists() else 0
