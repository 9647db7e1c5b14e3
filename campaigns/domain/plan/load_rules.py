"""Reads a load from JSON: which fields each model uses, and what is wrong in words."""

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.load import (
    MAX_CONNECTIONS,
    MAX_DURATION_S,
    MAX_RATE_PER_S,
    MAX_REQUESTS,
    ArrivalUnit,
    Distribution,
    Hold,
    Load,
    Model,
    WhenSaturated,
)
from campaigns.domain.plan.shards import MAX_INJECTORS, MAX_WEIGHT, is_weight
from campaigns.domain.plan.stage_rules import read_stages

# The fields of a load that each model uses.
USES = {
    Model.CLOSED: {"connections", "ramp_up_s", "requests", "duration_s", "start_offset_s",
        "per_injector", "shares"},
    Model.OPEN: {
        "rate_per_s", "requests", "duration_s", "distribution", "uniform_min_s", "uniform_max_s",
        "when_saturated", "max_in_flight", "stages", "arrival_unit", "shares",
    },
    Model.OVER: {"requests", "over_s", "when_saturated", "max_in_flight", "arrival_unit", "shares"},
    Model.SEQUENTIAL: {"requests", "duration_s", "per_injector"},
    Model.WINDOW: {
        "low", "high", "hold", "hold_s", "requests", "duration_s", "start_offset_s", "per_injector",
        "shares",
    },
}  # fmt: skip
_WORDS = {
    "connections": "connections",
    "ramp_up_s": "a ramp-up",
    "rate_per_s": "a rate",
    "requests": "a number of requests",
    "over_s": "a time to spread the requests over",
    "duration_s": "a duration",
    "distribution": "a distribution of arrivals",
    "uniform_min_s": "a shortest gap",
    "uniform_max_s": "a longest gap",
    "when_saturated": "a rule for saturation",
    "low": "a low mark",
    "high": "a high mark",
    "hold": "a rule for open connections",
    "hold_s": "a time to hold connections",
    "stages": "stages",
    "arrival_unit": "a unit of arrivals",
    "start_offset_s": "a start offset",
    "per_injector": "numbers of each injector",
    "shares": "shares of several injectors",
}
_NEEDED = {"connections", "over_s", "low", "high"}


def read_load(reader: JsonReader) -> Load:
    load = Load(
        model=reader.choice("model", Model, Model.CLOSED),
        connections=reader.number("connections", low=1, high=MAX_CONNECTIONS, whole=True),
        rate_per_s=reader.number("rate_per_s", low=0, high=MAX_RATE_PER_S, above_low=True),
        requests=reader.number("requests", low=1, high=MAX_REQUESTS, whole=True),
        over_s=_seconds(reader, "over_s"),
        duration_s=_seconds(reader, "duration_s"),
        max_in_flight=int(
            reader.number("max_in_flight", 10_000, low=1, high=MAX_CONNECTIONS, whole=True)
        ),
        ramp_up_s=reader.number("ramp_up_s", 0.0, low=0, high=MAX_DURATION_S),
        distribution=reader.choice("distribution", Distribution, Distribution.DETERMINISTIC),
        uniform_min_s=reader.number("uniform_min_s", low=0, high=3600),
        uniform_max_s=reader.number("uniform_max_s", low=0, high=3600, above_low=True),
        when_saturated=reader.choice("when_saturated", WhenSaturated, WhenSaturated.QUEUE),
        low=reader.number("low", low=1, high=MAX_CONNECTIONS, whole=True),
        high=reader.number("high", low=1, high=MAX_CONNECTIONS, whole=True),
        hold=reader.choice("hold", Hold, Hold.CLOSE),
        hold_s=_seconds(reader, "hold_s"),
        stages=read_stages(reader),
        arrival_unit=reader.choice("arrival_unit", ArrivalUnit, ArrivalUnit.REQUEST),
        start_offset_s=reader.number("start_offset_s", 0.0, low=0, high=3600),
        per_injector=reader.boolean("per_injector", False),
        shares=_read_shares(reader),
    )
    _check_use(reader, load)
    _check_stop(reader, load)
    _check_arrivals(reader, load)
    if load.model == Model.WINDOW:
        _check_window(reader, load)
    if load.duration_s is not None and load.ramp_up_s >= load.duration_s:
        reader.fail(
            "ramp_up_s",
            f"The last connections would never begin: choose less than the {load.duration_s:g} s "
            "that the load lasts.",
        )
    reader.refuse_unknown("model", "max_in_flight", *_WORDS)
    return load


