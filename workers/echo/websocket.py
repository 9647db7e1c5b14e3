"""The demo target over WebSocket: it echoes every message, as the query string says.

?delay_ms=20  wait before each echo     ?fault=NAME  one of FAULTS, instead of proper echoes
"""

import re
import time
from collections.abc import Callable
from typing import Any

from workers.echo.replies import EchoRequest, reset
from workers.injector.connection import NS
from workers.injector.http1 import BadReply
from workers.injector.pacer import Alarm
from workers.injector.websocket import frames
from workers.injector.websocket.channel import accept_of
from workers.injector.websocket.frames import FrameReader, encode_frame

_KEY = re.compile(rb"\r\nsec-websocket-key:[ \t]*([A-Za-z0-9+/=]{24})[ \t]*\r\n", re.IGNORECASE)
_UPGRADE = re.compile(rb"\r\nupgrade:[ \t]*websocket[ \t]*\r\n", re.IGNORECASE)
_PROTOCOL = re.compile(rb"\r\nsec-websocket-protocol:[ \t]*([^\s,]+)", re.IGNORECASE)
_REFUSAL = b"HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_HANG_S = 3600.0
_PROTOCOL_ERROR = 1002


def wants_websocket(head: bytes) -> bool:
    return _UPGRADE.search(head) is not None


def serve(sock: Any, head: bytes, request: EchoRequest, unread: bytes, alarm: Alarm) -> None:
    """Serve a connection whose upgrade request was just read."""
    key = _KEY.search(head)
    fault = request.options.get("fault", "")
    if key is None or fault == "reject":
        sock.sendall(_REFUSAL % (b"400 Bad Request" if key is None else b"403 Forbidden"))
        return
    lines = [
        b"HTTP/1.1 101 Switching Protocols",
        b"Upgrade: websocket",
        b"Connection: Upgrade",
        b"Sec-WebSocket-Accept: " + accept_of(b"x" * 24 if fault == "wrong-accept" else key[1]),
    ]
    if match := _PROTOCOL.search(head):
        lines.append(b"Sec-WebSocket-Protocol: " + match[1])
    sock.sendall(b"\r\n".join([*lines, b"", b""]))
    if fault in FAULTS:
        FAULTS[fault](sock)
        return

    def wait() -> None:
        if request.delay_s:
            alarm.sleep_until(time.monotonic_ns() + int(request.delay_s * NS))

    _echo_messages(sock, FrameReader(expects_mask=True), unread, wait)


def _echo_messages(sock: Any, reader: FrameReader, data: bytes, wait: Callable[[], None]) -> None:
    while True:
        try:
            events = reader.feed(data) if data else []
        except BadReply:
            sock.sendall(encode_frame(frames.CLOSE, frames.close_payload(_PROTOCOL_ERROR)))
            return
        answers = []
        for opcode, content in events:
            if opcode == frames.CLOSE:
                code = b"" if content == frames.NO_CODE else frames.close_payload(content)
                sock.sendall(b"".join(answers) + encode_frame(frames.CLOSE, code))
                return
            if opcode != frames.PONG:
                wait()
                answers.append(encode_frame(_ANSWER.get(opcode, opcode), content))
        if answers:
            sock.sendall(b"".join(answers))
        data = sock.recv(65536)
        if not data:
            return


_ANSWER = {frames.PING: frames.PONG}


def never_close(sock: Any) -> None:
    """Keep reading, but answer nothing, not even a close frame."""
    sock.settimeout(_HANG_S)
    while sock.recv(65536):
        pass


def masked_frame(sock: Any) -> None:
    """Send a masked frame, which servers must not."""
    sock.recv(65536)
    sock.sendall(encode_frame(frames.TEXT, b"hello", b"abcd"))


def huge(sock: Any) -> None:
    """Announce a frame of 2^62 bytes."""
    sock.recv(65536)
    sock.sendall(b"\x82\x7f\x40" + bytes(7))


def bad_text(sock: Any) -> None:
    """Send text that is not UTF-8."""
    sock.recv(65536)
    sock.sendall(encode_frame(frames.TEXT, b"\xff\xfe"))


def ping_flood(sock: Any) -> None:
    while True:
        sock.sendall(encode_frame(frames.PING, b"") * 1000)


def leave(_: Any) -> None:
    """Close without a close frame."""


def wrong_echo(sock: Any) -> None:
    """Answer a message with another."""
    sock.recv(65536)
    sock.sendall(encode_frame(frames.TEXT, b"something else"))
    never_close(sock)


def reset_after_opening(sock: Any) -> None:
    sock.recv(65536)
    reset(sock)


FAULTS: dict[str, Callable[[Any], None]] = {
    "never-close": never_close,
    "masked": masked_frame,
    "huge": huge,
    "bad-text": bad_text,
    "ping-flood": ping_flood,
    "leave": leave,
    "wrong-echo": wrong_echo,
    "reset": reset_after_opening,
}
