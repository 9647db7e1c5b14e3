"""Ends processes: signals all of them at once, then kills those that remain."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from local.children import Program

TICK_S = 0.05
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
            time.sleep(TICK_S)
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
        time.sleep(TICK_S)
