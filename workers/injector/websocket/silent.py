"""A worker whose connections are opened and closed without a message.

The hub deals with their usual answers: it answers the server's 101 with our close frame, and the
server's close frame by looking for the end. The worker waits once for all of that. Whatever else
comes is the worker's: another answer, an error, a limit, a frame that does not fit into the socket.
"""

from campaigns.domain.metrics.outcomes import Kind
from workers.injector.attempt import kind_of_signal
from workers.injector.connection import Dialler, now
from workers.injector.faults import AttemptFailed
from workers.injector.websocket.channel import Channel
from workers.injector.websocket.conversation import Conversation, await_end
from workers.injector.websocket.worker import WebSocketWorker

# More than the usual close frame; Python's own allocator has room for so little.
_RECV_BYTES = 256
_ENDED, _NOT_ENDED, _NOT_SENT = object(), object(), object()


class SilentWorker(WebSocketWorker):
    """`_opened` and `_ended`: when the hub saw the server's 101, and its end."""

    takes_turns = True
    __slots__ = ("_ended", "_opened")

    def __init__(self, dialler: Dialler):
        super().__init__(dialler)
        self._opened = self._ended = 0

    def _converse(self, channel: Channel, start: int) -> tuple[int, int, int]:
        connection, context = channel.connection, self.request
        if connection.tls is not None:
            return super()._converse(channel, start)
        self.limit = start + context.total_ns
        if not channel.is_flushed:
            return self._deal_with(channel.receive(Kind.FIRST_BYTE_TIMEOUT), channel, start)
        connection.watcher.callback = self._take_opening
        signal = self._to_hub()
        connection.watcher.callback = self.switch
        if signal is _ENDED:
            return self._opened, self._opened, self._ended
        return self._deal_with(signal, channel, start)

    def _deal_with(self, signal: object, channel: Channel, start: int) -> tuple[int, int, int]:
        """What the hub leaves to the worker."""
        context = self.request
        if isinstance(signal, Exception):
            raise signal
        if isinstance(signal, str):
            kind = Kind.WS_CLOSE_TIMEOUT if self.is_open else Kind.FIRST_BYTE_TIMEOUT
            raise AttemptFailed(kind_of_signal(signal, kind))
        channel.connection.hold_nothing_back()
        if not self.is_open:
            early = self._read_opening(context, channel, signal)
            return self._go_on(channel, early, start)
        if signal is _NOT_ENDED:
            await_end(context, channel)
        else:
            left = None if signal is _NOT_SENT else signal
            Conversation(self, context, channel, self._opened).finish_close(left)
        return self._opened, self._opened, now()

    # --- in the hub ------------------------------------------------------------------------------
    def _take_opening(self) -> None:
        """Something has come: the usual 101 opens the connection, and is answered at once."""
        channel, context = self._channel, self.request
        try:
            data = channel.connection.recv(context.check.recv_bytes)
        except BlockingIOError:
            return
        except Exception as error:
            self.switch(error)
            return
        channel.received_bytes = len(data)
        if not context.check.knows(data, self._accept):
            self.switch(data)
            return
        opened = self._opened = now()
        self.is_open = True
        self.limit = opened + context.close_ns
        try:
            channel.write(channel.close_frame)
        except Exception as error:
            self.switch(error)
            return
        if channel.is_flushed:
            channel.connection.watcher.callback = self._take_close
        else:
            self.switch(_NOT_SENT)

    def _take_close(self) -> None:
        """Something has come: mostly the usual close frame, and the end of the connection."""
        channel, context = self._channel, self.request
        try:
            data = channel.connection.recv(_RECV_BYTES)
        except BlockingIOError:
            return
        except Exception as error:
            self.switch(error)
            return
        channel.received_bytes += len(data)
        if data != context.expected_close:
            self.switch(data)
            return
        channel.has_close_code = True
        context.note_expected_close(now())
        try:
            more = channel.connection.recv(_RECV_BYTES)
        except BlockingIOError:
            self.switch(_NOT_ENDED)
            return
        except OSError:
            # A reset is fine, too: both sides have closed.
            more = b""
        if more:
            channel.received_bytes += len(more)
            self.switch(_NOT_ENDED)
            return
        self._ended = now()
        self.switch(_ENDED)
