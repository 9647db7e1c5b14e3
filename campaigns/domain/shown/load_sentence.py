"""What a plan's load means, in one sentence beside its curve."""

from campaigns.domain.plan.arrivals import NS, period_ns
from campaigns.domain.plan.load import (
    ArrivalUnit,
    Distribution,
    Load,
    Model,
    planned_arrivals,
    planned_duration_s,
)
from campaigns.domain.plan.plan import Plan
from campaigns.domain.units import counted, duration


def arrival_noun(model: Model, unit: ArrivalUnit, *, is_exchange: bool) -> str:
    """What arrives: request, connection or session; a WebSocket plan's requests are WebSockets."""
    if is_exchange:
        return "WebSocket"
    return str(unit) if model in {Model.OPEN, Model.OVER} else "request"


def noun_of(plan: Plan) -> str:
    """`arrival_noun` of a plan."""
    load = plan.load
    return arrival_noun(load.model, load.arrival_unit, is_exchange=plan.exchange is not None)


def curve_unit(plan: Plan) -> str:
    """The unit of the plan's load curve: requests/s, connections."""
    match plan.load.model:
        case Model.OPEN | Model.OVER:
            return f"{noun_of(plan)}s/s"
        case Model.WINDOW:
            return "connections being opened, at most"
    return "connections"


def load_sentence(plan: Plan) -> str:
    """One request every 100 ms; the first at 0 s, the last at 9.9 s."""
    load, noun = plan.load, noun_of(plan)
    if load.model == Model.WINDOW:
        until = f"for {duration(load.duration_s)}" if load.duration_s else ""
        if load.requests:
            each = " by each" if load.per_injector else ""
            until = f"until {load.requests:,} have been opened{each}"
        return (
            f"Each injector process opens {load.high:,} connections at a time, and again up to "
            f"{load.high:,} when fewer than {load.low:,} are being opened, {until}."
        )
    if load.model in {Model.OPEN, Model.OVER}:
        return _arrivals_sentence(load, noun)
    sentence = _connections_sentence(load, noun, plan.streams)
    return (
        f"Each injector process: {sentence[0].lower()}{sentence[1:]}"
        if load.per_injector
        else sentence
    )


def _arrivals_sentence(load: Load, noun: str) -> str:
    count, length_s = planned_arrivals(load), planned_duration_s(load)
    number, gap_s = counted(count, f"{noun}s"), length_s / count
    if load.stages:
        how = " at random instants" if load.distribution == Distribution.EXPONENTIAL else ""
        stages = counted(len(load.stages), "stages").replace("1 stage", "one stage")
        return f"{number}{how} in {stages}, {duration(length_s)} in all."
    if count == 1:
        is_random = load.distribution == Distribution.EXPONENTIAL
        when = f" at a random instant within {duration(length_s)}" if is_random else ", at 0 s"
        return f"One {noun}{when}."
    if load.distribution == Distribution.EXPONENTIAL:
        return (
            f"{number} at random instants within {duration(length_s)}, {_gap(gap_s)} apart on "
            "average."
        )
    if load.distribution == Distribution.UNIFORM:
        gaps = f"{_gap(load.uniform_min_s)} to {_gap(load.uniform_max_s)}"
        return f"{number}, each {gaps} after the one before; about {duration(length_s)} in all."
    # A rate keeps its gap also where its last one would end after the measurement.
    gap_s = float(period_ns(load) / NS)
    last_s = (count - 1) * gap_s
    return f"One {noun} every {_gap(gap_s)}; the first at 0 s, the last at {last_s:,.6g} s."


def _connections_sentence(load: Load, noun: str, n_streams: int) -> str:
    is_one = load.model == Model.SEQUENTIAL or load.connections == 1
    who = "One connection sends" if is_one else f"{load.connections:,} connections send"
    if load.requests:
        is_done = "is" if load.requests == 1 else "are"
        until = (
            f"until {counted(load.requests, f'{noun}s')} {is_done} done; the target decides how "
            "long that takes"
        )
    else:
        until = f"for {duration(load.duration_s)}; the target decides how many {noun}s that makes"
    ramp = (
        f" Connections begin one by one over {duration(load.ramp_up_s)}." if load.ramp_up_s else ""
    )
    if noun == "WebSocket":
        at_a_time = "One WebSocket is" if is_one else f"{load.connections:,} WebSockets are"
        return f"{at_a_time} open at a time, each after one has closed, {until}.{ramp}"
    if n_streams > 1:
        each = "" if is_one else " each"
        who = f"{who} on {n_streams:,} streams{each}"
    return f"{who}, each request after the reply to the one before, {until}.{ramp}"


def _gap(seconds: float) -> str:
    return f"{seconds * 1000:,.6g} ms" if seconds < 1 else f"{seconds:,.6g} s"
