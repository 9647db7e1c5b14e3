"""Opens WebSockets within a window: what counts as being opened ends with the opening handshake.

The messages and the closing handshake go on outside of the window, as with wsperf. What is held
stays open between the two, until its time is over or, with keep_until_all, all are open.
"""

from collections.abc import Callable
from typing import Any

import gevent

from campaigns.domain.plan.load import Hold
from workers.injector.connection import now
from workers.injector.websocket.stay import Stay
from workers.injector.websocket.talk import Talk
from workers.injector.websocket.worker import Speaker
from workers.injector.window import WindowLoad


class WebSocketWindow(WindowLoad):
    """A window whose connections go on by themselves once they are open."""

    workers: list[Speaker]

    def __init__(self, talk: Talk, make_worker: Callable[[], Speaker], *settings: Any):
        super().__init__(self._attempt, make_worker, *settings)
        self._talk = talk
        self._n_let_go = 0
        self._n_talking = 0

    @property
    def _n_open(self) -> int:
        """What talks, is held or closes: the marks do not count it, but it is open."""
        return self._n_talking

    def _work(self, speaker: Speaker, number: int, is_warm_up: bool) -> None:
        """One connection from beginning to end; it leaves the window when it is open, or failed."""
        is_held = self._hold != Hold.CLOSE and not is_warm_up
        speaker.stay = Stay() if is_held else None
        speaker.note_opened = self._note_one_opened
        self._attempt(speaker, number)
        self._idle.append(speaker)
        if speaker.is_open:
            self._n_talking -= 1
            self._refill()
        else:
            self._note_opened()

    def _attempt(self, speaker: Speaker, _: int) -> None:
        start = now()
        pause_s = speaker.attempt(self._talk, start, start)
        if speaker.stay is not None:
            self._note_ended(speaker.stay)
        if pause_s:
            gevent.sleep(pause_s)

    def _note_ended(self, stay: Stay) -> None:
        stay.close()
        if stay.is_let_go:
            self._n_let_go -= 1
            self._close_held()

    def _close_held(self) -> None:
        """Let go of as many as may be opened at a time; each that has ended makes room for one.

        All at once would measure the crowd at the end, not the server; a stop cannot wait.
        """
        while self._held and (self._is_stopped or self._n_let_go < self._marks.high):
            stay = self._held.popleft()[1]
            if not stay.is_over:
                stay.is_let_go = True
                self._n_let_go += 1
                stay.close()

    def _note_one_opened(self, speaker: Speaker) -> None:
        """In the middle of its attempt."""
        if speaker.stay is not None:
            self._keep_or_close(speaker.stay, is_warm_up=False)
        self._n_talking += 1
        self._note_opened()

    @property
    def is_finished(self) -> bool:
        return super().is_finished and not any(worker.began for worker in self.workers)
