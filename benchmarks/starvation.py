"""Ways to keep a process from its CPU. Each is a context manager that gets its process id."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.servers import pin

_PERIOD_S = 0.1
_CPU_GROUPS = Path("/sys/fs/cgroup/cpu")
_UNIFIED = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def burners(count: int, core: int) -> Iterator[None]:
    """Processes that want the core for themselves."""
    command = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(command, preexec_fn=lambda: pin(core)) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@contextlib.contextmanager
def quota(pid: int, share: float) -> Iterator[None]:
    """A share of one core in each tenth of a second: by a control group where one can be made, else
    by stopping the process for the rest of each period.
    """
    if (groups := quota_folder()) is None:
        with _duty(pid, share):
            yield
        return
    group = groups / f"benchsite-{pid}"
    group.mkdir()
    try:
        _limit(group, share)
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        _remove(group, groups)


def how_quotas_are_made() -> str:
    return "stops within each 100 ms" if quota_folder() is None else "a control group"


@cache
def quota_folder() -> Path | None:
    """Where control groups with a CPU quota can be made, of version 1 or 2."""
    for groups in (_CPU_GROUPS, _UNIFIED):
        group = groups / f"benchsite-try-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            _limit(group, 1.0)
        except OSError:
            continue
        else:
            return groups
        finally:
            group.rmdir()
    return None


def _limit(group: Path, share: float) -> None:
    period_us = int(_PERIOD_S * 1e6)
    if (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_period_us").write_text(str(period_us))
        (group / "cpu.cfs_quota_us").write_text(str(int(period_us * share)))
    elif (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{int(period_us * share)} {period_us}")
    else:
        raise OSError(f"{group} has no CPU quota")


def _remove(group: Path, groups: Path) -> None:
    """A group can be removed when its last process has gone or left."""
    until = time.monotonic() + 5
    while True:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (groups / "cgroup.procs").write_text(pid)
        try:
            group.rmdir()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


@contextlib.contextmanager
def _duty(pid: int, share: float) -> Iterator[None]:
    over = threading.Event()

    def alternate() -> None:
        while not over.is_set():
            os.kill(pid, signal.SIGSTOP)
            over.wait(_PERIOD_S * (1 - share))
            os.kill(pid, signal.SIGCONT)
            over.wait(_PERIOD_S * share)

    with _thread(alternate, over):
        yield


@contextlib.contextmanager
def stopped(pid: int, after_s: float, length_s: float) -> Iterator[None]:
    """Stopped once for so long."""
    over = threading.Event()

    def stop_once() -> None:
        if not over.wait(after_s):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(length_s)
            os.kill(pid, signal.SIGCONT)

    with _thread(stop_once, over):
        yield


@contextlib.contextmanager
def _thread(work, over: threading.Event) -> Iterator[None]:
    def work_while_it_lives() -> None:
        with contextlib.suppress(ProcessLookupError):
            work()

    thread = threading.Thread(target=work_while_it_lives)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
