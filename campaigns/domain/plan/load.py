"""How hard a plan loads its target, and what can be known of it before it runs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import fsum
from typing import Any

from campaigns.domain.plan.stages import Stage, count_staged

MAX_CONNECTIONS = 20_000
MAX_RATE_PER_S = 100_000
MAX_REQUESTS = 100_000_000
MAX_DURATION_S = 12 * 3600


class Model(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    OVER = "over"
    SEQUENTIAL = "sequential"
    WINDOW = "window"


class Distribution(StrEnum):
    """How the arrivals of an open load lie in time."""

    DETERMINISTIC = "deterministic"
    EXPONENTIAL = "exponential"
    UNIFORM = "uniform"


class WhenSaturated(StrEnum):
    """What becomes of an arrival that is due while `max_in_flight` are under way."""

    QUEUE = "queue"
    DROP = "drop"


class ArrivalUnit(StrEnum):
    """What arrives in an open load: a request on any free connection, a new connection with its
    calls, or a user who makes the calls of a session.
    """

    REQUEST = "request"
    CONNECTION = "connection"
    SESSION = "session"


class Hold(StrEnum):
    """What becomes of a connection that a window has opened."""

    CLOSE = "close"
    KEEP_UNTIL_ALL = "keep_until_all"
    KEEP_S = "keep_s"


@dataclass(frozen=True, slots=True)
class Load:
    """How hard. JsonReader that the model does not use are None, or keep their default.

    closed: `connections` greenlets, each sends when its reply is complete; ends at `requests` or
    `duration_s`; connection i of N begins at i·`ramp_up_s`/N. open: `rate_per_s` arrivals a second,
    even or random, or the rates of `stages`, which also end it; `distribution` uniform has gaps
    from `uniform_min_s` to `uniform_max_s` in place of the rate. over: `requests` arrivals spread
    over `over_s`, the i-th at i·T/N. sequential: closed with one connection. window: each injector
    opens connections, at most `high` at a time; when fewer than `low` are being opened, up to
    `high` again. Of a closed load or a window injector i begins i·`start_offset_s` later.
    `per_injector`: connections and requests are those of each injector, not of all together; what
    an injector is ordered is always the whole (domain.plan.injectors). `shares`: a weight for each
    injector; none: all have the same share.

    Where `arrival_unit` is a connection or a session, `requests`, the rates and `max_in_flight`
    count those, each with as many requests as `session.calls_per_arrival` says.
    """

    model: Model
    connections: int | None = None
    rate_per_s: float | None = None
    requests: int | None = None
    over_s: float | None = None
    duration_s: float | None = None
    max_in_flight: int = 10_000
    ramp_up_s: float = 0.0
    distribution: Distribution = Distribution.DETERMINISTIC
    uniform_min_s: float | None = None
    uniform_max_s: float | None = None
    when_saturated: WhenSaturated = WhenSaturated.QUEUE
    low: int | None = None
    high: int | None = None
    hold: Hold = Hold.CLOSE
    hold_s: float | None = None
    stages: tuple[Stage, ...] = ()
    arrival_unit: ArrivalUnit = ArrivalUnit.REQUEST
    start_offset_s: float = 0.0
    per_injector: bool = False
    shares: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Every field as JSON has it; `stored_load` reads it back."""
        data = {
            name: str(value) if isinstance(value, StrEnum) else value
            for name, value in asdict(self).items()
        }
        return data | {"stages": list(data["stages"]), "shares": list(self.shares)}

    @property
    def mean_gap_s(self) -> float | None:
        """Mean seconds between two arrivals that are drawn from a range; else None."""
        if self.distribution != Distribution.UNIFORM or self.uniform_max_s is None:
            return None
        return ((self.uniform_min_s or 0.0) + self.uniform_max_s) / 2


def stored_load(data: Mapping[str, Any]) -> Load:
    """The load of a plan that was checked when it was stored; fields of later versions may lack."""
    stages = tuple(Stage(**stage) for stage in data.get("stages", ()))
    return Load(**{**data, "stages": stages, "shares": tuple(data.get("shares", ()))})


def planned_duration_s(load: Load) -> float | None:
    """Seconds of measured sending, warm-up excluded; None where only the target decides.

    Of gaps drawn from a range it is the expected value: only the seed knows better.
    """
    if load.duration_s is not None:
        return load.duration_s
    if load.model == Model.OVER:
        return load.over_s
    if load.stages:
        return fsum(stage.duration_s for stage in load.stages)
    if load.model != Model.OPEN or not load.requests:
        return None
    if load.mean_gap_s:
        return load.requests * load.mean_gap_s
    return load.requests / load.rate_per_s if load.rate_per_s else None


def longest_duration_s(load: Load) -> float | None:
    """The most seconds that sending may take by the plan itself; None where the target decides."""
    if load.mean_gap_s and load.requests:
        return load.requests * load.uniform_max_s
    return planned_duration_s(load)


def planned_arrivals(load: Load) -> int | None:
    """Measured arrivals that the plan asks for, in a closed load requests; None where only the
    target decides.
    """
    if load.requests is not None:
        return load.requests
    if load.stages:
        return count_staged(load.stages)
    if load.model == Model.OPEN and load.rate_per_s and load.duration_s:
        return count_arrivals(load.rate_per_s, load.duration_s)
    return None


def mean_rate_per_s(load: Load) -> float | None:
    """Arrivals a second over the whole run; None where only the target decides."""
    if load.model == Model.OPEN and load.rate_per_s:
        return load.rate_per_s
    if load.model not in {Model.OPEN, Model.OVER}:
        return None
    arrivals, duration_s = planned_arrivals(load), planned_duration_s(load)
    return arrivals / duration_s if arrivals and duration_s else None


def peak_rate_per_s(load: Load) -> float | None:
    """The most arrivals a second that the plan asks for; None where only the target decides."""
    if load.stages:
        return max(max(stage.from_per_s, stage.to_per_s) for stage in load.stages)
    return mean_rate_per_s(load)


def late_start_fault(load: Load, injectors: int) -> str | None:
    """Why so many injectors cannot begin one after the other, or None."""
    last_s = load.start_offset_s * (injectors - 1)
    if load.duration_s is None or last_s < load.duration_s:
        return None
    return (
        f"the last of {injectors} injectors would begin after {last_s:g} s, but the load lasts "
        f"{load.duration_s:g} s"
    )


def count_arrivals(rate_per_s: float, duration_s: float) -> int:
    """Arrivals i/rate that lie in [0, duration): 37.5/s over 10 s are 375, not 376."""
    count = int(rate_per_s * duration_s)
    return count + 1 if count / rate_per_s < duration_s - 1e-9 else count
