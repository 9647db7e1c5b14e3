"""What the demo target answers, controlled by the query string.

?delay_ms=20  wait before the reply      ?size=4096  bytes of the body     ?status=503
?chunked=1    the body in chunks         ?close=1    close afterwards      ?junk=50  header lines
?split=1      header and body in two writes
?bimodal=20,100,0.1   wait 20 ms, but 100 ms in a tenth of the requests
?pareto=20,2.5        wait at least 20 ms, with a Pareto tail of that exponent, at most 2 s
?timed=1      the log gets service_us, the time from the request to the reply, as with those two"""

import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import gevent

_MAX_SIZE = 64 * 1024 * 1024
_MAX_DELAY_MS = 600_000
_MAX_DRAWN_MS = 2_000
_DRAWN = {"bimodal", "pareto"}
_CHUNK = 4096
SOAP_SERVICE_TIME_MS = 2.0
_SOAP = b"""<?xml version="1.0" encoding="UTF-8"?>
<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>\
<getStateResponse xmlns="urn:demo"><state>READY</state></getStateResponse>\
</soap:Body></soap:Envelope>
"""
_PLAIN = b"the demo target of benchsite answers: ok\n"


@dataclass(frozen=True, slots=True)
class EchoRequest:
    """One request as the demo target understands it; an option that is not a number is ignored."""

    method: str
    path: str
    options: dict[str, str] = field(default_factory=dict)
    wants_close: bool = False

    @classmethod
    def of(cls, method: str, target: str, wants_close: bool) -> "EchoRequest":
        parts = urlsplit(target)
        return cls(method, parts.path, dict(parse_qsl(parts.query)), wants_close)

    def number(self, name: str, default: float, most: float) -> float:
        try:
            return min(max(0.0, float(self.options[name])), most)
        except (KeyError, ValueError):
            return default

    @property
    def delay_s(self) -> float:
        usual_ms = SOAP_SERVICE_TIME_MS if self.path == "/soap" else 0.0
        return self.number("delay_ms", usual_ms, _MAX_DELAY_MS) / 1000

    @property
    def has_random_delay(self) -> bool:
        """Whether each request draws its own delay."""
        return not _DRAWN.isdisjoint(self.options)

    @property
    def logs_service_time(self) -> bool:
        """Whether the log records the time this request took here, once it is answered."""
        return self.has_random_delay or self.options.get("timed") == "1"

    def draw_delay_s(self, rng: Random) -> float:
        """The delay of one request, from the requested distribution."""
        if not self.has_random_delay:
            return self.delay_s
        try:
            name = "bimodal" if "bimodal" in self.options else "pareto"
            numbers = [float(each) for each in self.options[name].split(",")]
            if name == "bimodal":
                usual_ms, slow_ms, share = numbers
                delay_ms = slow_ms if rng.random() < share else usual_ms
            else:
                least_ms, exponent = numbers
                delay_ms = least_ms * rng.paretovariate(exponent)
        except (ValueError, TypeError, ZeroDivisionError):
            return self.delay_s
        return min(max(0.0, delay_ms), _MAX_DRAWN_MS) / 1000

    @property
    def closes(self) -> bool:
        return self.wants_close or self.options.get("close") == "1"


def reply_parts(request: EchoRequest) -> list[bytes]:
    """The reply over HTTP/1.1, in the pieces it is written in."""
    body, content_type = _body(request)
    status, is_chunked = _status(request), request.options.get("chunked") == "1"
    fields = _fields(request, status, content_type, None if is_chunked else len(body))
    if is_chunked:
        fields.append(("Transfer-Encoding", "chunked"))
    if request.closes:
        fields.append(("Connection", "close"))
    try:
        reason = HTTPStatus(status).phrase
    except ValueError:
        reason = "Unknown"
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in fields)]
    head = "\r\n".join([*lines, "", ""]).encode("latin-1")
    if _has_no_body(request, status):
        return [head]
    if is_chunked:
        pieces = [body[at : at + _CHUNK] for at in range(0, len(body), _CHUNK)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in pieces) + b"0\r\n\r\n"
    return [head, body] if request.options.get("split") == "1" else [head + body]


def fields_and_body(request: EchoRequest) -> tuple[int, list[tuple[str, str]], bytes]:
    """(status, fields, body) of the reply over HTTP/2, where `chunked` and `split` mean nothing."""
    body, content_type = _body(request)
    status = _status(request)
    fields = _fields(request, status, content_type, len(body))
    return status, fields, b"" if _has_no_body(request, status) else body


def _status(request: EchoRequest) -> int:
    return int(request.number("status", 200, 599)) or 200


def _has_no_body(request: EchoRequest, status: int) -> bool:
    return request.method == "HEAD" or status in {204, 304} or status < 200


def _body(request: EchoRequest) -> tuple[bytes, str]:
    if request.path == "/soap":
        return _SOAP, "text/xml; charset=utf-8"
    if "size" in request.options:
        return b"x" * int(request.number("size", 0, _MAX_SIZE)), "application/octet-stream"
    return _PLAIN, "text/plain"


def _fields(
    request: EchoRequest, status: int, content_type: str, length: int | None
) -> list[tuple[str, str]]:
    fields = [("Server", "benchsite-echo"), ("Content-Type", content_type)]
    n_junk = int(request.number("junk", 0, 5000))
    fields += [(f"X-Junk-{number}", "j" * 40) for number in range(n_junk)]
    if length is not None and status != 204 and status >= 200:
        fields.append(("Content-Length", str(length)))
    return fields


_OK = b"HTTP/1.1 200 OK\r\n"
_HANG_S = 3600.0


def reset(sock: Any) -> None:
    """Close with a TCP reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def hang(sock: Any) -> None:
    """Never answer."""
    sock.settimeout(_HANG_S)
    while sock.recv(4096):
        pass


def garbage(sock: Any) -> None:
    """Answer, but not in HTTP."""
    sock.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")


def half_head(sock: Any) -> None:
    """Close in the middle of the head."""
    sock.sendall(_OK + b"Content-Le")


def half_body(sock: Any) -> None:
    """Announce 1000 bytes, send 500, close."""
    sock.sendall(_OK + b"Content-Length: 1000\r\n\r\n" + b"x" * 500)


def slow_drip(sock: Any) -> None:
    """A byte every 100 ms, without end."""
    sock.sendall(_OK + b"Content-Length: 1000000\r\n\r\n")
    while True:
        gevent.sleep(0.1)
        sock.sendall(b"x")


def endless_head(sock: Any) -> None:
    sock.sendall(_OK)
    while True:
        sock.sendall(b"X-More: " + b"y" * 1000 + b"\r\n")


def endless_body(sock: Any) -> None:
    sock.sendall(_OK + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        sock.sendall(b"10000\r\n" + b"z" * 65536 + b"\r\n")


def two_lengths(sock: Any) -> None:
    sock.sendall(_OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc")


def extra_reply(sock: Any) -> None:
    """A second reply that nobody asked for, right behind the first."""
    sock.sendall((_OK + b"Content-Length: 2\r\n\r\nok") * 2)


def close(_: Any) -> None:
    """Close without a word."""


FAULTS: dict[str, Callable[[Any], None]] = {
    f"/fault/{each.__name__.replace('_', '-')}": each
    for each in (
        *(reset, hang, garbage, half_head, half_body, slow_drip, endless_head, endless_body),
        *(two_lengths, extra_reply, close),
    )
}
