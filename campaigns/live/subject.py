"""What the streams of a campaign or run say: read and encoded once for all who stand at the same
place, and told to all of them at once."""

import threading
import time
from collections.abc import Callable
from operator import attrgetter

from django.core.exceptions import ObjectDoesNotExist

from campaigns.live.change_signal import ChangeSignal, Shared
from campaigns.live.events import Cursor, Look, News, Told, told
from campaigns.live.waiting import connection_given_back

NewsOf = Callable[[int, int], News | None]


class Telling:
    """A campaign or run at one instant, and what its streams say of it, by cursor and state."""

    def __init__(self, look: Look, news_of: NewsOf):
        self.look = look
        self._news_of = news_of
        self._told: dict[tuple[Cursor, str], Told] = {}

    def to(self, cursor: Cursor, seen_state: str) -> Told:
        place = cursor, seen_state
        if place not in self._told:
            with connection_given_back():
                self._told[place] = told(cursor, seen_state, self.look, self._news_of)
        return self._told[place]


class Subject:
    """A campaign or run that streams follow. Of those who wait, one listens to the bell and reads
    what is new; then all others wake and find it read."""

    def __init__(
        self,
        look: Callable[[], Look],
        news_of: NewsOf,
        bell: ChangeSignal,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._look_at, self._news_of = look, news_of
        self._bell, self._clock = bell, clock
        self._now: Shared[Telling] = Shared(bell, clock)
        self._lock = threading.Lock()
        self._is_told: threading.Event | None = None

    def look(self) -> Look:
        return self._now.use(self._read, attrgetter("look"))

    def tell(self, cursor: Cursor, seen_state: str) -> Told:
        """What a stream says to all who have heard everything up to this cursor.

        Raises ObjectDoesNotExist when there is no such campaign or run any more.
        """
        return self._now.use(self._read_briefly, lambda now: now.to(cursor, seen_state))

    def wait(self, heard: int, told: Told, timeout_s: float) -> None:
        """Return when there is more to say than was told, or after `timeout_s`. `heard` is the
        bell's count before it was told."""
        if self._bell.count != heard:
            return
        with self._lock:
            listens, is_told = self._is_told is None, self._is_told or threading.Event()
            self._is_told = is_told
        if not listens:
            is_told.wait()
            return
        try:
            self._listen(heard, told, self._clock() + timeout_s)
        finally:
            self._is_told = None
            is_told.set()

    def _listen(self, heard: int, told: Told, until: float) -> None:
        """The bell rings for all runs of the installation."""
        while (left_s := until - self._clock()) > 0:
            self._bell.wait(heard, left_s)
            heard = self._bell.count
            try:
                if self.tell(told.cursor, told.state).events:
                    return
            except ObjectDoesNotExist:  # each stream finds that out for itself
                return

    def _read(self, _: Telling | None) -> Telling:
        return Telling(self._look_at(), self._news_of)

    def _read_briefly(self, known: Telling | None) -> Telling:
        """By a stream; a page that looks goes on with its connection, and its turn at one."""
        with connection_given_back():
            return self._read(known)
