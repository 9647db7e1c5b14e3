"""Load over all addresses of a name: connections go round them, and each has figures of its own.

An address that does not answer is not passed over: what it fails is its own. Of each attempt the
recorder is told the address, by its start, before its worker waits for anything.
"""

from functools import cache
from typing import Any

from workers.injector.attempt import Worker
from workers.injector.connection import Connection, Dialler
from workers.injector.guard import peer_name


class SpreadDialler(Dialler):
    """`first`: the number of the address that the first connection goes to."""

    def __init__(self, *given: Any, first: int = 0, **named: Any):
        super().__init__(*given, **named)
        self._next = first

    def _dial_first_that_answers(self, worker: Any, first: bytes) -> Connection:
        addresses = self._guard.addresses
        address = addresses[self._next % len(addresses)]
        self._next += 1
        peer = worker.request.recorder.by_peer.at[worker.began] = peer_name(
            address, self._guard.port
        )
        connection = self._connect(worker, address, first)
        connection.peer = peer
        self._dialled[address] += 1
        return connection


class OverAddresses:
    """What a worker does besides: it tells the address of the connection that it has kept."""

    __slots__ = ()

    def attempt(self, request: Any, intended: int, start: int) -> float | None:
        if self.connection is not None:
            request.recorder.by_peer.at[start] = self.connection.peer
        return super().attempt(request, intended, start)


class CallsOverAddresses:
    """The same of a user, whose calls are its attempts."""

    __slots__ = ()

    def make_call(self, call: Any, is_last: bool, intended: int, start: int) -> float | None:
        if self.connection is not None:
            call.recorder.by_peer.at[start] = self.connection.peer
        return super().make_call(call, is_last, intended, start)


class StreamsOverAddresses:
    """The same on shared connections, which are not the worker's own."""

    __slots__ = ()

    def _open(self, link: Any) -> tuple[int, int]:
        instants = super()._open(link)
        link.peer = link.connection.peer
        return instants

    def _record(self, stream: Any) -> None:
        self._tell_address()
        super()._record(stream)

    def _note_failure(self, error: Exception) -> float:
        self._tell_address()
        return super()._note_failure(error)

    def _tell_address(self) -> None:
        if self.place is not None and self.place.peer:
            self.request.recorder.by_peer.at[self._marks[1]] = self.place.peer


@cache
def over_addresses(kind: type[Worker]) -> type[Worker]:
    """The worker that does the same, and tells its addresses."""
    if hasattr(kind, "place"):
        besides = StreamsOverAddresses
    else:
        besides = CallsOverAddresses if hasattr(kind, "make_call") else OverAddresses
    return type(f"{kind.__name__}OverAddresses", (besides, kind), {"__slots__": ()})
