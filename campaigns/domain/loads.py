"""How hard a plan loads its target, and how long that takes."""

from dataclasses import dataclass
from enum import StrEnum

from campaigns.domain.fields import Fields

MAX_CONNECTIONS = 20_000
MAX_RATE_PER_S = 100_000
MAX_REQUESTS = 100_000_000
MAX_DURATION_S = 12 * 3600


class Model(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    OVER = "over"
    SEQUENTIAL = "sequential"


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


def read_load(reader: Fields) -> Load:
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


def _check_load(reader: Fields, load: Load) -> None:
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
