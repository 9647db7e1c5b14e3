"""What to send and how hard. A plan is a frozen value; `from_json` is the only door, and it says
everything that is wrong at once, each sentence under the path of its field.
"""

import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from campaigns.domain.errors import InvalidPlan


class Model(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    OVER = "over"
    SEQUENTIAL = "sequential"


class ConnectionMode(StrEnum):
    NEW = "new"
    KEEP_ALIVE = "keep-alive"
    RESUMED = "resumed"


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
MAX_STEPS = 50
MAX_BODY_BYTES = 1024 * 1024
MAX_CONNECTIONS = 20_000
MAX_RATE_PER_S = 100_000
MAX_REQUESTS = 100_000_000
MAX_DURATION_S = 12 * 3600
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_STATUS = re.compile(r"[1-5](?:xx|\d\d)")
# The injector writes these itself; a second copy would make the request ambiguous.
RESERVED_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"}
)


@dataclass(frozen=True, slots=True)
class Step:
    label: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """How hard. Fields that the model does not use are None.

    closed: `connections` greenlets, each sends when its reply is complete; ends at `requests` or
    `duration_s`. open: an arrival every 1/`rate_per_s`. over: `requests` arrivals spread over
    `over_s`, the i-th at i·T/N. sequential: closed with one connection.
    """

    model: Model
    connections: int | None = None
    rate_per_s: float | None = None
    requests: int | None = None
    over_s: float | None = None
    duration_s: float | None = None
    max_in_flight: int = 10_000


@dataclass(frozen=True, slots=True)
class Timeouts:
    connect_s: float = 5.0
    tls_s: float = 5.0
    total_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[Step, ...]
    load: Load
    connection_mode: ConnectionMode = ConnectionMode.KEEP_ALIVE
    timeouts: Timeouts = Timeouts()
    expected_status: tuple[str, ...] = ("2xx", "3xx")
    warm_up_s: int = 0

    def to_json(self) -> dict[str, Any]:
        """The stored and exported form; `from_json(plan.to_json()) == plan`."""
        data = asdict(self)
        data["steps"] = [
            {**step, "headers": [list(pair) for pair in step["headers"]]} for step in data["steps"]
        ]
        data["load"]["model"] = str(self.load.model)
        data["connection_mode"] = str(self.connection_mode)
        data["expected_status"] = list(self.expected_status)
        return data

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """A plan from parsed JSON. Raises InvalidPlan with a sentence for each wrong field."""
        reader = _Reader(data)
        plan = cls(
            steps=_read_steps(reader),
            load=_read_load(reader.child("load")),
            connection_mode=reader.choice(
                "connection_mode", ConnectionMode, ConnectionMode.KEEP_ALIVE
            ),
            timeouts=_read_timeouts(reader.child("timeouts")),
            expected_status=_read_status(reader),
            warm_up_s=int(reader.number("warm_up_s", 0, low=0, high=3600, whole=True) or 0),
        )
        reader.refuse_unknown(
            "steps", "load", "connection_mode", "timeouts", "expected_status", "warm_up_s"
        )
        if reader.errors:
            raise InvalidPlan(reader.errors)
        return plan

    def status_is_expected(self, status: int) -> bool:
        text = str(status)
        return any(
            rule == text or (rule.endswith("xx") and rule[0] == text[0])
            for rule in self.expected_status
        )


def planned_duration_s(load: Load) -> float | None:
    """Seconds of measured sending, warm-up excluded; None where only the target decides."""
    if load.duration_s is not None:
        return load.duration_s
    if load.model == Model.OVER:
        return load.over_s
    if load.model == Model.OPEN and load.rate_per_s and load.requests:
        return load.requests / load.rate_per_s
    return None


def planned_requests(load: Load) -> int | None:
    """Measured requests that the plan asks for; None where only the target decides."""
    if load.requests is not None:
        return load.requests
    if load.model == Model.OPEN and load.rate_per_s and load.duration_s:
        return count_arrivals(load.rate_per_s, load.duration_s)
    return None


