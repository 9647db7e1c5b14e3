"""Starts child processes that neither outlive this process nor receive its Ctrl-C."""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from local.paths import ROOT

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
