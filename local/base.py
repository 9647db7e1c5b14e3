"""Paths of a checkout, and short lines on the terminal."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
NODE_MODULES = ROOT / "node_modules"


def var_dir() -> Path:
    """The folder of all local state: data, logs, the secret key."""
    return Path(os.environ.get("BENCHSITE_VAR") or ROOT / "var").resolve()


def is_inside_venv() -> bool:
    return Path(sys.prefix).resolve() == VENV.resolve()


def others_may_reach(path: Path) -> bool:
    """Whether any account can access the path and all folders above it."""
    path = path.resolve()
    return all(each.stat().st_mode & 0o001 for each in (path, *path.parents) if each.is_dir())


def closed(folder: Path, mode: int = 0o700) -> Path:
    """The folder, created if it is missing, with these rights: by default only for its owner."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(mode)
    return folder


def tail(path: Path, lines: int = 15) -> str:
    """The last lines of a log, indented, for an error message."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])


class LocalError(Exception):
    """Something that the user can fix; the text says how."""


class _Line:
    """Whether a step's line is still open, so that other messages start a new one."""

    is_open = False


def say(text: str = "") -> None:
    print(f"\n  {text}" if _Line.is_open else text, flush=True)
    _Line.is_open = False


@contextmanager
def step(text: str) -> Iterator[None]:
    """Print what a long step does while it runs, and afterwards how long it took."""
    print(f"  {text} …", end="", flush=True)
    _Line.is_open = True
    began = time.monotonic()
    try:
        yield
    except BaseException:
        _close_line(text, "not done")
        raise
    _close_line(text, f"{time.monotonic() - began:.1f} s")


def _close_line(text: str, result: str) -> None:
    print(f" {result}" if _Line.is_open else f"  {text}: {result}", flush=True)
    _Line.is_open = False


def fail(text: str) -> int:
    print(f"benchsite: {text}", file=sys.stderr, flush=True)
    return 1
