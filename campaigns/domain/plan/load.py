"""How hard a plan loads its target; what can be known of it before it runs; and the load over time,
as a drawing shows it: arrivals a second, or connections.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil, fsum
from typing import Any

from campaigns.domain.plan.fields import choice, flag, json_of, listed, number, whole
from campaigns.domain.typed_text import per_second_in, seconds_in

MAX_CONNECTIONS = 20_000
MAX_RATE_PER_S = 100_000
MAX_REQUESTS = 100_000_000
MAX_DURATION_S = 12 * 3600
MAX_GAP_S = 3600
MAX_OFFSET_S = 3600
MAX_INJECTORS = 64
MAX_WEIGHT = 100  # of an injector's share
MAX_STAGES = 100
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)"
_LINE = re.compile(
    rf"\s*({_NUMBER}\s*(?:ms|s|m|min|h)?)\s*:"
    rf"\s*({_NUMBER})\s*(?:-\s*({_NUMBER})\s*)?(/(?:s|m|min|h))?\s*"
)


@dataclass(frozen=True, slots=True)
class Stage:
    """For `duration_s` the rate goes evenly from one value to the other; a step where equal."""

    duration_s: float
    from_per_s: float
    to_per_s: float

    @property
    def area(self) -> Fraction:
        """The exact integral of the rate: arrivals, not yet whole."""
        rates = Fraction(str(self.from_per_s)) + Fraction(str(self.to_per_s))
        return Fraction(str(self.duration_s)) * rates / 2


def count_staged(stages: Sequence[Stage]) -> int:
    """Arrivals k of which the integral reaches k before the end: as many as fit, from 0 on."""
    return ceil(sum(stage.area for stage in stages))


def stages_of_text(text: str) -> list[dict[str, float] | str]:
    """The stages of "30: 10, 60: 10-50"; unparsable text is kept for the plan to reject."""
    stages: list[dict[str, float] | str] = []
    for line in filter(None, map(str.strip, re.split(r"[,;\n]", text))):
        if match := _LINE.fullmatch(line):
            duration, start, end, per = match.groups()
            ends = (start, end or start)
            from_per_s, to_per_s = (per_second_in(f"{each}{per or ''}") for each in ends)
            rates = {"from_per_s": from_per_s, "to_per_s": to_per_s}
            stages.append({"duration_s": seconds_in(duration), **rates})
        else:
            stages.append(line)
    return stages


def text_of_stages(stages: Sequence[dict[str, Any]]) -> str:
    """The stages as typed, one per line."""
    lines = []
    for stage in stages:
        start, end = _plain(stage["from_per_s"]), _plain(stage["to_per_s"])
        rates = start if start == end else f"{start}-{end}"
        lines.append(f"{_plain(stage['duration_s'])}: {rates}")
    return "\n".join(lines)


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def shares_of_text(text: str) -> list[int | str]:
    """2, 1, 1 or 2:1:1 as numbers; other text is kept for the plan to reject."""
    words = re.split(r"[\s,;:/]+", text.strip())
    return [int(word) if word.isdecimal() else word for word in words if word]


def text_of_shares(shares: Sequence[int]) -> str:
    return ", ".join(map(str, shares))


class Model(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    OVER = "over"
    SEQUENTIAL = "sequential"
    WINDOW = "window"


class Distribution(StrEnum):
    """The distribution of an open load's arrivals over time."""

    DETERMINISTIC = "deterministic"
    EXPONENTIAL = "exponential"
    UNIFORM = "uniform"


class WhenSaturated(StrEnum):
    """What happens to an arrival that is due while `max_in_flight` are in flight."""

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
    """What happens to a connection that a window has opened."""

    CLOSE = "close"
    KEEP_UNTIL_ALL = "keep_until_all"
    KEEP_S = "keep_s"


_CLOSED, _WINDOWS, _OPEN = {Model.CLOSED}, {Model.WINDOW}, {Model.OPEN}
_ARRIVING = {Model.OPEN, Model.OVER}
_TIMED = set(Model) - {Model.OVER}


