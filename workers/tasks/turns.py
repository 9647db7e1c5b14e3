"""How long a task that catches up goes on: its queue is that of checks of hosts and exporters,
for which people wait. What it leaves is for its next turn."""

import time
from collections.abc import Callable

AT_MOST_S = 5.0


def turn_over() -> Callable[[], bool]:
    """Of a turn that begins now: whether it is over."""
    end = time.monotonic() + AT_MOST_S
    return lambda: time.monotonic() > end
