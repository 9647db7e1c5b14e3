"""Opens WebSockets within a window: what counts as being opened ends with the opening handshake.

The messages and the closing handshake go on outside of the window, as with wsperf. What is held
stays open between the two, until its time is over or, with keep_until_all, all are open.
"""

from collections.abc import Callable
from typing import Any

import gevent
from gevent.event import Event

from campaigns.domain.plan import Hold
from workers.injector.attempt import Worker
from workers.injector.connection import now
from workers.injector.websocket.stay import Stay
from workers.injector.websocket.talk import Talk
from workers.injector.websocket.worker import Speaker
from workers.injector.window import Held, WindowLoad


class WebSocketWindow(WindowLoad):
    """A window whose connections go on by themselves once they are open."""

    def __init__(self, talk: Talk, make_worker: Callable[[], Speaker], *settings: Any):
        super().__init__(self._open, make_worker, *settings)
        self._talk = talk
        self._make_speaker = make_worker
        self._resting: list[Speaker] = []

    def _open(self, _: Worker, __: int) -> Held | None:
        """Return when number k is open, or has failed; its speaker goes on."""
        speaker = self._resting.pop() if self._resting else self._employ()
        is_open = Event()
        speaker.note_opened = is_open.set
        stay = speaker.stay = None if self._hold == Hold.CLOSE else Stay()
        speaker.switch = gevent.spawn(self._attempt, speaker).switch
        is_open.wait()
        return None if stay is None or stay.is_over else stay

    def _employ(self) -> Speaker:
        speaker = self._make_speaker()
        self.workers.append(speaker)
        return speaker

    def _attempt(self, speaker: Speaker) -> None:
        start, stay = now(), speaker.stay
        pause_s = speaker.attempt(self._talk, start, start)
        if stay is not None:
            stay.close()
        if pause_s:
            gevent.sleep(pause_s)
        speaker.note_opened()
        self._resting.append(speaker)

    @property
    def is_finished(self) -> bool:
        return super().is_finished and not any(worker.began for worker in self.workers)