@dataclass(frozen=True, slots=True)
class Load:
    """How hard. Fields that the model does not use are None, or keep their default.

    closed: `connections` greenlets, each sends when its reply is complete; ends at `requests` or
    `duration_s`; connection i of N begins at i·`ramp_up_s`/N. open: `rate_per_s` arrivals a second,
    even or random, or the rates of `stages`, which also end it; `distribution` uniform has gaps
    from `uniform_min_s` to `uniform_max_s` in place of the rate. over: `requests` arrivals spread
    over `over_s`, the i-th at i·T/N. sequential: closed with one connection. window: each injector
    process opens connections, at most `high` at a time; when fewer than `low` are being opened, up
    to `high` again. Of a closed load or a window injector i begins i·`start_offset_s` later.
    `per_injector`: connections and requests are those of each process, not of all together; an
    order always has the whole (`Plan.for_injectors`). `shares`: a weight for each process; none:
    all have the same share.

    Where `arrival_unit` is a connection or a session, `requests`, the rates and `max_in_flight`
    count those, each with as many requests as `session.calls_per_arrival` says.
    """

    # fmt: off
    model: Model = choice("Load model", Model.CLOSED,
        {Model.OVER: "Spread over a time", Model.OPEN: "At a rate",
        Model.CLOSED: "On N connections", Model.SEQUENTIAL: "One after another",
        Model.WINDOW: "Opening N at a time"}, used_by=Model, example=Model.OVER,
        help="How the injectors decide when to send; see the table above.")
    connections: int | None = whole("Connections", low=1, high=MAX_CONNECTIONS, used_by=_CLOSED,
        needed=True, example=10,
        help="Connections that send at the same time; all injector processes share them.",
        option="--connections C", option_default="1")
    low: int | None = whole("Low mark", low=1, high=MAX_CONNECTIONS, used_by=_WINDOWS, needed=True,
        example=25,
        help="When fewer connections than this are being opened, the next burst begins.",
        detail="Per shard.",
        option="--low N")
    high: int | None = whole("High mark", low=1, high=MAX_CONNECTIONS, used_by=_WINDOWS,
        needed=True, example=50,
        help="The most connections being opened at the same time.",
        detail="Per shard.",
        option="--high N")
    hold: Hold = choice("Once open", Hold.CLOSE,
        {Hold.CLOSE: "Close at once", Hold.KEEP_UNTIL_ALL: "Keep until all are open",
        Hold.KEEP_S: "Keep for a time"}, used_by=_WINDOWS,
        help="A connection is open when its reply has arrived, a WebSocket when its 101 has.",
        option="--hold", option_help="window: what happens to an open connection")
    hold_s: float | None = number("Keep for", positive=True, high=MAX_DURATION_S, unit="s",
        used_by=_WINDOWS, example=5,
        help="Seconds that each connection is kept open, if they are kept for a time.",
        option="--hold-s S")
    distribution: Distribution = choice("Arrivals", Distribution.DETERMINISTIC,
        {Distribution.DETERMINISTIC: "Even", Distribution.EXPONENTIAL: "Random",
        Distribution.UNIFORM: "Random between two gaps"}, used_by=_OPEN,
        help="Random: in bursts and gaps, like independent visitors, but exactly as many; the "
        "same for every run.",
        detail="exponential works with stages too. uniform has gaps from `uniform_min_s` to "
        "`uniform_max_s` in place of the rate.",
        option="--distribution",
        option_help="open load: even arrivals, a Poisson process of the exact number, or gaps "
        "between --uniform-min and --uniform-max in place of the rate")
    stages: tuple[Stage, ...] = listed("Stages", f"up to {MAX_STAGES} objects, []", used_by=_OPEN,
        example="30: 10\n60: 10-50\n30: 50", from_text=stages_of_text, to_text=text_of_stages,
        help="One per line: seconds, a colon, requests/s. 30: 10 holds a rate, 60: 10-50 is a "
        "ramp, 5: 0 is a pause. The number of requests is the exact integral of the rate.",
        detail='In JSON `{"duration_s" above 0, "from_per_s", "to_per_s"}`, rates from 0 to '
        f"{MAX_RATE_PER_S:,}: the rate goes evenly from one to the other (without `to_per_s` it "
        "holds).",
        option="--stages TEXT",
        option_help="open load in stages of seconds and rate, which also say when it ends: '30: "
        "10, 60: 10-50' holds 10/s for 30 s, then goes evenly from 10/s to 50/s in 60 s")
    rate_per_s: float | None = number("Rate", positive=True, high=MAX_RATE_PER_S, unit="requests/s",
        used_by=_OPEN, example=10,
        help="Arrivals per second; all injector processes share them.",
        detail="The i-th is due at i/rate.",
        option="--rate R",
        option_help="open load: R requests per second, whether replies come or not",
        option_default="off")
    uniform_min_s: float | None = number("Shortest gap", high=MAX_GAP_S, unit="s", used_by=_OPEN,
        example=0.05,
        help="Seconds; for random arrivals between two gaps, in place of the rate.",
        option="--uniform-min S")
    uniform_max_s: float | None = number("Longest gap", positive=True, high=MAX_GAP_S, unit="s",
        used_by=_OPEN, example=0.15,
        help="Seconds; the two gaps make the rate, 2 / (shortest + longest).",
        option="--uniform-max S")
    arrival_unit: ArrivalUnit = choice("What arrives", ArrivalUnit.REQUEST,
        {ArrivalUnit.REQUEST: "Requests", ArrivalUnit.CONNECTION: "Connections",
        ArrivalUnit.SESSION: "Sessions"}, used_by=_ARRIVING, http_only=True, group="visits",
        help="Connections: each arrival opens a new one, whatever the campaign says, for its "
        "requests per connection (one without a value). Sessions: each arrival is a user who "
        "sends the requests of a session and leaves. Numbers, rates and the limit count what "
        "arrives.",
        option="--arrival-unit",
        option_help="rate or --over: what arrives, and what --requests, --rate, --stages and "
        "--max-in-flight count: requests, new connections for --calls-per-connection requests, or "
        "sessions of --calls-per-session requests")
    ramp_up_s: float = number("Ramp-up", 0.0, high=MAX_DURATION_S, unit="s", used_by=_CLOSED,
        group="start",
        help="Connection i of N starts at i · ramp-up / N, counted from the first request, "
        "warm-up included. 0: all at once.", fact="{:g} s",
        option="--ramp-up S")
    requests: int | None = whole("Requests", low=1, high=MAX_REQUESTS, used_by=Model, example=100,
        help="How many are measured, without the warm-up; all injector processes share them.",
        detail="Where connections or sessions arrive, and in a window, it counts those.",
        option="--requests N", option_help="stop after N requests",
        option_default="1 in a closed load that has no duration")
    over_s: float | None = number("Spread over", positive=True, high=MAX_DURATION_S, unit="s",
        used_by={Model.OVER}, needed=True, example=10,
        help="Request i of N starts at i · T / N, so the last one starts before the time is over.",
        option="--over T",
        option_help="spread --requests evenly over T seconds: request i of N starts at i·T/N",
        option_default="off")
    duration_s: float | None = number("Duration", positive=True, high=MAX_DURATION_S, unit="s",
        used_by=_TIMED, example=30,
        help="Measured seconds, without the warm-up.",
        detail="In a closed load or a window nothing starts after it; what is in flight is waited "
        "for.",
        option="--duration S", option_default="until the requests are done")
    per_injector: bool = flag("Values are per injector process",
        used_by={Model.CLOSED, Model.SEQUENTIAL, Model.WINDOW}, group="start",
        help="Each injector process has this many connections and sends this many requests. "
        "Otherwise all injector processes share them.",
        detail="An injector gets the whole load in its order, and false here.",
        option="--per-process")
    max_in_flight: int = whole("Max in flight", 10_000, low=1, high=MAX_CONNECTIONS,
        used_by=_ARRIVING, group="limits",
        help="The most requests in flight at the same time, per injector process.",
        option="--max-in-flight N",
        option_help="rate or --over: at most N requests in flight, per process")
    when_saturated: WhenSaturated = choice("When the limit is reached", WhenSaturated.QUEUE,
        {WhenSaturated.QUEUE: "Wait", WhenSaturated.DROP: "Drop"}, used_by=_ARRIVING,
        group="limits",
        help="A request that waits is sent late, and its wait is part of its response time. A "
        "dropped request is never sent. Both are counted.",
        option="--when-saturated")
    start_offset_s: float = number("Stagger injectors by", 0.0, high=MAX_OFFSET_S, unit="s",
        used_by=_CLOSED | _WINDOWS, group="start",
        help="Injector process i starts i times this later. 0: all at once.",
        detail="In addition to the ramp-up.", fact="{:g} s",
        option="--start-offset S")
    shares: tuple[int, ...] = listed("Injector shares",
        f"2 to {MAX_INJECTORS} whole numbers from 1 to {MAX_WEIGHT}, []",
        used_by=set(Model) - {Model.SEQUENTIAL}, later=True, group="start",
        from_text=shares_of_text,
        to_text=text_of_shares,
        help="A whole number for each injector process: with 2, 1, 1 the first sends half of the "
        "load. Without a value: equal shares.",
        detail="What counts is `shard.weights` of the order, which the site takes from here; an "
        "injector does not read this field.",
        option="--shares W,W", option_default="equal shares")
    # fmt: on

    def to_json(self) -> dict[str, Any]:
        """Every field as JSON has it; `stored_load` reads it back."""
        return json_of(self)

    @property
    def counts_connections(self) -> bool:
        """Whether it says how many connections are opened; the session says what each sends."""
        return self.model == Model.WINDOW or self.arrival_unit == ArrivalUnit.CONNECTION

    @property
    def only_rises(self) -> bool:
        rates = [rate for each in self.stages for rate in (each.from_per_s, each.to_per_s)]
        return rates == sorted(rates) and rates[:1] != rates[-1:]

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
    """Why this many injectors cannot start one after the other, or None."""
    last_s = load.start_offset_s * (injectors - 1)
    if load.duration_s is None or last_s < load.duration_s:
        return None
    return (
        f"the last of {injectors} injector processes would begin after {last_s:g} s, but the load "
        f"lasts {load.duration_s:g} s"
    )


