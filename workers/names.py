"""Looks up the host names of the runs that come next: no two runs measure one machine at once.

This is a thread of its own because a name server that hangs must not stop the dispatcher's ticks.
"""

import socket
import threading
import time
from collections.abc import Callable

from campaigns.domain.lifecycle import RunState
from campaigns.queries.engine import names_to_look_up
from campaigns.queries.load_control import why_load_is_off
from campaigns.queries.under_way import under_way
from campaigns.services import dispatch
from workers.side_thread import SideThread

EVERY_S = 0.5
# A name may move to another machine while its run waits.
AGAIN_AFTER_S = 30.0


class NamesThread(SideThread):
    def __init__(self, ended: threading.Event, is_active: Callable[[], bool]):
        super().__init__("names", EVERY_S, ended, is_active)
        self._looked_up_at: dict[int, float] = {}

    def act(self) -> None:
        """Ask for each name that is new, or was asked for a while ago; none while load is off."""
        is_due = RunState.QUEUED in under_way() and not why_load_is_off()
        waiting = names_to_look_up() if is_due else []
        now = time.monotonic()
        known = {run for run, at in self._looked_up_at.items() if now - at < AGAIN_AFTER_S}
        for run, host, port in waiting:
            if run not in known:
                dispatch.note_machines(run_id=run, addresses=addresses_of(host, port))
                self._looked_up_at[run] = time.monotonic()
        still = {run for run, _, _ in waiting}
        self._looked_up_at = {run: at for run, at in self._looked_up_at.items() if run in still}


def addresses_of(host: str, port: int) -> list[str]:
    """All addresses of a host, IPv4 and IPv6; [] if the name server knows none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return sorted({str(each[4][0]) for each in found})
