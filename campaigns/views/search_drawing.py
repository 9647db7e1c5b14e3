"""Every trial of a search as a dot: its rate against a response time, both on log scales.

Positions in percent of the drawing; see drawings.
"""

from dataclasses import dataclass
from math import ceil, floor, log10

from campaigns.domain.judged.capacity import TrialResult
from campaigns.domain.plan.threshold import Threshold
from campaigns.domain.shown.capacity_words import RESULT_WORDS
from campaigns.domain.units import figure, ms, rate
from campaigns.queries.searches import MadeTrial, SearchReport

_LEFT, _RIGHT, _TOP, _BOTTOM = 0.0, 97.0, 6.0, 88.0
_AROUND = 1.1  # as a factor, beside the outermost values
_IN_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class TrialDot:
    x: float
    y: float
    result: TrialResult
    words: str


@dataclass(frozen=True, slots=True)
class SearchDrawing:
    """`band` is the interval as (from, width); `objective` is (height, words)."""

    metric: str
    dots: list[TrialDot]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    band: tuple[float, float] | None
    objective: tuple[float, str] | None


def search_drawing(report: SearchReport) -> SearchDrawing | None:
    """None without a trial that has response times."""
    metric, limit_ms = _of_objective(report.rules)
    timed = [(each, value) for each in report.made if (value := _ms_of(each, metric))]
    if not timed:
        return None
    rates = [each.trial.rate_per_s for each, _ in timed]
    at_x = _LogAxis(rates, _LEFT, _RIGHT)
    at_y = _LogAxis([value for _, value in timed] + [limit_ms] * bool(limit_ms), _BOTTOM, _TOP)
    found = report.answer.capacity
    band = None
    if found and found.low is not None:
        low, high = at_x.at(found.low), at_x.at(found.high)
        band = low, round(high - low, 2)
    return SearchDrawing(
        metric,
        [
            TrialDot(at_x.at(each.trial.rate_per_s), at_y.at(v), each.trial.result, _words(each, v))
            for each, v in timed
        ],
        at_x.ticks(),
        at_y.ticks(),
        band,
        (at_y.at(limit_ms), f"objective {ms(limit_ms * 1000)}") if limit_ms else None,
    )


def _of_objective(rules: tuple[Threshold, ...]) -> tuple[str, float]:
    """The first response time of the objective and its limit in ms; p95 and 0 without one."""
    for rule in rules:
        if rule.metric in ("p50", "p95", "p99", "mean"):
            return rule.metric, rule.limit * _IN_MS[rule.unit]
    return "p95", 0.0


def _ms_of(made: MadeTrial, metric: str) -> float | None:
    value_us = getattr(made.run, f"{metric}_us")
    return value_us and value_us / 1000


def _words(made: MadeTrial, value_ms: float) -> str:
    said = (
        f"Trial {made.run.repeat}: {rate(made.trial.rate_per_s)} requests/s, {ms(value_ms * 1000)}"
    )
    reason = f": {made.trial.reason}" if made.trial.reason else ""
    return f"{said}, {RESULT_WORDS[made.trial.result]}{reason}"


class _LogAxis:
    def __init__(self, values: list[float], start: float, end: float):
        self._low, self._high = min(values) / _AROUND, max(values) * _AROUND
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        share = log10(value / self._low) / log10(self._high / self._low)
        return round(self._start + (self._end - self._start) * min(1.0, max(0.0, share)), 2)

    def ticks(self) -> list[tuple[float, str]]:
        decades = range(floor(log10(self._low)), ceil(log10(self._high)) + 1)
        values = [step * 10.0**decade for decade in decades for step in _STEPS]
        return [(self.at(v), figure(v, 1)) for v in values if self._low <= v <= self._high]
