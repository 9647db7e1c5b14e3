"""Reads a load from JSON; the rules between its fields, in words; and the load of a number of
injectors."""

from collections.abc import Sequence
from dataclasses import replace
from math import fsum
from typing import Any

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.fields import fields_of, read_scalars
from campaigns.domain.plan.load import (
    MAX_DURATION_S,
    MAX_INJECTORS,
    MAX_RATE_PER_S,
    MAX_REQUESTS,
    MAX_STAGES,
    MAX_WEIGHT,
    Distribution,
    Hold,
    Load,
    Model,
    Stage,
    count_staged,
)
from campaigns.domain.typed_text import JsonReader, per_second_in, seconds_in

# The fields of a load that each model uses.
USES = {
    model: {name for name, field in fields_of(Load).items() if model in field.used_by} - {"model"}
    for model in Model
}


def read_load(reader: JsonReader) -> Load:
    scalars = read_scalars(reader, Load)
    load = Load(**scalars, stages=read_stages(reader), shares=_read_shares(reader))
    for name, field in fields_of(Load).items():
        is_used, is_given = load.model in field.used_by, getattr(load, name) != field.default
        # max_in_flight has a non-empty default; it is ignored by models that do not use it.
        if is_given and not is_used and name != "max_in_flight":
            reader.fail(name, f"The load model {load.model} does not use this; leave it empty.")
        if field.needed and is_used and not is_given:
            reader.fail(name, f"The load model {load.model} needs this.")
    _check_stop(reader, load)
    _check_arrivals(reader, load)
    if load.model == Model.WINDOW:
        if load.low and load.high and load.low > load.high:
            reader.fail("low", f"The low mark cannot be above the high mark, {load.high:,}.")
        if load.hold == Hold.KEEP_S and load.hold_s is None:
            reader.fail("hold_s", "Enter how many seconds each connection is kept open.")
        if load.hold != Hold.KEEP_S and load.hold_s is not None:
            reader.fail("hold_s", "Only hold keep_s has a time; choose it, or leave this empty.")
        if load.hold == Hold.KEEP_UNTIL_ALL and load.requests is None:
            reader.fail(
                "requests", "To keep connections until all are open, enter how many there are."
            )
    if load.duration_s is not None and load.ramp_up_s >= load.duration_s:
        reader.fail(
            "ramp_up_s",
            f"The last connections would never start: choose less than the {load.duration_s:g} s "
            "that the load lasts.",
        )
    return load


def _read_shares(reader: JsonReader) -> tuple[int, ...]:
    raw = reader.data.get("shares") or ()
    is_list = isinstance(raw, list | tuple) and len(raw) <= MAX_INJECTORS and len(raw) != 1
    if not is_list or not all(type(each) is int and 1 <= each <= MAX_WEIGHT for each in raw):
        reader.fail(
            "shares",
            f"Write a whole number from 1 to {MAX_WEIGHT} for each of 2 to {MAX_INJECTORS} "
            "injectors, such as 2, 1, 1, or leave it empty for equal shares.",
        )
        return ()
    if raw and reader.data.get("per_injector"):
        reader.fail("shares", "The values are per injector process already; choose one of the two.")
    return tuple(raw)


def _check_stop(reader: JsonReader, load: Load) -> None:
    if load.model == Model.OVER and load.requests is None:
        reader.fail("requests", "Enter how many requests to spread over the time.")
    elif load.stages:
        for name in ("requests", "duration_s"):
            if getattr(load, name) is not None:
                reader.fail(name, "The stages say when the load ends; leave this empty.")
    # Without a number of requests. What was refused is wrong, not missing.
    elif load.requests is None and not (
        bool(reader.data.get("stages")) or reader.data.get("duration_s") not in (None, "")
    ):
        reader.fail("requests", "Enter when to stop: after a number of requests or after a time.")
    elif load.requests is not None and load.duration_s is not None:
        reader.fail(
            "duration_s",
            "Stop after a number of requests or after a time, not both; leave one empty.",
        )


def _check_arrivals(reader: JsonReader, load: Load) -> None:
    if load.model != Model.OPEN:
        return
    if load.distribution == Distribution.UNIFORM:
        _check_gaps(reader, load)
        return
    for name in ("uniform_min_s", "uniform_max_s"):
        if getattr(load, name) is not None:
            reader.fail(
                name, "Only the distribution uniform has gaps; choose it, or leave this empty."
            )
    if load.rate_per_s is None and not reader.data.get("stages"):
        reader.fail("rate_per_s", "The load model open needs a rate or stages.")
    if load.rate_per_s is not None and load.stages:
        reader.fail("rate_per_s", "The stages say the rate; leave this empty.")


