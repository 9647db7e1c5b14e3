"""What the terminal is told: short lines, each long step with its time."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class LocalError(Exception):
    """Something that the user can mend; the text says how."""


def say(text: str = "") -> None:
    print(text, flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Say what a long step does while it runs, and afterwards how long it took."""
    print(f"  {text} …", end="", flush=True)
    began = time.monotonic()
    try:
        yield
    except BaseException:
        print(" not done", flush=True)
        raise
    print(f" {time.monotonic() - began:.1f} s", flush=True)


def fail(text: str) -> int:
    print(f"benchsite: {text}", file=sys.stderr, flush=True)
    return 1
