"""Hostile exchanges: bodies, chunks, ends at every point, drips at every phase, stray replies."""

import socket
import time

from tests.injector.hostile import (
    CHUNKED,
    HEAD,
    OK,
    SHORT,
    Case,
    bad,
    cut,
    endless,
    finish,
    good,
    merge,
    say,
    stay,
    well,
)
from tests.injector.servers import reset

_MIB = b"x" * 1024 * 1024
_SLOW = {"timeouts": SHORT}
CHUNKS = merge(
    good(
        {
            "chunks": CHUNKED + b"2\r\nok\r\n0\r\n\r\n",
            "upper and lower case sizes": CHUNKED
            + b"a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n",
            "leading zeros in a size": CHUNKED + b"0000002\r\nok\r\n000\r\n\r\n",
            "an extension": CHUNKED + b'2;name="va;lue"\r\nok\r\n0;last\r\n\r\n',
            "a space after a size": CHUNKED + b"2 \r\nok\r\n0\r\n\r\n",
            "trailers": CHUNKED + b"2\r\nok\r\n0\r\nDigest: a\r\nX-B: c\r\n\r\n",
            "a thousand tiny chunks": CHUNKED + b"1\r\nx\r\n" * 1000 + b"0\r\n\r\n",
        }
    ),
    bad(
        "http_parse",
        {
            "no size": CHUNKED + b"\r\nok\r\n0\r\n\r\n",
            "size in letters": CHUNKED + b"xyz\r\nok\r\n0\r\n\r\n",
            "negative size": CHUNKED + b"-1\r\nok\r\n0\r\n\r\n",
            "signed size": CHUNKED + b"+2\r\nok\r\n0\r\n\r\n",
            "size with 0x": CHUNKED + b"0x2\r\nok\r\n0\r\n\r\n",
            "size of 17 digits": CHUNKED + b"f" * 17 + b"\r\n",
            "space before a size": CHUNKED + b" 2\r\nok\r\n0\r\n\r\n",
            "two sizes": CHUNKED + b"2 2\r\nok\r\n0\r\n\r\n",
            "chunk longer than its size": CHUNKED + b"2\r\nokay\r\n0\r\n\r\n",
            "chunk shorter than its size": CHUNKED + b"5\r\nok\r\n0\r\n\r\n0\r\n",
            "size ended by a bare LF": CHUNKED + b"2\nok\r\n0\r\n\r\n",
            "NUL in an extension": CHUNKED + b"2;a=\x00\r\nok\r\n0\r\n\r\n",
            "bare LF in an extension": CHUNKED + b"2;a\nb\r\nok\r\n0\r\n\r\n",
            "an extension of 2 kB": CHUNKED + b"2;" + b"x" * 2000 + b"\r\nok\r\n0\r\n\r\n",
            "a size line without end": CHUNKED + b"0" * 5000,
            "a trailer without colon": CHUNKED + b"0\r\nnonsense\r\n\r\n",
            "a folded trailer": CHUNKED + b"0\r\nA: b\r\n c\r\n\r\n",
            "NUL in a trailer": CHUNKED + b"0\r\nA: \x00\r\n\r\n",
            "bytes after the last chunk": CHUNKED + b"0\r\n\r\nmore",
        },
    ),
    bad("header_cap", {"200 trailers": CHUNKED + b"0\r\n" + b"A: b\r\n" * 200 + b"\r\n"}),
    bad("body_cap", {"a chunk of a petabyte": CHUNKED + b"3ffffffffffff\r\n"}),
)
_POINTS = {
    "before the reply": b"",
    "in the status line": b"HTTP/1.1 20",
    "in the head": HEAD + b"Content-Le",
    "after the head": HEAD + b"Content-Length: 10\r\n\r\n",
    "in the body": HEAD + b"Content-Length: 10\r\n\r\n12345",
    "in a chunk size": CHUNKED + b"1",
    "in a chunk": CHUNKED + b"5\r\nhel",
    "between chunks": CHUNKED + b"5\r\nhello\r\n",
    "after the last chunk's size": CHUNKED + b"0\r\n",
    "in a trailer": CHUNKED + b"0\r\nDig",
    "after an interim reply": b"HTTP/1.1 100 Continue\r\n\r\n",
}


