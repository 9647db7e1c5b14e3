"""One attempt of an exchange: connect, open, exchange messages, close, with the times in between.

The closing handshake is over when the server has ended the connection after its close frame. RFC
6455 asks for this, and it leaves TIME_WAIT on the server's side.

A worker whose connections are opened and closed without a message.

The hub deals with their usual answers: it answers the server's 101 with our close frame, and the
server's close frame by looking for the end. The worker waits once for all of that. Whatever else
comes is the worker's: another answer, an error, a limit, a frame that does not fit into the socket.

Opens WebSockets within a window; a connection leaves it when its opening handshake is over.

Messages and the closing handshake happen outside the window, as with wsperf. Held connections stay
open between the two, until their time is over or, with keep_until_all, until all are open."""

from collections.abc import Callable
from typing import Any

import gevent

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.load import Hold
from workers.injector import faults
from workers.injector.attempt import Worker, kind_of, kind_of_signal
from workers.injector.connection import Dialler, now
from workers.injector.faults import AttemptFailed
from workers.injector.http1 import INTERIM_CAP, BadReply
from workers.injector.recorder import Failure, StepRecorder
from workers.injector.websocket.channel import Channel, UpgradeRejected
from workers.injector.websocket.conversation import (
    Conversation,
    ConversationInTurns,
    HeldSocket,
    await_end,
)
from workers.injector.websocket.exchange_context import ABNORMAL, UNCOMPRESSED, ExchangeContext
from workers.injector.window import WindowLoad

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

    def starts_of(self, recorder: StepRecorder) -> list[int]:
        if self.request.turns is None:
            return super().starts_of(recorder)
        return [sent for _, sent in self._channel.unanswered] if self._channel else []

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
            if not (connection.secured_ns or start & self._reads.mask):
                self._reads.time(self, connection)
            if connection.timer is not None:
                connection.timer.adds_up = request.exchange.goes_step_by_step
            channel = self._channel = Channel(self, connection, close_frame)
            opening = opening or request.upgrade.bytes_with(key)
            channel.values = request.upgrade.values
            channel.begin(opening)
            opened_at, exchange_end, end = self._converse(channel, start)
            connected_ns, secured_ns = connection.connected_ns, connection.secured_ns
            ends = (exchange_end, end, _SWITCHING, 0, 0, channel.received_bytes)
            request.record((intended, start, connected_ns, secured_ns, opened_at, *ends))
            request.recorder.note_sent((end, channel.sent_bytes))
            self.limit = self.began = 0
            if connection.tls is not None:
                self.dialler.keep_session(connection)
            self.connection = None
            self.dialler.hang_up(connection)
            self.request.handshakes.fill_up()
            return None
        except Exception as error:
            return self._give_up(error, intended, start)

    def _converse(self, channel: Channel, start: int) -> tuple[int, int, int]:
        """Open, exchange the messages, close; when each was over. Raises what ended it."""
        return self._go_on(channel, self._open(self.request, channel, start), start)

    def _go_on(self, channel: Channel, early: bytes, start: int) -> tuple[int, int, int]:
        """The same for a connection that the server has just opened; `early`: what came then."""
        context, opened_at = self.request, now()
        self.is_open = True
        if context.offers_deflate and channel.compression is None:
            context.events[UNCOMPRESSED].append(opened_at)
        if self.note_opened is not None:
            self.note_opened(self)
        if early or context.talks or self.held_socket is not None:
            return opened_at, *self._exchange_and_close(channel, early, start, opened_at)
        # The usual answer is recognised by its bytes, any other is parsed.
        self.limit = opened_at + context.close_ns
        channel.write(channel.close_frame)
        data = channel.receive(Kind.WS_CLOSE_TIMEOUT)
        if data == context.expected_close:
            channel.has_close_code = True
            context.note_expected_close(now())
            await_end(context, channel)
        else:
            Conversation(self, context, channel, opened_at).finish_close(data)
        return opened_at, opened_at, now()

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
            raise channel.early_end()
        for _ in range(INTERIM_CAP + 1):
            head, data = channel.receive_head(data)
            try:
                if context.check.opens(head, self._accept):
                    channel.compression = context.check.compression
                    return data
            except UpgradeRejected as refusal:
                refusal.body_start = data
                raise
        raise BadReply(Kind.HTTP_PARSE, f"more than {INTERIM_CAP} interim replies")

    def _exchange_and_close(
        self, channel: Channel, early: bytes, start: int, opened_at: int
    ) -> tuple[int, int]:
        """Exchange the messages and close; (when the messages were over, when the close was)."""
        context, exchange_end = self.request, opened_at
        make = Conversation if context.turns is None else ConversationInTurns
        conversation = make(self, context, channel, opened_at)
        conversation.take(early)
        if context.talks:
            conversation.run(start)
            exchange_end = now()
        closing = exchange_end
        if self.held_socket is not None:
            conversation.hold(self.held_socket)
            closing = now()
        conversation.close()
        end = now()
        if closing > exchange_end:
            context.recorder.note_held(end, closing)
        return exchange_end, end

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
        attempts = [(intended, start)]
        if context.turns is not None and self.is_open:
            attempts = channel.unanswered or [(end, end)]
        # The bytes are counted with the first; the others were sent, too.
        sizes = [(sent - len(attempts) + 1, received)] + [(1, 0)] * (len(attempts) - 1)
        for times, size in zip(attempts, sizes, strict=True):
            failure = Failure(*times, end, kind, status, *size, by_kernel, detail)
            context.failures.append(failure)
        context.note_example(kind, status, end, error)
        self.limit = self.began = 0
        self.drop_connection()
        return _PAUSE_S if kind in faults.ABOUT_TO_SPIN else 0.0


