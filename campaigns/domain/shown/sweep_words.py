"""Sweeps in one sentence: up to where throughput grows, and what is not known."""

from collections.abc import Sequence

from campaigns.domain.plan.sweep import DIVIDED, point_words, value_text
from campaigns.domain.shown.results import Sentence, SweepAnswer
from campaigns.domain.shown.sweep_points import SweepPoint, end_of_growth
from campaigns.domain.units import number, rate

_MOST = 4  # arms in the sentence; the tables below have all


def sweep_sentence(sweeps: Sequence[SweepAnswer]) -> Sentence:
    """[] where no arm has two trusted points."""
    said: Sentence = []
    has_plans = len({each.plan_label for each in sweeps}) > 1
    for sweep in sweeps:
        if (ended := end_of_growth(sweep.points)) and len(said) < 2 * _MOST:
            name = ", ".join(filter(None, [sweep.plan_label * has_plans, sweep.name]))
            said += _clause(name, sweep, *ended)
    if not said:
        return []
    unknown = _unknown(sweeps)
    return [*said, *([(unknown, True)] if unknown else [])]


def _clause(name: str, sweep: SweepAnswer, point: SweepPoint, has_ended: bool) -> Sentence:
    at_least = "" if has_ended else "at least "
    grows = f"{name} grows up to {at_least}{point_words(sweep.field, point.value)}"
    times = ""
    if sweep.field in DIVIDED and point.speed_up:
        times = f", {number(point.speed_up, 1)} times {value_text(sweep.points[0].value)}"
    return [(f"{grows}: {rate(point.rate_per_s)} requests/s", True), (f"{times}. ", False)]


def _unknown(sweeps: Sequence[SweepAnswer]) -> str:
    """From where on no arm has a trusted point."""
    trusted = [p.value for each in sweeps for p in each.points if p.is_trusted]
    beyond = [p for each in sweeps for p in each.points if p.value > max(trusted)]
    if not beyond:
        return ""
    words = point_words(sweeps[0].field, max(trusted))
    return f"What comes beyond {words} is not known: those runs are not trusted."
