"""Reads the stages of a load from JSON, and says what is wrong with which one."""

from math import fsum
from typing import Any

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.load import MAX_DURATION_S, MAX_RATE_PER_S, MAX_REQUESTS
from campaigns.domain.plan.stages import MAX_STAGES, Stage, count_staged


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
            _check_whole(stages)
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
    start = reader.number("from_per_s", 0.0, low=0, high=MAX_RATE_PER_S)
    stage = Stage(
        reader.number("duration_s", 0.0, low=0, high=MAX_DURATION_S, above_low=True),
        start,
        reader.number("to_per_s", start, low=0, high=MAX_RATE_PER_S),
    )
    for name in ("duration_s", "from_per_s"):
        if item.get(name) is None:
            reader.fail(name, "Write a number.")
    reader.refuse_unknown("duration_s", "from_per_s", "to_per_s")
    if reader.errors:
        name, sentence = next(iter(reader.errors.items()))
        raise InvalidPlan({"stages": f"Stage {number}, {name}: {sentence}"})
    return stage


def _check_whole(stages: tuple[Stage, ...]) -> None:
    if fsum(stage.duration_s for stage in stages) > MAX_DURATION_S:
        raise InvalidPlan({"stages": f"Together at most {MAX_DURATION_S:,} s; shorten some."})
    count = count_staged(stages)
    if not count:
        raise InvalidPlan({"stages": "At least one stage needs a rate above 0."})
    if count > MAX_REQUESTS:
        raise InvalidPlan({"stages": f"{count:,} requests are too many; at most {MAX_REQUESTS:,}."})
