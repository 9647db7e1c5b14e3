"""Terminal output: short lines, with the duration of long steps."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


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
