"""The connections that some workers share, each with several requests at a time."""

from collections import deque
from contextlib import suppress
from typing import Any

import gevent

from campaigns.domain.metrics.outcomes import Kind
from workers.injector.connection import NS, Dialler, Waking, now
from workers.injector.faults import AttemptFailed
from workers.injector.holding import EXPIRED, STOPPED
from workers.injector.http2.link import Link

_AGAIN, _TOO_LONG = "again", "too long"


class Pool:
    """A worker has a place on a link from `reserve` to `release`.

    Places of the link that was freed last are taken first, so that no more connections are open
    than are needed. While a link is being opened, so many workers wait for it as it will have room
    for; another one opens the next. `waiting`: those who have no place. `n_workers`: those who may
    still send. `least`: as long as there are fewer links, whoever wants a place opens another.
    """

    def __init__(
        self,
        dialler: Dialler,
        streams: int,
        uses: int | None = None,
        most: int | None = None,
        *,
        replaces: bool = True,
    ):
        """`streams`: requests at a time on a connection; `uses`: in all; `most`: connections at a
        time; `replaces`: a request whose connection ends before it was processed, or before it had
        its turn, may go on another."""
        self._dialler = dialler
        self._streams = streams if uses is None else min(streams, uses)
        self.uses = uses
        self._most = most
        self.replaces = replaces
        self._links: set[Link] = set()
        self._roomy: list[Link] = []
        self._opening: set[Link] = set()
        self.waiting: deque[Any] = deque()
        self.n_workers = self.least = 0
        self._loop = gevent.get_hub().loop
        self._serving: Any = None

    def reserve(self, worker: Any) -> Link:
        """A place, as soon as there is one; whoever gets a link without a connection opens it.

        Raises AttemptFailed where the worker's attempt is under way and its time is over, or where
        the link that it waited for could not be opened.
        """
        link = self._find_behind_others()
        while link is None:
            self._wait(worker)
            if not (self.replaces or self.is_connected):
                raise AttemptFailed(Kind.EOF_BEFORE_REPLY, "the connection has ended")
            link = self._find()
        return link

    def await_place(self, worker: Any, until: int, longest_ns: int) -> Link | None:
        """The same for a worker without an attempt: no longer than until an instant, when None is
        the answer, or for so long, when its attempt may just as well begin."""
        limit = min(until, now() + longest_ns)
        link = self._find_behind_others()
        while link is None and now() < limit:
            timer = self._loop.timer((limit - now()) / NS)
            # What fails is another's attempt.
            with suppress(AttemptFailed), Waking(timer, worker.switch, _TOO_LONG):
                self._wait(worker)
            link = self._find()
        return link

    def _find(self) -> Link | None:
        if self.n_usable < self.least:
            return self._begin_link()
        link = self._roomiest()
        if link is not None:
            link.n_places += 1
        return link or self._take_turn()

    def _find_behind_others(self) -> Link | None:
        """Whoever waits longer goes first."""
        return self._take_turn() if self.waiting else self._find()

    def _roomiest(self) -> Link | None:
        """The link that was freed last, if there is one with room."""
        roomy = self._roomy
        while roomy:
            link = roomy[-1]
            if link.has_room:
                return link
            roomy.pop().is_listed = False
            if link.is_used_up and not link.n_places:
                self._forget(link)
        return None

    def _take_turn(self) -> Link | None:
        """A link to be opened by the caller, if no other's is about to have room for it."""
        return self._begin_link() if self._may_open(len(self.waiting)) else None

    def _begin_link(self) -> Link:
        link = Link(self._dialler, self._streams, self.uses, self._note)
        link.n_places = 1
        self._links.add(link)
        self._opening.add(link)
        return link

    def _may_open(self, n_waiting: int) -> bool:
        is_full = self._most is not None and self.n_usable >= self._most
        return not is_full and n_waiting >= len(self._opening) * (self._streams - 1)

    @property
    def is_connected(self) -> bool:
        """Whether a connection takes requests, or is being opened."""
        return self.n_usable > 0

    @property
    def n_usable(self) -> int:
        """How many links, without those that only wait for the end of their last requests."""
        return sum(not link.is_used_up for link in self._links)

    def release(self, link: Link) -> None:
        """The place is free again; a link that was not opened whole is forgotten."""
        link.n_places -= 1
        if link.is_used_up or not link.is_ready:
            if not link.n_places:
                self._forget(link)
        elif not link.is_listed:
            link.is_listed = True
            self._roomy.append(link)
        if self.waiting:
            self._serve_soon()

    def fail(self, link: Link, failure: AttemptFailed) -> None:
        """It could not be opened: who waits for it fails, too."""
        self._opening.discard(link)
        self._loop.run_callback(self._fail_waiting, failure)

    def _fail_waiting(self, failure: AttemptFailed) -> None:
        for _ in range(min(len(self.waiting), self._streams - 1)):
            self.waiting.popleft().switch(failure)

    def part(self) -> None:
        """A worker has made its last request. One that pauses comes back to its connection."""
        self.n_workers -= 1
        if not self.n_workers:
            self.close_idle()

    def close_idle(self) -> None:
        for link in list(self._links):
            if not link.n_places:
                self._forget(link)

    def take_out(self) -> Link | None:
        """The idle connection of a pool that has no other, for the caller to close."""
        self._roomy.clear()
        return self._links.pop() if self._links else None

    def close(self) -> None:
        """At the end: close all connections, also those with requests on them."""
        for link in list(self._links):
            self._forget(link)

    def _forget(self, link: Link) -> None:
        self._links.discard(link)
        self._opening.discard(link)
        link.close()

    def _note(self, link: Link) -> None:
        """In the hub: a link has become ready, may have more room than before, or is over."""
        self._opening.discard(link)
        if link.is_over:
            if not link.n_places:
                self._links.discard(link)
        elif not link.is_listed:
            link.is_listed = True
            self._roomy.append(link)
        self._serve_soon()

    # --- waiting ---------------------------------------------------------------------------------
    def _wait(self, worker: Any) -> None:
        """Until it is worth another look. Raises AttemptFailed."""
        self.waiting.append(worker)
        signal = worker.sleep()
        if signal == _AGAIN:
            return
        if isinstance(signal, AttemptFailed):
            raise signal
        self.waiting.remove(worker)
        if signal == STOPPED:
            raise AttemptFailed(Kind.ABORTED_BY_STOP)
        if signal == EXPIRED:
            raise AttemptFailed(Kind.WRITE_TIMEOUT, "no free stream within the limit")

    def _serve_soon(self) -> None:
        if self.waiting and self._serving is None:
            self._serving = self._loop.run_callback(self._serve)

    def _serve(self) -> None:
        """In the hub: wake those for whom there is something now."""
        self._serving = None
        # Whoever is woken is no longer one of those that wait.
        while self.waiting and (self._roomiest() or self._may_open(len(self.waiting) - 1)):
            self.waiting.popleft().switch(_AGAIN)