# More than the usual close frame; Python's own allocator has room for so little.
_RECV_BYTES = 256
_ENDED, _NOT_ENDED, _NOT_SENT = object(), object(), object()


class SilentWorker(WebSocketWorker):
    """`_opened_at` and `_end_at`: when the hub saw the server's 101, and its end."""

    takes_turns = True
    __slots__ = ("_end_at", "_opened_at")

    def __init__(self, dialler: Dialler):
        super().__init__(dialler)
        self._opened_at = self._end_at = 0

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
            return self._opened_at, self._opened_at, self._end_at
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
            data = None if signal is _NOT_SENT else signal
            Conversation(self, context, channel, self._opened_at).finish_close(data)
        return self._opened_at, self._opened_at, now()

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
        opened_at = self._opened_at = now()
        self.is_open = True
        self.limit = opened_at + context.close_ns
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
        self._end_at = now()
        self.switch(_ENDED)


class WebSocketWindow(WindowLoad):
    """A window whose connections continue on their own once they are open."""

    workers: list[WebSocketWorker]

    def __init__(
        self, context: ExchangeContext, make_worker: Callable[[], WebSocketWorker], *settings: Any
    ):
        super().__init__(self._attempt, make_worker, *settings)
        self._context = context
        self._n_released = 0
        self._n_past_opening = 0

    @property
    def _n_open(self) -> int:
        """Connections past their opening: they exchange messages, are held, or close."""
        return self._n_past_opening

    @property
    def _n_left(self) -> int:
        return super()._n_left + self._n_past_opening

    def _work(self, worker: WebSocketWorker, number: int, is_warm_up: bool) -> None:
        """One connection from start to end; it leaves the window when it is open or has failed."""
        is_held = self._hold != Hold.CLOSE and not is_warm_up
        worker.held_socket = HeldSocket() if is_held else None
        worker.note_opened = self._note_one_opened
        self._attempt(worker, number)
        self._idle.append(worker)
        if worker.is_open:
            self._n_past_opening -= 1
            self._note_left()
            self._refill()
        else:
            self._note_opened()

    def _attempt(self, worker: WebSocketWorker, _: int) -> None:
        start = now()
        pause_s = worker.attempt(self._context, start, start)
        if worker.held_socket is not None:
            worker.held_socket.close()
            if worker.held_socket.is_released:
                self._n_released -= 1
                self._close_held()
        if pause_s:
            gevent.sleep(pause_s)

    def _close_held(self) -> None:
        """Release as many as may be opened at a time; each one that ends makes room for the next.

        All at once would measure the rush at the end, not the server. A stop releases all.
        """
        while self._held_sockets and (self._is_stopped or self._n_released < self._marks.high):
            held_socket = self._held_sockets.popleft()[1]
            if not held_socket.is_over:
                held_socket.is_released = True
                self._n_released += 1
                held_socket.close()

    def _note_one_opened(self, worker: WebSocketWorker) -> None:
        """Called in the middle of the worker's attempt."""
        if worker.held_socket is not None:
            self._keep_or_close(worker.held_socket, is_warm_up=False)
        self._n_past_opening += 1
        self._note_opened()

    @property
    def is_finished(self) -> bool:
        return super().is_finished and not any(worker.began for worker in self.workers)
