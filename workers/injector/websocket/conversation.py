"""The traffic on one open connection: messages, their echoes, pings, and the close."""

from collections import deque
from collections.abc import Callable
from typing import Any

import gevent

from campaigns.domain.metrics.outcomes import Detail, Kind
from campaigns.domain.units import counted
from workers.injector.attempt import Worker
from workers.injector.connection import NS, Waking, now
from workers.injector.faults import AttemptFailed
from workers.injector.http1 import BadReply
from workers.injector.recorder import NEVER
from workers.injector.tls_library import RaggedEnd
from workers.injector.websocket import frames
from workers.injector.websocket.channel import Channel
from workers.injector.websocket.exchange_context import (
    MESSAGES_OTHER,
    MESSAGES_RECEIVED,
    MESSAGES_SENT,
    ExchangeContext,
    Matcher,
)
from workers.injector.websocket.frames import FrameReader, Packer, Unpacker


class HeldSocket:
    """The window keeps it; the connection's worker waits on it.

    `is_released`: it is one of those that may close at the same time.
    """

    __slots__ = ("_wake", "is_over", "is_released")

    def __init__(self) -> None:
        self.is_over = self.is_released = False
        self._wake: Callable[[], Any] | None = None

    def close(self) -> None:
        """Release it, from any greenlet or the hub; the waiting worker resumes in its own turn."""
        self.is_over = True
        wake, self._wake = self._wake, None
        if wake is not None:
            gevent.get_hub().loop.run_callback(wake)

    def wake_with(self, switch: Callable[[], Any] | None) -> None:
        """What `close` calls from now on; None if nobody waits any more."""
        self._wake = switch


CONTROL_FRAMES_PER_S = 1000
_SENDS_PER_TURN = 16