def count_arrivals(rate_per_s: float, duration_s: float) -> int:
    """Arrivals i/rate that lie in [0, duration): 37.5/s over 10 s are 375, not 376."""
    count = int(rate_per_s * duration_s)
    return count + 1 if count / rate_per_s < duration_s - 1e-9 else count


class _Reader:
    """Takes values out of JSON and collects what is wrong, so that all is said at once."""

    def __init__(self, data: Any, path: str = "", errors: dict[str, str] | None = None):
        self.errors = {} if errors is None else errors
        self.path = path
        self.data = data if isinstance(data, dict) else {}
        if not isinstance(data, dict):
            self.errors[path or "plan"] = "Write an object with named fields."

    def child(self, name: str) -> "_Reader":
        return _Reader(self.data.get(name, {}), self._path(name), self.errors)

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def fail(self, name: str, sentence: str) -> None:
        self.errors.setdefault(self._path(name), sentence)

    def refuse_unknown(self, *known: str) -> None:
        for name in sorted(set(self.data) - set(known)):
            self.fail(name, f"There is no field {name!r} here. Known: {', '.join(known)}.")

    def number(
        self,
        name: str,
        default: float | None = None,
        *,
        low: float,
        high: float,
        whole: bool = False,
        above_low: bool = False,
    ) -> float | None:
        """A number in [low, high] (or above low), or the default where it is missing."""
        value = self.data.get(name)
        if value is None or value == "":
            return default
        bounds = f"{'above' if above_low else 'from'} {low:,g} to {high:,g}"
        kind = "a whole number" if whole else "a number"
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or value != value or (whole and value != int(value)):
            self.fail(name, f"Write {kind} {bounds}.")
            return default
        if value > high or value < low or (above_low and value == low):
            self.fail(name, f"{value:,g} is outside: write {kind} {bounds}.")
            return default
        return int(value) if whole else float(value)

    def text(self, name: str, default: str = "", limit: int = 2000) -> str:
        value = self.data.get(name, default)
        if not isinstance(value, str):
            self.fail(name, "Write text.")
            return default
        if len(value) > limit:
            self.fail(name, f"{len(value):,} characters are too many; at most {limit:,}.")
            return default
        return value

    def choice(self, name: str, kind: type[StrEnum], default: Any) -> Any:
        value = self.data.get(name, default)
        try:
            return kind(value)
        except ValueError:
            self.fail(name, f"Choose one of: {', '.join(kind)}.")
            return default


def _read_steps(reader: _Reader) -> tuple[Step, ...]:
    raw = reader.data.get("steps")
    if not isinstance(raw, list) or not raw:
        reader.fail("steps", "A plan needs at least one step.")
        return ()
    if len(raw) > MAX_STEPS:
        reader.fail("steps", f"At most {MAX_STEPS} steps.")
        return ()
    return tuple(
        _read_step(_Reader(item, f"steps.{index}", reader.errors)) for index, item in enumerate(raw)
    )


def _read_step(reader: _Reader) -> Step:
    method = reader.text("method", "GET").upper()
    if method not in METHODS:
        reader.fail("method", f"Choose one of: {', '.join(METHODS)}.")
    path = reader.text("path", "/", limit=8000)
    if not path.startswith("/"):
        reader.fail("path", "A path begins with a slash, such as /login/.")
    elif not path.isascii() or any(ch <= " " or ch == "\x7f" for ch in path):
        reader.fail("path", "Only printable ASCII without spaces; write others as %20, %C3%A9 …")
    body = reader.text("body", "", limit=MAX_BODY_BYTES)
    if body and method in {"GET", "HEAD"}:
        reader.fail("body", f"{method} sends no body. Choose POST, or leave the body empty.")
    label = reader.text("label", "", limit=100) or f"{method} {path}"[:100]
    reader.refuse_unknown("label", "method", "path", "headers", "body")
    return Step(label, method, path, _read_headers(reader), body)


def _read_headers(reader: _Reader) -> tuple[tuple[str, str], ...]:
    raw = reader.data.get("headers", [])
    if not isinstance(raw, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(x, str) for x in pair)
        for pair in raw
    ):
        reader.fail("headers", "Write headers as pairs of name and value.")
        return ()
    for name, value in raw:
        sentence = header_fault(name, value)
        if sentence:
            reader.fail("headers", sentence)
    return tuple((name, value.strip()) for name, value in raw)


