"""Starts one child process so that it can neither outlive this process nor hear its Ctrl-C."""

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from local.paths import ROOT

PR_SET_PDEATHSIG = 1
KEPT_LOGS = 3
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class UnixUser:
    """Whom a child runs as, where that is not whoever started us."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Program:
    """A child: what to start, and with which signals it is asked to end, each with its patience.

    `death_signal` is what the kernel sends the child if this process dies without a word.
    """

    name: str
    command: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    cwd: Path = ROOT
    account: UnixUser | None = None
    stop_signals: tuple[tuple[signal.Signals, float], ...] = ((signal.SIGTERM, 5.0),)
    death_signal: signal.Signals = signal.SIGTERM
    is_server: bool = False  # others need it, so it is stopped after them


def spawn(program: Program, log: Path | None) -> subprocess.Popen:
    """The started child, in a session of its own; its output goes to the log, or to ours."""
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
            preexec_fn=_die_with_parent(os.getpid(), program.death_signal),
            **_as_account(program.account),
        )
    finally:
        if output:
            output.close()


def end_with_make() -> None:
    """Ask for SIGTERM when `make` is killed: nobody would be left to press Ctrl-C."""
    with contextlib.suppress(OSError):
        if Path(f"/proc/{os.getppid()}/comm").read_text().strip() in {"make", "gmake"}:
            _libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))


def rotate(log: Path) -> None:
    """Keep the logs of the last starts as .1, .2, .3 and begin a new one."""
    for number in range(KEPT_LOGS, 0, -1):
        older = log.with_name(f"{log.name}.{number - 1}") if number > 1 else log
        if older.exists():
            older.replace(log.with_name(f"{log.name}.{number}"))


def how_it_ended(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    return f"was killed by {signal.Signals(-status).name}"


def _as_account(account: UnixUser | None) -> dict:
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def _die_with_parent(parent: int, death_signal: signal.Signals) -> Callable[[], None]:
    """Runs in the child after it has changed its account, which would clear the request."""

    def ask_kernel() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(death_signal))
        if os.getppid() != parent:
            os.kill(os.getpid(), death_signal)

    return ask_kernel
