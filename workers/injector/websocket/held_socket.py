"""An open WebSocket that a window holds until it releases it to close."""

from collections.abc import Callable
from typing import Any

import gevent


class HeldSocket:
    """The window keeps it; the connection's worker waits on it.

    `is_released`: it is one of those that may close at the same time.
    """

    __slots__ = ("_wake", "is_over", "is_released")

    def __init__(self) -> None:
        self.is_over = self.is_released = False
        self._wake: Callable[[], Any] | None = None

    def close(self) -> None:
        """Release it, from any greenlet or the hub; the waiting worker resumes in its own turn."""
        self.is_over = True
        wake, self._wake = self._wake, None
        if wake is not None:
            gevent.get_hub().loop.run_callback(wake)

    def wake_with(self, switch: Callable[[], Any] | None) -> None:
        """What `close` calls from now on; None if nobody waits any more."""
        self._wake = switch