def _check_gaps(reader: JsonReader, load: Load) -> None:
    if load.stages:
        reader.fail(
            "stages",
            "Random gaps cannot be combined with stages; choose even or exponential arrivals.",
        )
    if load.rate_per_s is not None:
        reader.fail(
            "rate_per_s", "The two gaps make the rate, 2 / (shortest + longest); leave it empty."
        )
    if load.duration_s is not None:
        reader.fail(
            "duration_s",
            "Random gaps do not fill a time exactly; stop after a number of requests instead.",
        )
    for name in ("uniform_min_s", "uniform_max_s"):
        if getattr(load, name) is None:
            reader.fail(
                name, "The distribution uniform needs a shortest and a longest gap, in seconds."
            )
            return
    if load.uniform_min_s >= load.uniform_max_s:
        reader.fail(
            "uniform_max_s",
            f"The longest gap must be above the shortest, {load.uniform_min_s:g} s.",
        )
    elif load.mean_gap_s < 1 / MAX_RATE_PER_S:
        reader.fail(
            "uniform_max_s", f"At most {MAX_RATE_PER_S:,} arrivals per second; widen the gap."
        )


def read_stages(reader: JsonReader) -> tuple[Stage, ...]:
    """All of them, or none and a sentence under "stages"."""
    raw = reader.data.get("stages") or []
    if not isinstance(raw, list | tuple):
        reader.fail("stages", "Write a list of stages, each with duration_s and from_per_s.")
        return ()
    if len(raw) > MAX_STAGES:
        reader.fail("stages", f"At most {MAX_STAGES} stages.")
        return ()
    try:
        stages = tuple(_read_stage(number, item) for number, item in enumerate(raw, 1))
        if stages:
            if fsum(stage.duration_s for stage in stages) > MAX_DURATION_S:
                raise InvalidPlan(
                    {"stages": f"Together at most {MAX_DURATION_S:,} s; shorten some."}
                )
            count = count_staged(stages)
            if not count:
                raise InvalidPlan({"stages": "At least one stage needs a rate above 0."})
            if count > MAX_REQUESTS:
                raise InvalidPlan(
                    {"stages": f"{count:,} requests are too many; at most {MAX_REQUESTS:,}."}
                )
    except InvalidPlan as invalid:
        reader.fail("stages", next(iter(invalid.errors.values())))
        return ()
    return stages


def _read_stage(number: int, item: Any) -> Stage:
    if not isinstance(item, dict):
        raise InvalidPlan(
            {
                "stages": f"Stage {number}, {str(item)[:40]!r}, cannot be read. Write seconds and "
                "rate, such as 30: 10, or a ramp, such as 60: 10-50."
            }
        )
    reader = JsonReader(item)
    rates = {"low": 0, "high": MAX_RATE_PER_S, "amount": per_second_in}
    times = {"low": 0, "high": MAX_DURATION_S, "amount": seconds_in}
    start = reader.number("from_per_s", 0.0, **rates)
    duration_s = reader.number("duration_s", 0.0, above_low=True, **times)
    stage = Stage(duration_s, start, reader.number("to_per_s", start, **rates))
    for name in ("duration_s", "from_per_s"):
        if item.get(name) is None:
            reader.fail(name, "Write a number.")
    reader.refuse_unknown("duration_s", "from_per_s", "to_per_s")
    if reader.errors:
        name, sentence = next(iter(reader.errors.items()))
        raise InvalidPlan({"stages": f"Stage {number}, {name}: {sentence}"})
    return stage


def load_for(load: Load, injectors: int) -> Load:
    """A per-injector load times their number; any other load unchanged.

    Several injectors with sequential loads become one closed load with as many connections.
    """
    if not load.per_injector:
        return load
    whole = replace(load, per_injector=False, requests=load.requests and load.requests * injectors)
    if load.model == Model.CLOSED:
        return replace(whole, connections=load.connections * injectors)
    if load.model == Model.SEQUENTIAL and injectors > 1:
        return replace(whole, model=Model.CLOSED, connections=injectors)
    return whole


def largest_share(load: Load, injectors: int) -> float:
    """The part of the load that the busiest injector has."""
    return max(load.shares) / sum(load.shares) if load.shares else 1 / injectors


def smallest_share(shares: Sequence[int], injectors: int) -> float:
    """The part of a load that the least busy injector has; without shares all have the same."""
    return min(shares) / sum(shares) if shares else 1 / injectors