def _read_shares(reader: JsonReader) -> tuple[int, ...]:
    raw = reader.data.get("shares") or ()
    is_list = isinstance(raw, list | tuple) and len(raw) <= MAX_INJECTORS
    if not is_list or len(raw) == 1 or not all(is_weight(each) for each in raw):
        reader.fail(
            "shares",
            f"Write a whole number from 1 to {MAX_WEIGHT} for each of 2 to {MAX_INJECTORS} "
            "injectors, such as 2, 1, 1; nothing where all have the same share.",
        )
        return ()
    if raw and reader.data.get("per_injector"):
        reader.fail("shares", "The numbers are of each injector already; choose one of the two.")
    return tuple(raw)


def _seconds(reader: JsonReader, name: str) -> float | None:
    return reader.number(name, low=0, high=MAX_DURATION_S, above_low=True)


def _check_use(reader: JsonReader, load: Load) -> None:
    uses, standard = USES[load.model], Load(load.model)
    for name, words in _WORDS.items():
        given = getattr(load, name) != getattr(standard, name)
        if given and name not in uses:
            reader.fail(
                name, f"The load model {load.model} has no use for {words}; leave it empty."
            )
        if not given and name in uses and name in _NEEDED:
            reader.fail(name, f"The load model {load.model} needs {words}.")


def _check_stop(reader: JsonReader, load: Load) -> None:
    if load.model == Model.OVER and load.requests is None:
        reader.fail("requests", "Say how many requests are spread over the time.")
    elif load.stages:
        for name in ("requests", "duration_s"):
            if getattr(load, name) is not None:
                reader.fail(name, "The stages say when it ends; leave this empty.")
    elif load.requests is None and load.duration_s is None and not reader.data.get("stages"):
        reader.fail("requests", "Say when to stop: after a number of requests or after a time.")
    elif load.requests is not None and load.duration_s is not None:
        reader.fail("duration_s", "Stop after requests or after a time, not both; empty one.")


def _check_arrivals(reader: JsonReader, load: Load) -> None:
    if load.model != Model.OPEN:
        return
    if load.distribution == Distribution.UNIFORM:
        _check_gaps(reader, load)
        return
    for name in ("uniform_min_s", "uniform_max_s"):
        if getattr(load, name) is not None:
            reader.fail(name, "Only the distribution uniform has gaps; choose it, or empty this.")
    if load.rate_per_s is None and not reader.data.get("stages"):
        reader.fail("rate_per_s", "The load model open needs a rate, or stages.")
    if load.rate_per_s is not None and load.stages:
        reader.fail("rate_per_s", "The stages say the rate; leave this empty.")


def _check_gaps(reader: JsonReader, load: Load) -> None:
    if load.stages:
        reader.fail("stages", "Drawn gaps have no stages: choose even or exponential arrivals.")
    if load.rate_per_s is not None:
        reader.fail("rate_per_s", "The two gaps make the rate: 2 / (shortest + longest). Empty it.")
    if load.duration_s is not None:
        reader.fail(
            "duration_s",
            "Drawn gaps do not fill a time exactly: stop after a number of requests instead.",
        )
    for name in ("uniform_min_s", "uniform_max_s"):
        if getattr(load, name) is None:
            reader.fail(name, "The distribution uniform needs a shortest and a longest gap, s.")
            return
    if load.uniform_min_s >= load.uniform_max_s:
        reader.fail(
            "uniform_max_s",
            f"The longest gap must be above the shortest, {load.uniform_min_s:g} s.",
        )
    elif load.mean_gap_s < 1 / MAX_RATE_PER_S:
        reader.fail(
            "uniform_max_s", f"At most {MAX_RATE_PER_S:,} arrivals a second: widen the gap."
        )


def _check_window(reader: JsonReader, load: Load) -> None:
    if load.low and load.high and load.low > load.high:
        reader.fail("low", f"The low mark cannot be above the high one: at most {load.high:,}.")
    if load.hold == Hold.KEEP_S and load.hold_s is None:
        reader.fail("hold_s", "Say how many seconds each connection is kept open.")
    if load.hold != Hold.KEEP_S and load.hold_s is not None:
        reader.fail("hold_s", "Only hold keep_s has a time; choose it, or empty this.")
    if load.hold == Hold.KEEP_UNTIL_ALL and load.requests is None:
        reader.fail("requests", "To keep them until all are open, say how many there are.")
