"""Waiting for what other threads and processes do: as long as it takes, with an end."""

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


def eventually(is_so: Callable[[], Answer], within_s: float, what: str) -> Answer:
    """The first true answer of `is_so`. Fails after `within_s`, naming what did not happen."""
    deadline = time.monotonic() + within_s
    while not (answer := is_so()):
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(0.05)
    return answer
