"""A thread beside the dispatcher's loop, for what may hang or take long: it must not stop ticks."""

import logging
import threading
from collections.abc import Callable

from workers.database import UNREACHABLE, drop_connection, use_own_connection

logger = logging.getLogger(__name__)


class SideThread(threading.Thread):
    """Acts when it is asked to, and every so often, while its dispatcher is the active one."""

    def __init__(
        self, name: str, every_s: float, ended: threading.Event, is_active: Callable[[], bool]
    ):
        super().__init__(name=name, daemon=True)
        self._every_s = every_s
        self._ended = ended
        self._is_active = is_active
        self._asked = threading.Event()

    def ask(self) -> None:
        """There may be something to do, or nothing more to wait for."""
        self._asked.set()

    def run(self) -> None:
        use_own_connection()
        while not self._ended.is_set():
            self._asked.wait(self._every_s)
            self._asked.clear()
            if self._is_active() and not self._ended.is_set():
                self._act_safely()
        drop_connection()

    def _act_safely(self) -> None:
        try:
            self.act()
        except UNREACHABLE:
            drop_connection()
        except Exception:  # without this thread every later run would wait
            logger.exception("The thread of %s failed; its next turn tries again", self.name)

    def act(self) -> None:
        raise NotImplementedError
