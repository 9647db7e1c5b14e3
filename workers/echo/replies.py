"""What the demo target answers, as its query string dials it.

?delay_ms=20  wait before the reply      ?size=4096  bytes of the body     ?status=503
?chunked=1    the body in chunks         ?close=1    close afterwards      ?junk=50  header lines
?split=1      header and body in two writes
?bimodal=20,100,0.1   wait 20 ms, but 100 ms in a tenth of the requests
?pareto=20,2.5        wait at least 20 ms, with a Pareto tail of that exponent, at most 2 s
?timed=1      the log gets service_us, the time from the request to the reply, as with those two
"""

from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from urllib.parse import parse_qsl, urlsplit

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
class Asked:
    """One request as the demo target understands it; numbers that are none count as absent."""

    method: str
    path: str
    dials: dict[str, str] = field(default_factory=dict)
    wants_close: bool = False

    @classmethod
    def of(cls, method: str, target: str, wants_close: bool) -> "Asked":
        parts = urlsplit(target)
        return cls(method, parts.path, dict(parse_qsl(parts.query)), wants_close)

    def number(self, name: str, default: float, most: float) -> float:
        try:
            return min(max(0.0, float(self.dials[name])), most)
        except (KeyError, ValueError):
            return default

    @property
    def delay_s(self) -> float:
        usual_ms = SOAP_SERVICE_TIME_MS if self.path == "/soap" else 0.0
        return self.number("delay_ms", usual_ms, _MAX_DELAY_MS) / 1000

    @property
    def is_drawn(self) -> bool:
        """Whether the wait is drawn for each request anew."""
        return not _DRAWN.isdisjoint(self.dials)

    @property
    def times_itself(self) -> bool:
        """Whether the log gets the time that this request took here, once it is answered."""
        return self.is_drawn or self.dials.get("timed") == "1"

    def draw_delay_s(self, dice: Random) -> float:
        """The wait of one request, from the distribution that was dialled."""
        if not self.is_drawn:
            return self.delay_s
        try:
            name = "bimodal" if "bimodal" in self.dials else "pareto"
            numbers = [float(each) for each in self.dials[name].split(",")]
            delay_ms = _bimodal(dice, *numbers) if name == "bimodal" else _pareto(dice, *numbers)
        except (ValueError, TypeError, ZeroDivisionError):
            return self.delay_s
        return min(max(0.0, delay_ms), _MAX_DRAWN_MS) / 1000

    @property
    def closes(self) -> bool:
        return self.wants_close or self.dials.get("close") == "1"


def _bimodal(dice: Random, usual_ms: float, slow_ms: float, share: float) -> float:
    return slow_ms if dice.random() < share else usual_ms


def _pareto(dice: Random, least_ms: float, exponent: float) -> float:
    return least_ms * dice.paretovariate(exponent)


def reply_parts(asked: Asked) -> list[bytes]:
    """The reply in the pieces in which it is written."""
    body, content_type = _body(asked)
    status = int(asked.number("status", 200, 599)) or 200
    chunked = asked.dials.get("chunked") == "1"
    head = _head(asked, status, content_type, None if chunked else len(body))
    if asked.method == "HEAD" or status in {204, 304} or status < 200:
        return [head]
    payload = _in_chunks(body) if chunked else body
    return [head, payload] if asked.dials.get("split") == "1" else [head + payload]


def _body(asked: Asked) -> tuple[bytes, str]:
    if asked.path == "/soap":
        return _SOAP, "text/xml; charset=utf-8"
    if "size" in asked.dials:
        return b"x" * int(asked.number("size", 0, _MAX_SIZE)), "application/octet-stream"
    return _PLAIN, "text/plain"


def _head(asked: Asked, status: int, content_type: str, length: int | None) -> bytes:
    try:
        reason = HTTPStatus(status).phrase
    except ValueError:
        reason = "Unknown"
    lines = [
        f"HTTP/1.1 {status} {reason}",
        "Server: benchsite-echo",
        f"Content-Type: {content_type}",
    ]
    lines += [f"X-Junk-{n}: {'j' * 40}" for n in range(int(asked.number("junk", 0, 5000)))]
    if length is None:
        lines.append("Transfer-Encoding: chunked")
    elif status != 204 and status >= 200:
        lines.append(f"Content-Length: {length}")
    if asked.closes:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _in_chunks(body: bytes) -> bytes:
    pieces = [body[at : at + _CHUNK] for at in range(0, len(body), _CHUNK)]
    return b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in pieces) + b"0\r\n\r\n"