def count_arrivals(rate_per_s: float, duration_s: float) -> int:
    """Arrivals i/rate that lie in [0, duration): 37.5/s over 10 s are 375, not 376."""
    count = int(rate_per_s * duration_s)
    return count + 1 if count / rate_per_s < duration_s - 1e-9 else count


# More single starts than this are indistinguishable in a drawing.
MOST_ARRIVALS = 120
# The minimum time that a drawing shows if only the target decides how long the load lasts.
_OPEN_END_S = 10.0


@dataclass(frozen=True, slots=True)
class LoadCurve:
    """`points`: (second, level), from minus the warm-up to the end; between two of them the level
    changes evenly. `peak`: the highest level. `arrivals_s`: when single arrivals are due, [] where
    they are random or too many to draw. `is_open_ended`: the target decides when it ends.
    """

    points: list[tuple[float, float]]
    peak: float
    arrivals_s: list[float]
    is_open_ended: bool

    @property
    def begin_s(self) -> float:
        return self.points[0][0]

    @property
    def end_s(self) -> float:
        return self.points[-1][0]


def load_curve(load: Load, warm_up_s: float) -> LoadCurve:
    """The curve of a load that was checked, with its warm-up before second 0."""
    duration_s = planned_duration_s(load)
    end_s = duration_s or max(_OPEN_END_S, warm_up_s * 4, 1.5 * (load.ramp_up_s - warm_up_s))
    begin_s = -warm_up_s
    peaks = {Model.CLOSED: load.connections, Model.SEQUENTIAL: 1, Model.WINDOW: load.high}
    peak = peaks[load.model] if load.model in peaks else peak_rate_per_s(load)
    if load.stages:
        points = _stage_points(load, warm_up_s)
    elif load.ramp_up_s:  # which is always shorter than the load; load_rules sees to that
        points = [(begin_s, 0), (begin_s + load.ramp_up_s, peak), (end_s, peak)]
    else:
        points = [(begin_s, peak), (end_s, peak)]
    is_drawn = not load.stages and load.distribution == Distribution.DETERMINISTIC
    count, rate_per_s = planned_arrivals(load), mean_rate_per_s(load)
    arrivals_s = []
    if is_drawn and rate_per_s is not None and count is not None and count <= MOST_ARRIVALS:
        arrivals_s = [number / rate_per_s for number in range(count)]
    return LoadCurve(points, peak, arrivals_s, is_open_ended=duration_s is None)


def _stage_points(load: Load, warm_up_s: float) -> list[tuple[float, float]]:
    """Two points a stage, so that a step is upright; the warm-up has the first stage's rate."""
    first = load.stages[0].from_per_s
    points = [(-warm_up_s, first), (0.0, first)] if warm_up_s else []
    begin_s = 0.0
    for stage in load.stages:
        points.append((begin_s, stage.from_per_s))
        begin_s += stage.duration_s
        points.append((begin_s, stage.to_per_s))
    return points
