"""Waits without holding a database connection: connections are few, viewers are many. And who
watches a campaign, a run or a share link, and whether they still may.

That is asked for all of an audience at once: of hundreds of streams, each would otherwise ask the
database every few seconds, and all of them together.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from django.db import connection

# Of those who ask at once because something has happened, so many have a connection. A turn is
# waited for as long as it takes; who waits for a connection is refused after 5 s.
_AT_ONCE = 8
_turns = threading.BoundedSemaphore(_AT_ONCE)
_own = threading.local()


@contextmanager
def turn() -> Iterator[None]:
    """Wait for a turn, and keep it until this thread gives its connection back."""
    _turns.acquire()
    _own.has_turn = True
    try:
        yield
    finally:
        _end_turn()


def _end_turn() -> None:
    if getattr(_own, "has_turn", False):
        _own.has_turn = False
        _turns.release()


def release_connection() -> None:
    """Give this thread's connection back, except inside a transaction (a test)."""
    if not connection.in_atomic_block:
        connection.close()
    _end_turn()


@contextmanager
def connection_given_back() -> Iterator[None]:
    """For reads of which many wait for the result: afterwards this thread has no connection."""
    try:
        yield
    finally:
        release_connection()


def without_connection(parts: Iterable[str]) -> Iterator[str]:
    """The parts of a file, each sent without a connection: whoever reads it may be slow."""
    for part in parts:
        release_connection()
        yield part


@contextmanager
def held(lock: threading.Lock) -> Iterator[None]:
    """Hold the lock; a thread that must wait for it gives its connection back first."""
    if not lock.acquire(blocking=False):
        release_connection()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


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


def audience_of(topic: Hashable, still_may: StillMay) -> Audience:
    """The one audience of this topic in this process; it lasts as long as somebody has it."""
    with _lock:
        audience = _audiences.get(topic)
        if audience is None:
            audience = _audiences[topic] = Audience(still_may)
        return audience
