"""A worker of a closed load on kept connections, whose usual attempts need no switch to it.

As long as replies are usual, the hub records them and sends the next request at once, while the
worker is left waiting. Whatever else comes is the worker's: a reply that is new or not expected, an
error, a limit, a request that does not fit into the socket, the end of the load.
"""

from collections.abc import Callable

from campaigns.domain.metrics.outcomes import Kind
from workers.injector.attempt import Worker, kind_of_signal
from workers.injector.connection import Connection, Dialler, now
from workers.injector.faults import AttemptFailed
from workers.injector.request import Request

# The next request and when it begins; None where the load is over, or does not say.
Follow = Callable[[], tuple[Request, int] | None]
_NO_MORE = object()


class FollowingWorker(Worker):
    """`_sent_ns`: when the request under way was sent, 0 before that."""

    __slots__ = ("_follow", "_sent_ns")

    def __init__(self, dialler: Dialler):
        super().__init__(dialler, keeps=True)
        self._follow: Follow | None = None
        self._sent_ns = 0

    def go_on(self, follow: Follow) -> float | None:
        """After an attempt: make those that follow, as long as they are usual, and the first that
        is not. Returns what `attempt` returns, for the last of them."""
        if self.connection is None or (next_request := follow()) is None:
            return None
        self.settle()
        self._follow = follow
        try:
            signal = self._leave_to_hub(self._send(*next_request))
            if isinstance(signal, Exception):
                raise signal
            if isinstance(signal, str):
                raise AttemptFailed(kind_of_signal(signal, Kind.FIRST_BYTE_TIMEOUT))
            if signal is not _NO_MORE:
                marks = self.began, self.began, 0, 0, self._sent_ns, now()
                self._read_on(self.connection, signal, marks)
            self.began = 0
            return None
        except Exception as error:
            return self._fail(error, self.began, self.began, self._sent_ns, is_new=False)

    def _leave_to_hub(self, signal: object) -> object:
        """Wait while the hub makes attempts; what the worker has to deal with itself. `signal`: how
        much of a request was written, if not all."""
        connection: Connection = self.connection
        while True:
            if type(signal) is int:
                self._send_rest(connection, self.request.data, signal)
                self._sent_ns = now()
            connection.watcher.callback = self._take_reply
            signal = self._to_hub()
            connection.watcher.callback = self.switch
            if signal is not None and type(signal) is not int:
                return signal

    def _take_reply(self) -> None:
        """In the hub: something has come on the connection."""
        request, start = self.request, self.began
        try:
            data = self.connection.recv(request.recv_bytes)
        except BlockingIOError:
            return
        except Exception as error:
            self.switch(error)
            return
        first = now()
        entry = request.latest_known if data == request.latest else request.recall(data)
        if entry is None or not entry[4]:
            self.switch(data)
            return
        status, head, body, received, _ = entry
        row = start, start, 0, 0, self._sent_ns, first, first, status, head, body, received
        next_request = self._follow()
        if next_request is None:
            self.latest_row = row
            self.switch(_NO_MORE)
            return
        request.record(row)
        try:
            unsent = self._send(*next_request)
        except Exception as error:
            self.switch(error)
            return
        if unsent is not None:
            self.switch(unsent)

    def _send(self, request: Request, start: int) -> int | None:
        """Begin an attempt; how many bytes were written, if not all. Raises what ended it."""
        self.request = request
        self.began = start
        self._sent_ns = 0
        connection = self.connection
        try:
            n_written = connection.send(request.data)
        except BlockingIOError:
            n_written = 0
        if n_written != request.size_bytes:
            return n_written
        self._sent_ns = now()
        if not start & self._reads.mask:
            self._reads.time(self, connection)
        return None