class Conversation:
    """One connection after its opening handshake; `take` feeds it bytes that came with that."""

    __slots__ = (
        "_channel", "_close_code", "_context", "_control", "_dues", "_has_sent_close", "_inbox",
        "_last_sent", "_matcher", "_n_echoes", "_n_sent", "_opened_at", "_packer", "_reader",
        "_worker",
    )  # fmt: skip

    def __init__(self, worker: Worker, context: ExchangeContext, channel: Channel, opened_at: int):
        self._worker = worker
        self._context = context
        self._channel = channel
        self._opened_at = opened_at
        packing = channel.compression
        self._packer = packing and Packer(keeps=packing.client_keeps)
        unpacker = packing and Unpacker(frames.MESSAGE_CAP_BYTES, keeps=packing.server_keeps)
        self._reader = FrameReader(unpacker)
        self._matcher = context.make_matcher and context.make_matcher()
        # What came and is not looked at yet, while there is a scenario: (when, payload).
        self._inbox: deque[tuple[int, bytes]] | None = deque() if context.scenario else None
        self._dues: deque[tuple[int, int]] = deque()
        self._n_sent = 0
        self._n_echoes = 0
        self._last_sent = opened_at
        self._close_code: int | None = None
        self._has_sent_close = False
        self._control = (0, 0)

    def run(self, start: int) -> None:
        """Do the scenario, send the messages and wait for the replies. Raises BadReply,
        AttemptFailed."""
        if self._inbox is not None:
            self._play(start)
        self._talk(start)

    def _talk(self, start: int) -> None:
        count = self._context.n_messages
        while True:
            # A stop brings it forward.
            until = self._context.until(start)
            may_go_on = now() < until and self._send_due(count)
            is_over = self._n_sent >= count or now() >= until
            if is_over and not self._dues and self._channel.is_flushed:
                return
            if self._close_code is not None:
                sent = counted(self._n_sent, "messages")
                raise BadReply(Kind.EOF_MID_BODY, f"{self._closed_with} after {sent}")
            self._read(until, is_over=is_over, may_go_on=may_go_on)

    def _send_due(self, count: int) -> bool:
        """Send what is due; True if more could be sent right away."""
        context, channel = self._context, self._channel
        for _ in range(_SENDS_PER_TURN):
            is_waiting = context.is_sync and self._dues
            if self._n_sent >= count or is_waiting or not channel.is_flushed:
                return False
            instant = now()
            due = self._due(instant)
            if due > instant:
                return False
            self._send(due, instant)
        return True

    def _due(self, instant: int) -> int:
        """When the next message is, seen from an instant."""
        context = self._context
        return context.due(self._opened_at, self._n_sent) if context.alarm else instant

    def _send(self, due: int, instant: int) -> None:
        context = self._context
        if context.is_echoed:
            self._dues.append((due, instant))
        self._last_sent = instant
        self._write(context.payload(self._n_sent, self._channel.values), instant)
        self._n_sent += 1

    def _write(self, payload: bytes, instant: int) -> None:
        context = self._context
        packer = self._packer
        if packer is None:
            frame = context.masked(context.opcode, payload)
        else:
            frame = context.masked(context.opcode, packer.pack(payload), is_packed=True)
        self._channel.write(frame)
        context.events[MESSAGES_SENT].append(instant)

    def _read(self, until: int, *, is_over: bool, may_go_on: bool) -> None:
        """Handle what has arrived; wait for it unless there is more to send."""
        channel = self._channel
        # When the oldest missing echo must be here, or the pending frame be written.
        self._worker.limit = 0
        if self._dues:
            self._worker.limit = self._dues[0][1] + self._context.total_ns
        elif not channel.is_flushed:
            self._worker.limit = self._last_sent + self._context.total_ns
        data = channel.read() if channel.connection.tls is not None and not may_go_on else None
        if data is None:
            if may_go_on:
                channel.yield_to_hub()
            else:
                # Sending may have to wait for an echo, or for room in the socket.
                is_blocked = (self._context.is_sync and self._dues) or not channel.is_flushed
                self._wait(None if is_over or is_blocked else until)
            data = channel.read()
        if data is not None:
            self._take_input(data)

    def _wait(self, until: int | None) -> None:
        kind = Kind.BODY_TIMEOUT if self._dues else Kind.WRITE_TIMEOUT
        alarm = self._context.alarm
        if until is None or alarm is None:
            try:
                self._channel.wait(kind)
            except AttemptFailed as failure:
                raise self._explained(failure, self._matcher) from None
            return
        due = min(until, self._due(now()))
        entry = alarm.set(due, self._worker.switch)
        try:
            self._channel.wait(kind)
        finally:
            alarm.cancel(entry)

    def _take_input(self, data: bytes) -> None:
        if not data:
            raise self._channel.early_end()
        self.take(data)

    def take(self, data: bytes) -> None:
        """Bytes from the server. Raises BadReply."""
        for opcode, content in self._reader.feed(data) if data else ():
            if opcode == frames.CLOSE:
                self._close_code = content
                self._channel.has_close_code = True
                self._context.recorder.closes_with(content).append(now())
            elif opcode >= frames.PING:
                second, count = self._control
                this_second = now() // NS
                count = count + 1 if second == this_second else 1
                self._control = (this_second, count)
                if count > CONTROL_FRAMES_PER_S:
                    detail = f"over {CONTROL_FRAMES_PER_S} control frames a second"
                    raise BadReply(Kind.WS_PROTOCOL, detail)
                if opcode == frames.PING and not self._has_sent_close:
                    self._channel.write(self._context.masked(frames.PONG, content))
            else:
                self._take_message(opcode, content)

    def _take_message(self, opcode: int, payload: bytes) -> None:
        context, instant = self._context, now()
        context.events[MESSAGES_RECEIVED].append(instant)
        if self._inbox is not None:
            self._inbox.append((instant, payload))
            return
        if not self._dues or self._has_sent_close or not self._is_reply(opcode, payload):
            # What the server says by itself.
            context.events[MESSAGES_OTHER].append(instant)
            return
        due, sent = self._dues.popleft()
        self._n_echoes += 1
        self._note_round_trip(due, sent, instant)

    def _note_round_trip(self, due: int, sent: int, instant: int) -> None:
        self._context.recorder.note_round_trip((due, instant))

    def _is_reply(self, opcode: int, payload: bytes) -> bool:
        context, number = self._context, self._n_echoes
        if self._matcher is not None:
            values = self._channel.values
            return self._matcher.is_reply(payload, lambda: context.payload(number, values))
        if not context.is_echo(number, opcode, payload):
            raise BadReply(Kind.BODY_MISMATCH, f"the echo of message {number} differs")
        return True

    # --- the scenario ----------------------------------------------------------------------------
    def _play(self, start: int) -> None:
        """Its steps in order, until the load is over. Raises BadReply, AttemptFailed."""
        context, sent_at, message = self._context, 0, b""
        for step in context.scenario:
            if now() >= context.until(start):
                break
            if step.make_text is not None:
                self._forget_inbox()
                sent_at, message = now(), step.make_text(self._channel.values)
                self._last_sent = sent_at
                self._write(message, sent_at)
            elif step.make_matcher is not None:
                reply_at = self._await_reply(step.make_matcher(), message)
                if sent_at:
                    context.recorder.note_round_trip((sent_at, reply_at))
                    sent_at = 0
            else:
                self._pause(now() + int(step.wait_s * NS))
        self._forget_inbox()
        self._inbox = None
        self._opened_at = now()

    def _forget_inbox(self) -> None:
        self._context.events[MESSAGES_OTHER] += [instant for instant, _ in self._inbox]
        self._inbox.clear()

    def _await_reply(self, matcher: Matcher, message: bytes) -> int:
        """When the message came that the matcher takes."""
        self._worker.limit = now() + self._context.total_ns
        while True:
            while self._inbox:
                instant, payload = self._inbox.popleft()
                if matcher.is_reply(payload, lambda: message):
                    return instant
                self._context.events[MESSAGES_OTHER].append(instant)
            try:
                self._receive_some(Kind.BODY_TIMEOUT)
            except AttemptFailed as failure:
                raise self._explained(failure, matcher) from None
            if self._close_code is not None and not self._inbox:
                raise BadReply(Kind.EOF_MID_BODY, f"{self._closed_with} in the scenario")

    def _pause(self, until: int) -> None:
        self._worker.limit = 0
        while (left_ns := until - now()) > 0:
            with Waking(gevent.get_hub().loop.timer(left_ns / NS), self._worker.switch):
                self._receive_some(Kind.BODY_TIMEOUT)
            if self._close_code is not None:
                raise BadReply(Kind.EOF_MID_BODY, f"{self._closed_with} in the scenario")

    def _receive_some(self, kind: Kind) -> None:
        """Take what has come, or wait once for more."""
        channel = self._channel
        data = channel.read() if channel.connection.tls is not None else None
        if data is None:
            channel.wait(kind)
            data = channel.read()
        if data is not None:
            self._take_input(data)

    def _explained(self, failure: AttemptFailed, matcher: Matcher | None) -> AttemptFailed:
        if failure.kind != Kind.BODY_TIMEOUT or matcher is None:
            return failure
        return AttemptFailed(failure.kind, f"{Detail.NO_MESSAGE} ({matcher.rule.line})")

    @property
    def _closed_with(self) -> str:
        """The server's close code and reason: "closed with 1011 (out of memory)"."""
        reason = self._reader.close_reason
        return f"closed with {self._close_code}" + (f" ({reason})" if reason else "")

    def hold(self, held_socket: HeldSocket) -> None:
        """Stay open and silent until the window releases it; answers pings. Raises BadReply."""
        worker = self._worker
        worker.limit = 0
        held_socket.wake_with(worker.switch)
        try:
            while not held_socket.is_over:
                self._receive_some(Kind.BODY_TIMEOUT)
                if self._close_code is not None:
                    raise BadReply(Kind.EOF_MID_BODY, f"{self._closed_with} while kept open")
        finally:
            held_socket.wake_with(None)

    def close(self) -> None:
        """Do the closing handshake. Raises BadReply, AttemptFailed."""
        send_close(self._worker, self._context, self._channel)
        self.finish_close()

    def finish_close(self, data: bytes | None = None) -> None:
        """After our close frame: wait for the server's and the end. `data` was read already."""
        self._has_sent_close = True
        if data is not None:
            self._take_input(data)
        while self._close_code is None:
            self._take_input(self._channel.receive(Kind.WS_CLOSE_TIMEOUT))
        await_end(self._context, self._channel)


