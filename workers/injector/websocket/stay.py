"""An open WebSocket that a window keeps: it goes on to close when the window lets go of it."""

from collections.abc import Callable
from typing import Any

import gevent


class Stay:
    """What the window holds, and what the connection's speaker waits for.

    `is_let_go`: it was among those that may close together, and is until it has.
    """

    __slots__ = ("_wake", "is_let_go", "is_over")

    def __init__(self) -> None:
        self.is_over = self.is_let_go = False
        self._wake: Callable[[], Any] | None = None

    def close(self) -> None:
        """Let go, from any greenlet or the hub; a speaker that waits goes on in its own turn."""
        self.is_over = True
        wake, self._wake = self._wake, None
        if wake is not None:
            gevent.get_hub().loop.run_callback(wake)

    def wake_with(self, switch: Callable[[], Any] | None) -> None:
        """What `close` calls from now on; None: nobody waits any more."""
        self._wake = switch
