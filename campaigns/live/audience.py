"""Who watches a campaign, a run or a share link, and whether they still may.

Asked for all of an audience at once: of hundreds of streams, each would otherwise ask the database
every few seconds, and all of them together.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from campaigns.live.waiting import connection_given_back

# With the wait of a second between two looks, whoever loses the right hears nothing after 10 s.
ASK_EVERY_S = 8.0

StillMay = Callable[[set[Hashable]], set[Hashable]]


class Audience:
    """The viewers whose streams are open. `still_may(viewers)` returns those who may go on."""

    def __init__(self, still_may: StillMay, clock: Callable[[], float] = time.monotonic):
        self._still_may, self._clock = still_may, clock
        self._lock = threading.Lock()
        self._n_streams: Counter[Hashable] = Counter()
        self._refused: set[Hashable] = set()
        self._asked_at = clock()

    @contextmanager
    def joined(self, viewer: Hashable) -> Iterator[None]:
        """While the stream of a viewer is open who may watch, as was just found."""
        with self._lock:
            self._n_streams[viewer] += 1
            self._refused.discard(viewer)
        try:
            yield
        finally:
            with self._lock:
                self._n_streams[viewer] -= 1
                if not self._n_streams[viewer]:
                    del self._n_streams[viewer]

    def has(self, viewer: Hashable) -> bool:
        """Whether the viewer may go on, as of at most `ASK_EVERY_S` ago."""
        if self._clock() - self._asked_at >= ASK_EVERY_S:
            self._ask()
        return viewer not in self._refused

    def _ask(self) -> None:
        """By the first stream that finds it due; the others need not wait for the answer."""
        with self._lock:
            now, before = self._clock(), self._asked_at
            if now - before < ASK_EVERY_S:
                return
            self._asked_at, watching = now, set(self._n_streams)
        try:
            with connection_given_back():
                allowed = self._still_may(watching)
        except BaseException:
            self._asked_at = before
            raise
        with self._lock:
            self._refused = watching - allowed


_audiences: WeakValueDictionary[Hashable, Audience] = WeakValueDictionary()
_lock = threading.Lock()


def audience_of(subject: Hashable, still_may: StillMay) -> Audience:
    """The one audience of this subject in this process; it lasts as long as somebody has it."""
    with _lock:
        audience = _audiences.get(subject)
        if audience is None:
            audience = _audiences[subject] = Audience(still_may)
        return audience
