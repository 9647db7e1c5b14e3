"""Hostile heads: status lines, header lines, lengths and codings."""

from tests.injector.hostile import HEAD, OK, SHORT, Case, bad, good, merge, say, well

_LENGTH = b"Content-Length: 2\r\n\r\nok"


def _status(line: bytes) -> bytes:
    return line + b"\r\n" + _LENGTH


def _header(line: bytes) -> bytes:
    return HEAD + line + b"\r\n" + _LENGTH


STATUS_LINES = merge(
    good(
        {
            "no reason and no space": _status(b"HTTP/1.1 200"),
            "no reason, but its space": _status(b"HTTP/1.1 200 "),
            "reason of eight bits": _status(b"HTTP/1.1 200 d\xe9j\xe0 vu"),
            "reason with a tab": _status(b"HTTP/1.1 200 O\tK"),
            "long reason": _status(b"HTTP/1.1 200 " + b"x" * 8000),
            "unknown success": _status(b"HTTP/1.1 299 Odd"),
        }
    ),
    bad(
        "http_parse",
        {
            "HTTP/0.9": b"<html>hello</html>",
            "ICY": b"ICY 200 OK\r\n\r\n",
            "SSH banner": b"SSH-2.0-OpenSSH_9.2\r\n",
            "SMTP banner": b"220 mail.example ESMTP\r\n",
            "TLS alert in the clear": b"\x15\x03\x01\x00\x02\x02\x28",
            "binary garbage": bytes(range(128, 256)),
            "zeros": b"\x00" * 100,
            "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "HTTP/2 settings frame": b"\x00\x00\x00\x04\x00\x00\x00\x00\x00",
            "HTTP/2.0": _status(b"HTTP/2.0 200 OK"),
            "HTTP/1.2": _status(b"HTTP/1.2 200 OK"),
            "HTTP/1.10": _status(b"HTTP/1.10 200 OK"),
            "HTTP/01.1": _status(b"HTTP/01.1 200 OK"),
            "HTTP/1": _status(b"HTTP/1 200 OK"),
            "HTTP/1,1": _status(b"HTTP/1,1 200 OK"),
            "small letters": _status(b"http/1.1 200 OK"),
            "space before HTTP": _status(b" HTTP/1.1 200 OK"),
            "empty line before": b"\r\n" + OK,
            "line feed before": b"\n" + OK,
            "byte order mark": b"\xef\xbb\xbf" + OK,
            "two spaces": _status(b"HTTP/1.1  200 OK"),
            "tab for a space": _status(b"HTTP/1.1\t200 OK"),
            "no status": _status(b"HTTP/1.1 OK"),
            "two digits": _status(b"HTTP/1.1 20 OK"),
            "four digits": _status(b"HTTP/1.1 2000 OK"),
            "status 000": _status(b"HTTP/1.1 000 OK"),
            "status 099": _status(b"HTTP/1.1 099 OK"),
            "status 600": _status(b"HTTP/1.1 600 OK"),
            "negative status": _status(b"HTTP/1.1 -20 OK"),
            "signed status": _status(b"HTTP/1.1 +200 OK"),
            "hexadecimal status": _status(b"HTTP/1.1 0xC8 OK"),
            "status glued to its reason": _status(b"HTTP/1.1 200OK"),
            "NUL in the reason": _status(b"HTTP/1.1 200 O\x00K"),
            "escape in the reason": _status(b"HTTP/1.1 200 \x1b[31mred"),
            "bare CR in the reason": _status(b"HTTP/1.1 200 O\rK"),
            "bare LF after the status": b"HTTP/1.1 200 OK\n" + _LENGTH,
            "bare LF everywhere": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
            "bare CR everywhere": b"HTTP/1.1 200 OK\rContent-Length: 2\r\rok\r\n\r\n",
            "a request for a reply": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "bad status line, head unfinished": b"HTTP/1.1 999 What\r\nX: y\r\n",
        },
    ),
    bad(
        "status_unexpected",
        {
            "404": _status(b"HTTP/1.1 404 Not Found"),
            "500 without a reason": _status(b"HTTP/1.1 500"),
            "429 with Retry-After": b"HTTP/1.1 429 Slow down\r\nRetry-After: 9\r\n" + _LENGTH,
            "503 that closes": b"HTTP/1.1 503 Busy\r\nConnection: close\r\n" + _LENGTH,
        },
    ),
)
INTERIM = {
    "100 before the reply": Case(well(b"HTTP/1.1 100 Continue\r\n\r\n" + OK), ("ok",)),
    "100 in a segment before": Case(
        well(b"HTTP/1.1 100 Continue\r\n\r\n", OK, pause_s=0.02), ("ok",)
    ),
    "103 with headers": Case(well(b"HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n" + OK), ("ok",)),
    "102 three times": Case(well(b"HTTP/1.1 102 Wait\r\n\r\n" * 3 + OK), ("ok",)),
    "100 and nothing more": Case(
        say(b"HTTP/1.1 100 Continue\r\n\r\n"), ("body_timeout",), {"timeouts": SHORT}, 1
    ),
    **bad(
        "http_parse",
        {
            "storm of 100": b"HTTP/1.1 100 Continue\r\n\r\n" * 30 + OK,
            "101 that nobody asked for": b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
            "101 with an upgrade": b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\n"
            b"Connection: upgrade\r\n\r\n\x81\x02hi",
            "100 with a folded header": b"HTTP/1.1 100 C\r\nA: b\r\n c\r\n\r\n" + OK,
        },
    ),
}
HEADERS = merge(
    good(
        {
            "odd names": _header(b"!#$%&'*+.^_`|~: 1"),
            "empty value": _header(b"X-Empty:"),
            "spaces around a value": _header(b"X-A: \t  1 \t "),
            "value of eight bits": _header(b"X-A: caf\xe9"),
            "the same name a hundred times less two": HEAD + b"X-A: 1\r\n" * 98 + _LENGTH,
            "a line of 60 kB": _header(b"X-A: " + b"y" * 60_000),
            "markup in a value": _header(b"Server: <script>alert(1)</script>"),
        }
    ),
    bad(
        "http_parse",
        {
            "folded line": _header(b"X-A: 1\r\n 2"),
            "folded with a tab": _header(b"X-A: 1\r\n\t2"),
            "fold right after the status": HEAD + b" X-A: 1\r\n" + _LENGTH,
            "space before the colon": _header(b"X-A : 1"),
            "tab before the colon": _header(b"X-A\t: 1"),
            "space in a name": _header(b"X A: 1"),
            "no colon": _header(b"nonsense"),
            "no name": _header(b": 1"),
            "name of eight bits": _header(b"X-\xe9: 1"),
            "NUL in a name": _header(b"X\x00A: 1"),
            "NUL in a value": _header(b"X-A: 1\x002"),
            "escape in a value": _header(b"X-A: \x1b[2J"),
            "DEL in a value": _header(b"X-A: \x7f"),
            "bare CR in a value": _header(b"X-A: 1\r2"),
            "bare LF in a value": _header(b"X-A: 1\n2"),
            "bare LF that ends the head": HEAD + b"Content-Length: 2\r\n\nok",
            "second status line as a header": _header(b"HTTP/1.1 200 OK"),
        },
    ),
    bad(
        "header_cap",
        {
            "101 lines": HEAD + b"X: y\r\n" * 101 + b"\r\n",
            "10,000 cookies": HEAD + b"Set-Cookie: a=b\r\n" * 10_000 + b"\r\n",
            "one line of 70 kB": HEAD + b"X: " + b"y" * 70_000,
            "a status line of 70 kB": b"HTTP/1.1 200 " + b"y" * 70_000,
            "a name of 70 kB": HEAD + b"x" * 70_000,
        },
    ),
)
_TWO = b"Transfer-Encoding: chunked\r\n"
LENGTHS = merge(
    good(
        {
            "two lengths that agree": HEAD + b"Content-Length: 2\r\n" + _LENGTH,
            "list of lengths that agree": HEAD + b"Content-Length: 2, 2\r\n\r\nok",
            "leading zeros": HEAD + b"Content-Length: 0002\r\n\r\nok",
            "304 with a length": b"HTTP/1.1 304 Same\r\nContent-Length: 99\r\n\r\n",
            "204 with a length": b"HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\n",
            "no body at all": HEAD + b"Content-Length: 0\r\n\r\n",
        }
    ),
    bad(
        "http_parse",
        {
            "two lengths that differ": HEAD + b"Content-Length: 50\r\n" + _LENGTH,
            "list of lengths that differ": HEAD + b"Content-Length: 2, 3\r\n\r\nok",
            "negative length": HEAD + b"Content-Length: -2\r\n\r\nok",
            "signed length": HEAD + b"Content-Length: +2\r\n\r\nok",
            "hexadecimal length": HEAD + b"Content-Length: 0x2\r\n\r\nok",
            "length with a point": HEAD + b"Content-Length: 2.0\r\n\r\nok",
            "length with a space": HEAD + b"Content-Length: 1 2\r\n\r\nok",
            "length with an underscore": HEAD + b"Content-Length: 1_0\r\n\r\n0123456789",
            "length in other digits": HEAD + "Content-Length: ٢\r\n\r\nok".encode(),
            "length in letters": HEAD + b"Content-Length: two\r\n\r\nok",
            "no length after its colon": HEAD + b"Content-Length:\r\n\r\nok",
            "length of 400 digits": HEAD + b"Content-Length: " + b"9" * 400 + b"\r\n\r\n",
            "length and chunks": HEAD + b"Content-Length: 2\r\n" + _TWO + b"\r\n0\r\n\r\n",
            "chunks and length": HEAD + _TWO + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
            "two codings": HEAD + _TWO + _TWO + b"\r\n0\r\n\r\n",
            "gzip, chunked": HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "chunked, identity": HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
            "identity": HEAD + b"Transfer-Encoding: identity\r\n\r\nok",
            "chunked with a vertical tab": HEAD + b"Transfer-Encoding: \x0bchunked\r\n\r\n",
            "almost chunked": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "quoted chunked": HEAD + b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n',
            "chunks in HTTP/1.0": b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        },
    ),
    bad(
        "body_cap",
        {
            "length of 100 GB": HEAD + b"Content-Length: 99999999999\r\n\r\n",
            "length of 2^63 - 1 less a digit": HEAD + b"Content-Length: 922337203685477580\r\n\r\n",
        },
    ),
)
CASES = merge(STATUS_LINES, INTERIM, HEADERS, LENGTHS)