def _ends() -> dict[str, Case]:
    cases = {}
    for point, reply in _POINTS.items():
        early = ("eof_mid_body",) if reply else ("eof_before_reply",)
        cases[f"FIN {point}"] = Case(say(reply, end=finish), early)
        cases[f"reset {point}"] = Case(say(reply, end=cut), ("reset",))
    cases["FIN ends a body without length"] = Case(well(HEAD + b"\r\nhi", end=finish), ("ok",))
    cases["reset in a body without length"] = Case(say(HEAD + b"\r\nhi", end=cut), ("reset",))
    cases["FIN at accept"] = Case(lambda sock, server: None, ("eof_before_reply", "reset"))
    cases["reset at accept"] = Case(lambda sock, server: reset(sock), ("reset", "write_error"))
    cases["half-closed before the request"] = Case(_half_closed, ("eof_before_reply",))
    # The next request may arrive before the end is on its way: then it has failed.
    kinds = ("ok", "eof_before_reply")
    cases["FIN after each kept reply"] = Case(well(OK, end=finish), kinds)
    cases["reset after each kept reply"] = Case(well(OK, end=cut), ("ok", "reset"))
    cases["close announced, but not done"] = Case(
        well(HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\nok"), ("ok",)
    )
    return cases


def _half_closed(sock, server) -> None:
    sock.shutdown(socket.SHUT_WR)
    stay(sock)


def _drip(reply: bytes, *, start: bytes = b""):
    """One byte every 50 ms: progress without an end."""

    def script(sock, server):
        server.read_request(sock)
        sock.sendall(start)
        for byte in reply:
            sock.sendall(bytes([byte]))
            time.sleep(0.05)
        stay(sock)

    return script


_LONG = b"HTTP/1.1 200 OK\r\nX-Long: " + b"y" * 1000
SLOW = {
    name: Case(script, (kind,), _SLOW, 2)
    for name, script, kind in (
        ("silence after the request", say(end=stay), "first_byte_timeout"),
        ("silence from the start", lambda sock, server: time.sleep(3), "first_byte_timeout"),
        ("silence in the status line", say(b"HTTP/1", end=stay), "body_timeout"),
        ("silence in the head", say(HEAD, end=stay), "body_timeout"),
        ("silence after the head", say(HEAD + b"Content-Length: 2\r\n\r\n"), "body_timeout"),
        ("silence in the body", say(HEAD + b"Content-Length: 9\r\n\r\nok"), "body_timeout"),
        ("silence in a chunk size", say(CHUNKED + b"1", end=stay), "body_timeout"),
        ("silence in a chunk", say(CHUNKED + b"5\r\nok", end=stay), "body_timeout"),
        ("silence before the last chunk", say(CHUNKED + b"1\r\nx\r\n"), "body_timeout"),
        ("silence in the trailers", say(CHUNKED + b"0\r\nA: b\r\n"), "body_timeout"),
        ("silence instead of an end", say(HEAD + b"\r\nbody", end=stay), "body_timeout"),
        ("a head byte by byte", _drip(_LONG), "body_timeout"),
        ("a body byte by byte", _drip(b"x" * 900, start=HEAD + b"\r\n"), "body_timeout"),
        ("chunks byte by byte", _drip(b"1\r\nx\r\n" * 90, start=CHUNKED), "body_timeout"),
        (
            "trailers byte by byte",
            _drip(b"A: b\r\n" * 90, start=CHUNKED + b"0\r\n"),
            "body_timeout",
        ),
        (
            "interim replies for ever, slowly",
            endless(block=b"HTTP/1.1 100 C\r\n\r\n", pause_s=0.1),
            "body_timeout",
        ),
    )
}
SLOW["byte by byte, but in time"] = Case(well(*(bytes([b]) for b in OK), pause_s=0.002), ("ok",))
SLOW["a request that nobody reads"] = Case(
    lambda sock, server: time.sleep(3),
    ("write_timeout", "first_byte_timeout"),
    {**_SLOW, "method": "POST", "body": "x" * 1024 * 1024},
    2,
)


def _reply_then(stray: bytes, pause_s: float):
    """A proper reply and, a moment later, what nobody asked for."""

    def script(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(OK)
            time.sleep(pause_s)
            sock.sendall(stray)

    return script


STRAYS = {
    "two replies in a segment": Case(say(OK + OK), ("http_parse",)),
    "a byte too many": Case(say(OK + b"!"), ("http_parse",)),
    "CRLF too many": Case(say(OK + b"\r\n"), ("http_parse",)),
    "a body after 204": Case(say(b"HTTP/1.1 204 N\r\n\r\nhello"), ("http_parse",)),
    "a body after 304": Case(say(b"HTTP/1.1 304 N\r\n\r\nhello"), ("http_parse",)),
    "a body after HEAD": Case(say(OK), ("http_parse",), {"method": "HEAD"}),
    "more than the length": Case(say(HEAD + b"Content-Length: 1\r\n\r\nok"), ("http_parse",)),
    "a stray reply a moment later": Case(_reply_then(OK, 0.02), ("http_parse",), {}, 1),
    "stray bytes a moment later": Case(_reply_then(b"??", 0.02), ("http_parse",), {}, 1),
    "a stray CRLF a moment later": Case(_reply_then(b"\r\n", 0.02), ("http_parse",), {}, 1),
    "a stray reply on an idle connection": Case(
        _reply_then(OK, 0.01),
        ("http_parse",),
        {"load": {"model": "open", "rate_per_s": 10, "requests": 4}},
        4,
    ),
}
FLOODS = merge(
    {
        "a body without end": Case(endless(HEAD + b"\r\n", block=_MIB), ("body_cap",), {}, 2),
        "chunks without end": Case(
            endless(CHUNKED, block=b"100000\r\n" + _MIB + b"\r\n"), ("body_cap",), {}, 2
        ),
        "tiny chunks without end": Case(
            endless(CHUNKED, block=b"1\r\nx\r\n" * 10_000), ("body_cap", "body_timeout"), _SLOW, 1
        ),
        "a head without end": Case(endless(HEAD, block=b"X: " + _MIB), ("header_cap",), {}, 2),
        "header lines without end": Case(
            endless(HEAD, block=b"A: b\r\n" * 1000), ("header_cap",), {}, 2
        ),
        "a status line without end": Case(
            endless(b"HTTP/1.1 200 ", block=_MIB), ("header_cap",), {}, 2
        ),
        "garbage without end": Case(endless(block=b"\xff" * 65536), ("http_parse",), {}, 2),
        "interim replies without end": Case(
            endless(block=b"HTTP/1.1 100 C\r\n\r\n" * 1000), ("http_parse",), {}, 2
        ),
        "a size line that goes on": Case(
            endless(CHUNKED + b"1;", block=b"x" * 65536), ("http_parse",), {}, 2
        ),
        "a trailer that goes on": Case(
            endless(CHUNKED + b"0\r\nA: ", block=b"x" * 65536), ("header_cap",), {}, 2
        ),
        "trailers without end": Case(
            endless(CHUNKED + b"0\r\n", block=b"A: b\r\n" * 1000), ("header_cap",), {}, 2
        ),
    }
)
CASES = merge(CHUNKS, _ends(), SLOW, STRAYS, FLOODS)
