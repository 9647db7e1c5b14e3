"""One WebSocket in full detail: the upgrade reply, one message and its answer, the close."""

from typing import Any

from campaigns.domain.metrics.outcomes import Kind
from workers.injector.connection import NS, Dialler, now
from workers.injector.faults import AttemptFailed
from workers.injector.http1 import INTERIM_CAP, BadReply, Head, header_values, parse_head
from workers.injector.prober import SNIPPET_BYTES, Prober
from workers.injector.websocket import frames
from workers.injector.websocket.channel import Channel
from workers.injector.websocket.conversation import Conversation, await_end, send_close
from workers.injector.websocket.exchange_context import MESSAGES_RECEIVED, ExchangeContext
from workers.injector.websocket.frames import FrameReader

# A person is waiting; a server that does not answer messages is not an error.
ANSWER_WITHIN_S = 3
_PING_CAP = 1000


class ShownConversation(Conversation):
    """Keeps what came last and the close code."""

    __slots__ = ("latest",)
    latest: tuple[int, bytes] | None

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.latest = None

    def _take_message(self, opcode: int, payload: bytes) -> None:
        self.latest = opcode, payload
        super()._take_message(opcode, payload)

    @property
    def close_code(self) -> int | None:
        return self._close_code


class WebSocketProber(Prober):
    """Opens, says what the exchange has, and closes; without an exchange it sends `message` unless
    it is None, and waits for the first message."""

    def __init__(
        self,
        dialler: Dialler,
        context: ExchangeContext,
        message: str | None,
        looker: Dialler | None,
    ):
        super().__init__(dialler, context, looker)
        self._context = context
        self._message = None if message is None else message.encode()
        self._channel: Channel | None = None
        self._reader = FrameReader()
        self._head: Head | None = None
        self._accept = b""
        self._rest = b""
        self._answer: tuple[int, bytes] | None = None
        self._n_messages = self._n_pings = 0
        self._close_code: int | None = None

    def fetch(self) -> None:
        channel = self._channel = Channel(self, self.connect())
        early = self._open(channel)
        self.instants["handshake"] = now()
        if self._context.talks:
            self._converse(channel, early)
            return
        self._take_input(early)
        if self._message is not None:
            self._exchange(channel, self._message)
            self.instants["exchange"] = now()
        send_close(self, self._context, channel)
        while self._close_code is None:
            self._take_input(self._receive(channel, Kind.WS_CLOSE_TIMEOUT))
        await_end(self._context, channel)
        self.instants["close"] = now()

    def _open(self, channel: Channel) -> bytes:
        """Shake hands; the bytes after the head of the 101. Raises BadReply, AttemptFailed."""
        key, self._accept, channel.close_frame = self._context.handshakes.take()
        channel.write(self._context.upgrade.bytes_with(key))
        data = b""
        for _ in range(INTERIM_CAP + 1):
            head, data = channel.receive_head(data)
            self._head, self._rest = parse_head(head, "GET"), data[:SNIPPET_BYTES]
            if self._context.check.opens(head, self._accept):
                channel.compression = self._context.check.compression
                self._rest = b""
                return data
        raise BadReply(Kind.HTTP_PARSE, f"more than {INTERIM_CAP} interim replies")

    def _converse(self, channel: Channel, early: bytes) -> None:
        """As a connection of the load does it. Raises BadReply, AttemptFailed."""
        conversation = ShownConversation(self, self._context, channel, now())
        try:
            conversation.take(early)
            conversation.run(now())
            self.instants["exchange"] = now()
            conversation.close()
            self.instants["close"] = now()
        finally:
            self._answer, self._close_code = conversation.latest, conversation.close_code
            self._n_messages = len(self._context.events[MESSAGES_RECEIVED])

    def _exchange(self, channel: Channel, message: bytes) -> None:
        """Send the message; wait a limited time for the first message back."""
        until = self.limit = now() + ANSWER_WITHIN_S * NS
        channel.write(self._context.masked(frames.TEXT, message))
        try:
            while self._answer is None and self._close_code is None:
                self._take_input(self._receive(channel, Kind.BODY_TIMEOUT))
        except AttemptFailed:
            if now() < until:
                raise

    def _receive(self, channel: Channel, kind: Kind) -> bytes:
        data = channel.receive(kind)
        if not data:
            raise channel.early_end()
        return data

    def _take_input(self, data: bytes) -> None:
        for opcode, content in self._reader.feed(data) if data else ():
            if opcode == frames.CLOSE:
                self._close_code = content
            elif opcode == frames.PING:
                self._n_pings += 1
                if self._n_pings > _PING_CAP:
                    raise BadReply(Kind.WS_PROTOCOL, f"over {_PING_CAP} pings")
                self._channel.write(self._context.masked(frames.PONG, content))
            elif opcode in {frames.TEXT, frames.BINARY}:
                self._n_messages += 1
                self._answer = self._answer or (opcode, content)

    def count_bytes(self) -> tuple[int, int]:
        channel = self._channel
        return (channel.sent_bytes, channel.received_bytes) if channel else (0, 0)

    def reply_facts(self) -> dict[str, Any]:
        head, verdict, message = self._head, "", None
        if head is not None and head.status == 101:
            accept = self._header("sec-websocket-accept")
            is_right = accept == self._accept.decode()
            verdict = "right" if is_right else "wrong" if accept else "missing"
        if self._answer is not None:
            opcode, payload = self._answer
            message = {
                "kind": "binary" if opcode == frames.BINARY else "text",
                "size_bytes": len(payload),
                "snippet": payload[:SNIPPET_BYTES].decode("utf-8", "replace"),
                "is_echo": (opcode, payload) == (frames.TEXT, self._message),
            }
        return {
            "status": head.status if head else None,
            "reason": head.reason if head else "",
            "headers": [list(pair) for pair in head.headers] if head else [],
            "body_bytes": len(self._rest),
            "snippet": self._rest.decode("utf-8", "replace"),
            "websocket": {
                "accept": verdict,
                "subprotocol": self._header("sec-websocket-protocol"),
                "message": message,
                "messages": self._n_messages,
                "close_code": self._close_code,
            },
        }

    def _header(self, key: str) -> str:
        return next(iter(header_values(self._head.headers if self._head else (), key)), "")
