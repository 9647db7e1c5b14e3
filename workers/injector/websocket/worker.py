"""One attempt of an exchange: connect, open, exchange messages, close, with the times in between.

The closing handshake is over when the server has ended the connection after its close frame. RFC
6455 asks for this, and it leaves TIME_WAIT on the server's side.
"""

from collections.abc import Callable

from campaigns.domain.metrics.outcomes import Kind
from workers.injector import faults
from workers.injector.attempt import Worker, kind_of
from workers.injector.connection import Connection, Dialler, now
from workers.injector.http1 import INTERIM_CAP, BadReply
from workers.injector.recorder import Failure
from workers.injector.websocket.channel import Channel
from workers.injector.websocket.conversation import Conversation, HeldSocket, await_end
from workers.injector.websocket.exchange_context import ExchangeContext
from workers.injector.websocket.recorder import ABNORMAL, UNCOMPRESSED
from workers.injector.websocket.upgrade import UpgradeRejected

_PAUSE_S = 0.01
_SWITCHING = 101


class WebSocketWorker(Worker):
    """A greenlet that opens and closes connections one after the other.

    Every wait has its own `limit`; the attempt as a whole has none. `is_open`: the latest attempt
    opened a connection. `takes_turns`: what it sends is short, and answers what the server said.
    """

    takes_turns = False
    __slots__ = ("_accept", "_channel", "held_socket", "is_open", "note_opened")

    def __init__(self, dialler: Dialler):
        super().__init__(dialler, keeps=False)
        self._channel: Channel | None = None
        self._accept = b""
        self.is_open = False
        self.note_opened: Callable[[WebSocketWorker], None] | None = None
        self.held_socket: HeldSocket | None = None

    def attempt(self, request: ExchangeContext, intended: int, start: int) -> float | None:
        """Make one attempt and record it; after a failure, the seconds to wait before the next."""
        self.request = request
        self.began = start
        self._channel = None
        self.is_open = False
        try:
            key, self._accept, close_frame = request.handshakes.take()
            opening = request.upgrade.bytes_ahead(key)
            connection = self.dialler.dial(self, opening, takes_turns=self.takes_turns)
            if not (connection.secured or start & self._reads.mask):
                self._reads.time(self, connection)
            if connection.timed is not None:
                connection.timed.adds_up = request.exchange.goes_step_by_step
            channel = self._channel = Channel(self, connection, close_frame)
            opening = opening or request.upgrade.bytes_with(key)
            channel.values = request.upgrade.values
            channel.begin(opening)
            opened, exchanged, end = self._converse(channel, start)
            connected, secured = connection.connected, connection.secured
            ends = (exchanged, end, _SWITCHING, 0, 0, channel.received_bytes)
            request.record((intended, start, connected, secured, opened, *ends))
            request.recorder.note_sent((end, channel.sent_bytes))
            self._finish_ok(connection)
            return None
        except Exception as error:
            return self._give_up(error, intended, start)

    def _converse(self, channel: Channel, start: int) -> tuple[int, int, int]:
        """Open, exchange the messages, close; when each was over. Raises what ended it."""
        return self._go_on(channel, self._open(self.request, channel, start), start)

    def _go_on(self, channel: Channel, early: bytes, start: int) -> tuple[int, int, int]:
        """The same for a connection that the server has just opened; `early`: what came then."""
        context, opened = self.request, now()
        self.is_open = True
        if context.offers_deflate and channel.agreed is None:
            context.events[UNCOMPRESSED].append(opened)
        if self.note_opened is not None:
            self.note_opened(self)
        if early or context.talks or self.held_socket is not None:
            return opened, *self._exchange_and_close(channel, early, start, opened)
        self._close_without_messages(context, channel, opened)
        return opened, opened, now()

    def _open(self, context: ExchangeContext, channel: Channel, start: int) -> bytes:
        """Await the handshake's end; the bytes after the server's head. Raises BadReply,
        AttemptFailed."""
        self.limit = start + context.total_ns
        data = channel.receive(Kind.FIRST_BYTE_TIMEOUT)
        if context.check.knows(data, self._accept):
            return b""
        return self._read_opening(context, channel, data)

    def _read_opening(self, context: ExchangeContext, channel: Channel, data: bytes) -> bytes:
        """The rest of `_open` for a head that is new or has only partly arrived."""
        if not data:
            raise channel.ended()
        for _ in range(INTERIM_CAP + 1):
            head, data = channel.receive_head(data)
            try:
                if context.check.opens(head, self._accept):
                    channel.agreed = context.check.agreed
                    return data
            except UpgradeRejected as refusal:
                refusal.kept = data
                raise
        raise BadReply(Kind.HTTP_PARSE, f"more than {INTERIM_CAP} interim replies")

    def _exchange_and_close(
        self, channel: Channel, early: bytes, start: int, opened: int
    ) -> tuple[int, int]:
        """Exchange the messages and close; (when the messages were over, when the close was)."""
        context, exchanged = self.request, opened
        conversation = Conversation(self, context, channel, opened)
        conversation.take(early)
        if context.talks:
            conversation.run(start)
            exchanged = now()
        closing = exchanged
        if self.held_socket is not None:
            conversation.hold(self.held_socket)
            closing = now()
        conversation.close()
        end = now()
        if closing > exchanged:
            context.recorder.note_held(end, closing)
        return exchanged, end

    def _close_without_messages(
        self, context: ExchangeContext, channel: Channel, opened: int
    ) -> None:
        """Close at once; the usual answer is recognised by its bytes, any other is parsed."""
        self.limit = opened + context.close_ns
        channel.write(channel.close_frame)
        data = channel.receive(Kind.WS_CLOSE_TIMEOUT)
        if data == context.expected_close:
            channel.has_close_code = True
            context.note_expected_close(now())
            await_end(context, channel)
        else:
            Conversation(self, context, channel, opened).finish_close(data)

    def _finish_ok(self, connection: Connection) -> None:
        """Clean up after a successful attempt."""
        self.limit = self.began = 0
        if connection.tls is not None:
            self.dialler.keep_session(connection)
        self.connection = None
        self.dialler.hang_up(connection)
        self.request.handshakes.fill_up()

    def _give_up(self, error: Exception, intended: int, start: int) -> float:
        context, channel, end = self.request, self._channel, now()
        sent = channel.sent_bytes if channel else 0
        received = channel.received_bytes if channel else 0
        kind = kind_of(error, sent, received)
        status = error.status if isinstance(error, UpgradeRejected) else 0
        if self.is_open:
            status = _SWITCHING
            if not channel.has_close_code:
                context.recorder.closes_with(ABNORMAL).append(end)
        by_kernel, detail = faults.is_socket_timeout(error, kind), context.detail(error, kind)
        failure = (kind, status, sent, received, by_kernel, detail)
        context.failures.append(Failure(intended, start, end, *failure))
        context.note_example(kind, status, end, error)
        self.limit = self.began = 0
        self.drop_connection()
        return _PAUSE_S if kind in faults.ABOUT_TO_SPIN else 0.0