class ConversationInTurns(Conversation):
    """Its messages are due on the clock of its arm's turns, and each waits for one; replies are
    awaited at any time. `began`: when the message was sent whose reading is timed, or 0."""

    __slots__ = ("_n_skipped", "_opened_ns", "_replied_ns", "_turns", "began", "request")

    def __init__(self, worker: Worker, context: ExchangeContext, channel: Channel, opened_at: int):
        super().__init__(worker, context, channel, opened_at)
        self.request, self._turns = context, context.turns
        self._n_skipped = self.began = 0
        channel.unanswered = self._dues
        if (timer := channel.connection.timer) is not None:
            # So far the opening was, of which all that came counted.
            timer.attempts.clear()
            timer.adds_up = False

    @property
    def n_unanswered(self) -> int:
        return len(self._dues)

    @property
    def next_ns(self) -> int:
        """When the next message is due on the clock of turns; NEVER where only replies decide."""
        context = self._context
        is_due = context.rate_per_s and self._n_sent < context.n_messages
        return context.due(self._opened_ns, self._n_sent + self._n_skipped) if is_due else NEVER

    def _talk(self, start: int) -> None:
        context = self._context
        self._replied_ns = self._turns.clock_ns(self._opened_at)
        self._opened_ns = context.first_due(self._worker, self._replied_ns)
        context.talking.add(self)
        try:
            super()._talk(start)
        except Exception:
            context.recorder.note_lost([due for due, _ in self._dues], now())
            raise
        finally:
            self._skip_overdue(now())
            context.talking.discard(self)

    def count_anew(self) -> None:
        """Messages are due from now on, at another rate."""
        self._opened_ns = self._context.first_due(self._worker, self._turns.clock_ns(now()))
        self._n_skipped = -self._n_sent

    def _skip_overdue(self, instant: int) -> None:
        """Each turn begins anew: what is left over would carry one stall into many rounds."""
        begun_ns = self._turns.begun_ns(instant)
        while (due_ns := self.next_ns) < begun_ns:
            self._turns.skip(due_ns)
            self._n_skipped += 1

    def _due(self, instant: int) -> int:
        turns = self._turns
        if not self._context.rate_per_s:
            return turns.due(turns.clock_ns(instant), instant)
        self._skip_overdue(instant)
        return turns.due(self.next_ns, instant)

    def _send(self, due: int, instant: int) -> None:
        is_alone, worker, channel = not self._dues, self._worker, self._channel
        self._turns.turn_at(due).n_begun += 1
        super()._send(due, instant)
        if is_alone and not instant & worker.dialler.reads.mask:
            self.began = instant
            worker.dialler.reads.time(self, channel.connection, holder=worker)
            channel.read_anew()

    def _note_round_trip(self, due: int, sent: int, instant: int) -> None:
        context, turns, late_ns = self._context, self._turns, sent - due
        if late_ns and context.is_sync:
            # What waited for the reply before was not kept waiting by the injector.
            late_ns = min(late_ns, turns.clock_ns(sent) - self._replied_ns)
        self._replied_ns = turns.clock_ns(instant)
        context.recorder.note_message((due, sent, instant, late_ns))
        if sent == self.began:
            self.began = 0


def send_close(worker: Worker, context: ExchangeContext, channel: Channel) -> None:
    """Send our close frame; the plan's close timeout starts now."""
    worker.limit = now() + context.close_ns
    channel.write(channel.close_frame)


def await_end(context: ExchangeContext, channel: Channel) -> None:
    """Wait for the server to end the connection; a reset is fine too, both sides have closed."""
    try:
        # Most servers end it right after their close frame, so often there is no need to wait.
        data = channel.read(Kind.WS_CLOSE_TIMEOUT)
        while data is None or data:
            data = channel.receive(Kind.WS_CLOSE_TIMEOUT)
    except RaggedEnd:
        context.events["tls_ragged_eof"].append(now())
    except OSError:
        return
