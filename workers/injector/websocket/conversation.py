"""What is said on one open connection: the messages, their echoes, pings, and the close."""

from collections import deque
from typing import TYPE_CHECKING

from campaigns.domain.measured.outcomes import Kind
from workers.injector.connection import NS, now
from workers.injector.http1 import BadReply
from workers.injector.websocket import frames
from workers.injector.websocket.channel import Channel
from workers.injector.websocket.closing import await_end, send_close
from workers.injector.websocket.frames import FrameReader
from workers.injector.websocket.recorder import MESSAGES_RECEIVED, MESSAGES_SENT
from workers.injector.websocket.stay import Stay
from workers.injector.websocket.talk import Talk

if TYPE_CHECKING:
    from workers.injector.websocket.worker import Speaker

CONTROL_FRAMES_PER_S = 1000
_SENDS_PER_TURN = 16


class Conversation:
    """One connection from its opening handshake on; `take` gives it what was read with that."""

    __slots__ = (
        "_channel", "_close_code", "_control", "_dues", "_echoed", "_has_sent_close", "_last_sent",
        "_n_sent", "_opened", "_reader", "_speaker", "_talk",
    )  # fmt: skip

    def __init__(self, speaker: "Speaker", talk: Talk, channel: Channel, opened: int):
        self._speaker = speaker
        self._talk = talk
        self._channel = channel
        self._opened = opened
        self._reader = FrameReader()
        self._dues: deque[tuple[int, int]] = deque()
        self._n_sent = 0
        self._echoed = 0
        self._last_sent = opened
        self._close_code: int | None = None
        self._has_sent_close = False
        self._control = (0, 0)

    def run(self, start: int) -> None:
        """Send the messages and wait for their echoes. Raises BadReply, AttemptFailed."""
        until, count = self._talk.until(start), self._talk.exchange.messages
        while True:
            may_go_on = now() < until and self._send_due(count)
            is_over = self._n_sent >= count or now() >= until
            if is_over and not self._dues and self._channel.is_flushed:
                return
            if self._close_code is not None:
                raise BadReply(
                    Kind.EOF_MID_BODY, f"closed with {self._close_code}: {self._n_sent} messages"
                )
            self._read(until, is_over=is_over, may_go_on=may_go_on)

    def _send_due(self, count: int) -> bool:
        """Send what is due; whether more could be sent at once."""
        talk, channel = self._talk, self._channel
        for _ in range(_SENDS_PER_TURN):
            is_waiting = talk.is_sync and self._dues
            if self._n_sent >= count or is_waiting or not channel.is_flushed:
                return False
            instant = now()
            due = talk.due(self._opened, self._n_sent) if talk.alarm else instant
            if due > instant:
                return False
            self._send(due, instant)
        return True

    def _send(self, due: int, instant: int) -> None:
        talk = self._talk
        if talk.is_echoed:
            self._dues.append((due, instant))
        self._last_sent = instant
        self._channel.write(talk.masked(talk.opcode, talk.payload(self._n_sent)))
        talk.events[MESSAGES_SENT].append(instant)
        self._n_sent += 1

    def _read(self, until: int, *, is_over: bool, may_go_on: bool) -> None:
        """Take what has come; unless there is more to send, wait for it."""
        channel = self._channel
        self._speaker.limit = self._limit()
        data = channel.read() if channel.connection.tls is not None and not may_go_on else None
        if data is None:
            if may_go_on:
                channel.give_way()
            else:
                self._wait(None if is_over or self._is_blocked() else until)
            data = channel.read()
        if data is not None:
            self._hear(data)

    def _is_blocked(self) -> bool:
        """Whether nothing can be sent before something comes or goes."""
        return bool(self._talk.is_sync and self._dues) or not self._channel.is_flushed

    def _limit(self) -> int:
        """The oldest echo that is missing, or the frame on its way, must be through by then."""
        if self._dues:
            return self._dues[0][1] + self._talk.total_ns
        return 0 if self._channel.is_flushed else self._last_sent + self._talk.total_ns

    def _wait(self, until: int | None) -> None:
        kind = Kind.BODY_TIMEOUT if self._dues else Kind.WRITE_TIMEOUT
        alarm = self._talk.alarm
        if until is None or alarm is None:
            self._channel.wait(kind)
            return
        due = min(until, self._talk.due(self._opened, self._n_sent))
        entry = alarm.set(due, self._speaker.switch)
        try:
            self._channel.wait(kind)
        finally:
            alarm.cancel(entry)

    def _hear(self, data: bytes) -> None:
        if not data:
            raise self._channel.ended()
        self.take(data)

    def take(self, data: bytes) -> None:
        """Bytes from the server. Raises BadReply."""
        for opcode, content in self._reader.feed(data) if data else ():
            if opcode == frames.CLOSE:
                self._note_close(content)
            elif opcode >= frames.PING:
                self._take_control(opcode, content)
            else:
                self._take_message(opcode, content)

    def _take_message(self, opcode: int, payload: bytes) -> None:
        talk, instant = self._talk, now()
        talk.events[MESSAGES_RECEIVED].append(instant)
        if not (talk.is_echoed and talk.exchange.messages) or self._has_sent_close:
            return
        if not self._dues:
            raise BadReply(Kind.BODY_MISMATCH, "a message that nobody asked for")
        due, _ = self._dues.popleft()
        if not talk.is_echo(self._echoed, opcode, payload):
            raise BadReply(Kind.BODY_MISMATCH, f"message {self._echoed} came back as another")
        self._echoed += 1
        talk.recorder.note_round_trip((due, instant))

    def _take_control(self, opcode: int, payload: bytes) -> None:
        second, count = self._control
        this_second = now() // NS
        count = count + 1 if second == this_second else 1
        self._control = (this_second, count)
        if count > CONTROL_FRAMES_PER_S:
            raise BadReply(Kind.WS_PROTOCOL, f"over {CONTROL_FRAMES_PER_S} control frames a second")
        if opcode == frames.PING and not self._has_sent_close:
            self._channel.write(self._talk.masked(frames.PONG, payload))

    def _note_close(self, code: int) -> None:
        self._close_code = code
        self._speaker.has_close_code = True
        self._talk.recorder.closes_with(code).append(now())

    def stay_open(self, stay: Stay) -> None:
        """Say nothing until the window lets go; pings are answered. Raises BadReply."""
        speaker, channel = self._speaker, self._channel
        speaker.limit = 0
        stay.wake_with(speaker.switch)
        try:
            while not stay.is_over:
                data = channel.read() if channel.connection.tls is not None else None
                if data is None:
                    channel.wait(Kind.BODY_TIMEOUT)
                    data = channel.read()
                if data is not None:
                    self._hear(data)
                if self._close_code is not None:
                    raise BadReply(
                        Kind.EOF_MID_BODY, f"closed with {self._close_code} while kept open"
                    )
        finally:
            stay.wake_with(None)

    def close(self) -> None:
        """Shake hands for the end. Raises BadReply, AttemptFailed."""
        send_close(self._speaker, self._talk, self._channel)
        self.hear_close()

    def hear_close(self, data: bytes | None = None) -> None:
        """After our close frame: the server's, and the end. `data` was read already."""
        self._has_sent_close = True
        if data is not None:
            self._hear(data)
        while self._close_code is None:
            self._hear(self._channel.receive(Kind.WS_CLOSE_TIMEOUT))
        await_end(self._talk, self._channel)
