"""Keeps children running, and leaves none behind.

A child that dies or hangs is restarted with increasing delay and a message on the terminal. At the
end the children are stopped in reverse order of their start, and their leftover processes are ended
too.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from local.base import ROOT, LocalError, closed, say

PR_SET_PDEATHSIG = 1
KEPT_LOGS = 3
NICENESS = 10
LONGEST_LOG_BYTES = 10 * 1024 * 1024
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class UnixUser:
    """The account that a child runs as, if not our own."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Program:
    """A child: its command, and the signals that ask it to end, each with its timeout.

    `death_signal` is sent by the kernel to the child if this process is killed. `pulse` is a file
    that it touches while it works: one that does not for `silent_s` hangs. One that `gives_way`
    lets injectors and target have the CPU first.
    """

    name: str
    command: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    cwd: Path = ROOT
    account: UnixUser | None = None
    stop_signals: tuple[tuple[signal.Signals, float], ...] = ((signal.SIGTERM, 5.0),)
    death_signal: signal.Signals = signal.SIGTERM
    pulse: Path | None = None
    silent_s: float = 60.0
    gives_way: bool = False
    is_server: bool = False  # others need it, so it is stopped after them


def spawn(program: Program, log: Path | None) -> subprocess.Popen:
    """The started child, in its own session; its output goes to the log, or to ours."""
    output = log.open("ab") if log else None
    try:
        return subprocess.Popen(
            program.command,
            cwd=program.cwd,
            env=program.env or None,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            start_new_session=True,
            preexec_fn=_prepared(program, os.getpid()),
            **_as_account(program.account),
        )
    finally:
        if output:
            output.close()


def end_with_make() -> None:
    """Request SIGTERM from the kernel if `make` is killed: nobody could press Ctrl-C then."""
    with contextlib.suppress(OSError):
        if Path(f"/proc/{os.getppid()}/comm").read_text().strip() in {"make", "gmake"}:
            _libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))


def rotate(log: Path) -> None:
    """Keep the last starts' logs as .1, .2, .3 and start a new one."""
    _make_room(log)
    if log.exists():
        log.replace(_kept(log, 1))


def shorten(log: Path) -> None:
    """Set aside what a running program has written, once that is long: it goes on at the start.

    It has the file open for appending, so the file is emptied, not renamed.
    """
    if not log.exists() or log.stat().st_size < LONGEST_LOG_BYTES:
        return
    _make_room(log)
    try:
        shutil.copyfile(log, _kept(log, 1))
    except OSError:  # a full disk needs the room more than it needs what was written
        _kept(log, 1).unlink(missing_ok=True)
    os.truncate(log, 0)


def _make_room(log: Path) -> None:
    for number in range(KEPT_LOGS, 1, -1):
        if (older := _kept(log, number - 1)).exists():
            older.replace(_kept(log, number))


def _kept(log: Path, number: int) -> Path:
    return log.with_name(f"{log.name}.{number}")


def how_it_ended(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    return f"was killed by {signal.Signals(-status).name}"


def _as_account(account: UnixUser | None) -> dict:
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def _prepared(program: Program, parent: int) -> Callable[[], None]:
    """The result must run in the child after the change of account, which clears the request to
    die with its parent."""

    def ask_kernel() -> None:
        if program.gives_way:
            _give_way()
        _libc.prctl(PR_SET_PDEATHSIG, int(program.death_signal))
        if os.getppid() != parent:
            os.kill(os.getpid(), program.death_signal)

    return ask_kernel


def _give_way() -> None:
    """Where the kernel groups processes by session, niceness counts only within the group, and the
    group has one of its own."""
    os.nice(NICENESS)
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as group:
        group.write(str(NICENESS))


ENDING_TICK_S = 0.05
ORPHANS_PATIENCE_S = 3.0


class _Ending:
    """One process being ended: sent each of its signals in turn, then killed."""

    def __init__(self, program: Program, process: subprocess.Popen):
        self.process = process
        self.signals = iter(program.stop_signals)
        self.next_at = 0.0

    def has_ended(self) -> bool:
        """Send the next signal when it is due; returns whether the process is gone."""
        if self.process.poll() is None and time.monotonic() >= self.next_at:
            stop_signal, patience_s = next(self.signals, (signal.SIGKILL, 60.0))
            self.process.send_signal(stop_signal)
            self.next_at = time.monotonic() + patience_s
        return self.process.poll() is not None


def end_together(children: list[tuple[Program, subprocess.Popen]]) -> None:
    """End all of these and the rest of their sessions; return when they are gone."""
    pending = [_Ending(program, process) for program, process in children]
    while pending:
        pending = [ending for ending in pending if not ending.has_ended()]
        if pending:
            time.sleep(ENDING_TICK_S)
    for _program, process in children:
        kill_session(process.pid)


def kill_session(pid: int) -> None:
    """Kill what is left of a child's session after its leader is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def own_children() -> list[int]:
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


def reap_orphans(known: set[int]) -> None:
    """Reap ended orphans that we adopted; otherwise they remain zombies."""
    for pid in set(own_children()) - known:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def end_orphans() -> None:
    """End and reap grandchildren in other sessions, which have become our children."""
    until = time.monotonic() + ORPHANS_PATIENCE_S
    stop_signal = signal.SIGTERM
    while left := own_children():
        if time.monotonic() > until:
            stop_signal = signal.SIGKILL
        for pid in left:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, stop_signal)
                os.waitpid(pid, os.WNOHANG)
        time.sleep(ENDING_TICK_S)


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
