"""Paths of a checkout, and short lines on the terminal."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def var_dir() -> Path:
    """The folder of all local state: data, logs, the secret key."""
    return Path(os.environ.get("BENCHSITE_VAR") or ROOT / "var").resolve()


def private_folder(folder: Path, mode: int = 0o700) -> Path:
    """The folder, created if it is missing, with these rights: by default only for its owner."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(mode)
    return folder


def tail(path: Path, lines: int = 15) -> str:
    """The last lines of a log, indented, for an error message."""
    text = path.read_text(errors="replace") if path.exists() else ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])


class LocalError(Exception):
    """Something that the user can fix; the text says how."""


class StopRequested(Exception):
    """This process was asked to end."""


def say(text: str = "") -> None:
    print(text, flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Print what a long step does while it runs, and afterwards how long it took."""
    say(f"  {text} …")
    began = time.monotonic()
    yield
    say(f"  {text}: {time.monotonic() - began:.1f} s")


def fail(text: str) -> int:
    print(f"benchsite: {text}", file=sys.stderr, flush=True)
    return 1