def header_fault(name: str, value: str) -> str | None:
    """What is wrong with one header, or None."""
    if not _TOKEN.fullmatch(name):
        return f"{name!r} is not a header name; write it as in Content-Type."
    if name.lower() in RESERVED_HEADERS:
        return f"{name} is written by the injector itself; leave it out."
    if any((ord(ch) < 32 and ch != "\t") or ord(ch) == 127 or ord(ch) > 255 for ch in value):
        return f"The value of {name} has a character that no header may have."
    return None


def _read_load(reader: _Reader) -> Load:
    model = reader.choice("model", Model, Model.CLOSED)
    load = Load(
        model=model,
        connections=reader.number("connections", low=1, high=MAX_CONNECTIONS, whole=True),
        rate_per_s=reader.number("rate_per_s", low=0, high=MAX_RATE_PER_S, above_low=True),
        requests=reader.number("requests", low=1, high=MAX_REQUESTS, whole=True),
        over_s=reader.number("over_s", low=0, high=MAX_DURATION_S, above_low=True),
        duration_s=reader.number("duration_s", low=0, high=MAX_DURATION_S, above_low=True),
        max_in_flight=int(
            reader.number("max_in_flight", 10_000, low=1, high=MAX_CONNECTIONS, whole=True)
        ),
    )
    _check_load(reader, load)
    reader.refuse_unknown(
        "model", "connections", "rate_per_s", "requests", "over_s", "duration_s", "max_in_flight"
    )
    return load


# The fields of a load that each model uses.
USES = {
    Model.CLOSED: {"connections", "requests", "duration_s"},
    Model.OPEN: {"rate_per_s", "requests", "duration_s"},
    Model.OVER: {"requests", "over_s"},
    Model.SEQUENTIAL: {"requests", "duration_s"},
}
_WORDS = {
    "connections": "connections",
    "rate_per_s": "a rate",
    "requests": "a number of requests",
    "over_s": "a time to spread the requests over",
    "duration_s": "a duration",
}


def _check_load(reader: _Reader, load: Load) -> None:
    uses = USES[load.model]
    for name, words in _WORDS.items():
        given = getattr(load, name) is not None
        if given and name not in uses:
            reader.fail(
                name, f"The load model {load.model} has no use for {words}; leave it empty."
            )
        if not given and name in uses and name in {"connections", "rate_per_s", "over_s"}:
            reader.fail(name, f"The load model {load.model} needs {words}.")
    if load.model == Model.OVER and load.requests is None:
        reader.fail("requests", "Say how many requests are spread over the time.")
    elif load.requests is None and load.duration_s is None:
        reader.fail("requests", "Say when to stop: after a number of requests or after a time.")
    elif load.requests is not None and load.duration_s is not None:
        reader.fail("duration_s", "Stop after requests or after a time, not both; empty one.")


def _read_timeouts(reader: _Reader) -> Timeouts:
    standard = Timeouts()
    timeouts = Timeouts(
        connect_s=reader.number("connect_s", standard.connect_s, low=0, high=600, above_low=True),
        tls_s=reader.number("tls_s", standard.tls_s, low=0, high=600, above_low=True),
        total_s=reader.number("total_s", standard.total_s, low=0, high=600, above_low=True),
    )
    for name in ("connect_s", "tls_s"):
        if name in reader.data and getattr(timeouts, name) > timeouts.total_s:
            reader.fail(name, f"Cannot be longer than the total limit of {timeouts.total_s:g} s.")
    reader.refuse_unknown("connect_s", "tls_s", "total_s")
    return timeouts


def _read_status(reader: _Reader) -> tuple[str, ...]:
    raw = reader.data.get("expected_status", ["2xx", "3xx"])
    if isinstance(raw, str):
        raw = raw.replace(",", " ").split()
    rules = tuple(str(rule).lower() for rule in raw) if isinstance(raw, list | tuple) else ()
    if not rules or not all(_STATUS.fullmatch(rule) for rule in rules):
        reader.fail("expected_status", "Write statuses or classes, such as 2xx 304.")
    return rules
