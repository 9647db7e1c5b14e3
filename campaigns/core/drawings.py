"""Small drawings in the cells of tables: intervals, bars of parts, sparklines. Pure; positions in
percent of the width, which templates write into SVG attributes. Sparklines: no axes, the last point
marked, minimum and maximum in the title. A run's tiles show their figure over the last seconds, the
list of campaigns the p95 of the last with the same test."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import floor, inf, log
from statistics import median
from typing import Any

from campaigns.domain.analysis.pair import SPLIT_PARTS
from campaigns.domain.metrics.series import Point
from campaigns.domain.presentation.overhead_table import OverheadAnswer
from campaigns.domain.presentation.run_points import SPARK_S
from campaigns.domain.presentation.tables import Table
from campaigns.domain.units import count, figure, number, percent

# A wider axis would squeeze all intervals into one point; what lies beyond is clipped.
_WIDEST = 20.0
# The band alone would fill a narrower one.
_NARROWEST = 1.15
RATIOS = (0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7, 2, 2.5, 3, 4, 5, 7, 10, 20)
_MOST_TICKS = 8
_AROUND = 0.06  # of a linear axis, left and right of the outermost mark
_TICKS = 6
TICK_STEPS = (1, 2, 5, 10)  # between the ticks of an axis from 0, times a power of ten
_LEAST_GAP = 7.0  # percent between two tick labels
# A bar is about 430 px wide; a letter of its labels about 6.5 px, and 10 px stay around them.
_BAR_PX, _LETTER_PX, _AROUND_PX = 430, 6.5, 10
# The space beside the longest bar for its text.
_BAR_SHARE = 0.84


@dataclass(frozen=True, slots=True)
class RatioMark:
    """One row of a forest: whisker from `low` to `high`, the mark at `at`."""

    at: float
    low: float
    high: float
    width: float
    is_primary: bool


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    text: str


def spaced_ratios(low: float, high: float, gap: float) -> list[float]:
    """Ticks of a logarithmic axis, `gap` percent of it apart or more, the nearest to 1 first."""
    ratios: list[float] = []
    near = (high / low) ** (gap / 100)
    for ratio in sorted((t for t in RATIOS if low < t < high), key=lambda t: abs(log(t))):
        if all(max(ratio / other, other / ratio) >= near for other in ratios):
            ratios.append(ratio)
    return sorted(ratios[:_MOST_TICKS])


class RatioAxis:
    """A logarithmic axis for all rows that includes 1, the threshold's band and every interval.
    `gap`: the percent between two labels of ticks, `words` what they say of a ratio."""

    def __init__(
        self,
        forests: Iterable[Sequence[dict[str, Any]]],
        threshold: float,
        gap: float = _LEAST_GAP,
        words: Callable[[float], str] = "{:g}".format,
    ):
        ends = [
            edge
            for forest in forests
            for row in forest
            for edge in (row["low"], row["high"])
            if edge and edge > 0
        ]
        widest = 1 + threshold
        around = [1 / widest, widest, 1 / _NARROWEST, _NARROWEST]
        low = max(min([*ends, *around]), 1 / _WIDEST) / 1.03
        high = min(max([*ends, *around]), _WIDEST) * 1.03
        self._low, self._span = log(low), log(high) - log(low)
        self.one = self.at(1)
        self.band_from = self.at(1 / widest)
        self.band_width = round(self.at(widest) - self.band_from, 2)
        self.ticks = [Tick(self.at(t), words(t)) for t in spaced_ratios(low, high, gap)]

    def at(self, ratio: float) -> float:
        if ratio <= 0:
            return 0.0
        return round(min(100.0, max(0.0, 100 * (log(ratio) - self._low) / self._span)), 2)

    def mark(self, row: dict[str, Any]) -> RatioMark:
        low, high = self.at(row["low"]), self.at(row["high"])
        return RatioMark(self.at(row["ratio"]), low, high, round(high - low, 2), row["primary"])


class LinearAxis:
    """A linear axis that holds all values, and begins at `least` or above."""

    def __init__(self, values: Sequence[float], least: float = -inf):
        low, high = min(values), max(values)
        around = (high - low or high) * _AROUND
        self.low = max(least, low - around)
        self._length = high + around - self.low or 1.0

    def at(self, value: float) -> float:
        share = (value - self.low) / self._length
        return round(100 * min(1.0, max(0.0, share)), 2)

    def span(self, low: float, high: float) -> tuple[float, float]:
        """(x, width)"""
        x = self.at(low)
        return x, round(self.at(high) - x, 2)

    def ticks(self, words: Callable[[float], str] = "{:g}".format) -> list[Tick]:
        step = round_up(self._length / _TICKS, TICK_STEPS)
        first = floor(self.low / step) + 1
        values = [n * step for n in range(first, floor((self.low + self._length) / step) + 1)]
        return [Tick(self.at(value), words(value)) for value in values]


def forest_groups(
    overheads: Sequence[OverheadAnswer], threshold: float, gap: float = _LEAST_GAP
) -> dict[str, Any]:
    """{"axis", "groups": [{"overhead", "rows": [(row, cells by key, mark or None)]}]}."""
    axis = RatioAxis([each.forest for each in overheads], threshold, gap)
    groups = []
    for overhead in overheads:
        marks = {row["metric"]: axis.mark(row) for row in overhead.forest}
        keys = ["baseline", "candidate", *(column.key for column in overhead.table.columns[2:])]
        rows = [
            (row, dict(zip(keys, row.cells, strict=True)), marks.get(row.label))
            for row in overhead.table.rows
        ]
        groups.append({"overhead": overhead, "rows": rows})
    return {"axis": axis, "groups": groups}


@dataclass(frozen=True, slots=True)
class Piece:
    """One part of a bar. `label` is "" if it would not fit."""

    part: str
    x: float
    width: float
    label: str


def split_bars(overheads: Sequence[OverheadAnswer]) -> dict[str, Any]:
    """The bars of all compared arms, each once, on one axis; {} without any."""
    splits = [each for each in overheads if each.split]
    if not splits:
        return {}
    rows = {
        (each.plan_label, row["label"]): {**row, "plan": each.plan_label}
        for each in splits
        for row in each.split.rows
    }
    decimals = max(each.split.decimals for each in splits)
    is_typical = all(each.split.is_typical for each in splits)
    return {**split_rows_bars(list(rows.values()), decimals), "is_typical": is_typical}


def split_rows_bars(rows: Sequence[dict[str, Any]], decimals: int) -> dict[str, Any]:
    """The rows of a SplitAnswer as bars on one axis from 0: {"parts", "ticks", "rows"}."""
    names = {
        part
        for row in rows
        for part, value in row["parts"].items()
        if value is not None and (part != "lateness" or value)
    }
    parts = [part for part in SPLIT_PARTS if part in names]
    scale = 100 / (round_up(max(row["total_ms"] for row in rows) / _BAR_SHARE) or 1)
    bars = [
        {
            **row,
            "pieces": _pieces(row["parts"], parts, scale),
            "cells": [number(row["parts"].get(part), decimals) for part in parts],
            "total": number(row["total_ms"], decimals),
        }
        for row in rows
    ]
    length = 100 / scale
    step = round_up(length / 6, TICK_STEPS) or 1
    count = int(length / step + 1e-9)
    return {
        "parts": parts,
        "ticks": [Tick(round(n * step * scale, 2), f"{n * step:g}") for n in range(count + 1)],
        "rows": bars,
    }


def parts_bar(parts: Table) -> list[Piece]:
    """The bar of a run's average response time, as wide as the page lets it be."""
    means = {row.kind: row.cells[0].value for row in parts.rows if row.kind in SPLIT_PARTS}
    total = sum(means.values())
    return list(_pieces(means, list(means), 100 / total if total else 0.0))


def _pieces(values: dict[str, float | None], parts: list[str], scale: float) -> Iterator[Piece]:
    end = 0.0
    for part in parts:
        value = values.get(part) or 0.0
        width = round(value * scale, 3)
        if width <= 0:  # clocks of two places may make a part of nothing less than that
            continue
        text = f"{part} {figure(value)}"
        fits = width * _BAR_PX / 100 >= len(text) * _LETTER_PX + _AROUND_PX
        yield Piece(part, round(end * scale, 3), width, text if fits else "")
        end += value


def round_up(value: float, steps: Sequence[float] = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)) -> float:
    """The smallest step × 10ⁿ that is not below the value; 0 stays 0."""
    if value <= 0:
        return 0.0
    power = 1.0
    while power > value:
        power /= 10
    while power * 10 <= value:
        power *= 10
    return next(step * power for step in steps if step * power >= value)


WIDTH, HEIGHT, _EDGE = 96, 34, 3
_ROOM = HEIGHT - 2 * _EDGE


@dataclass(frozen=True, slots=True)
class Spark:
    """`path` is SVG's; `end` the last point; `changes` and `crosses` are places across. Without a
    title the figures stand beside it."""

    width: int
    height: int
    path: str
    end: tuple[float, float] | None = None
    title: str = ""
    is_zero: bool = False
    changes: tuple[float, ...] = ()
    crosses: tuple[float, ...] = ()


def sparks_of(points: Sequence[Point], whole_seconds: int | None = None) -> dict[str, Spark]:
    """Sparklines by tile key; tiles with values in fewer than two seconds have none. A finished
    run's seconds from `whole_seconds` on are left out: the last one is only a part of a second."""
    end = inf if whole_seconds is None else whole_seconds
    seconds = [point for point in points[-SPARK_S:] if 0 <= point["second"] < end]
    ends = [(each["failed"] + each["dropped"], each["ok"]) for each in seconds]
    shares = [errors / (errors + ok) if errors + ok else None for errors, ok in ends]
    sparks = {
        "rate": _spark([point["ok"] for point in seconds], count),
        "p50": _spark([point["p50_ms"] for point in seconds], figure),
        "p95": _spark([point["p95_ms"] for point in seconds], figure),
        "p99": _spark([point["p99_ms"] for point in seconds], figure),
        "errors": _spark(shares, percent),
    }
    return {key: spark for key, spark in sparks.items() if spark}


TREND_WIDTH, TREND_HEIGHT = 72, 20
_LEAST_SPAN = 0.1  # of the median, to either side: smaller changes look small
_LEAST_POINTS = 3


def trend_of(values_ms: Sequence[float | None]) -> Spark | None:
    """The last campaigns of a test around their median, evenly spaced; None under three figures."""
    values = [value for value in values_ms if value is not None]
    if len(values) < _LEAST_POINTS:
        return None
    middle = median(values)
    span = max(_LEAST_SPAN * middle, *(abs(value - middle) for value in values))
    step = (TREND_WIDTH - 2 * _EDGE) / (len(values_ms) - 1)
    room = TREND_HEIGHT / 2 - _EDGE
    points = [
        (round(_EDGE + n * step, 1), round(TREND_HEIGHT / 2 - room * (value - middle) / span, 1))
        for n, value in enumerate(values_ms)
        if value is not None
    ]
    words = f"p95 of the last {len(values)}: from {figure(min(values))} to {figure(max(values))} ms"
    return Spark(TREND_WIDTH, TREND_HEIGHT, broken_line(points), points[-1], words)


def _spark(values: Sequence[float | None], text: Callable[[float], str]) -> Spark | None:
    """Scaled from 0 to the maximum; None breaks the line."""
    numbers = [value for value in values if value is not None]
    if len(numbers) < 2:
        return None
    top, step = max(numbers), (WIDTH - 2 * _EDGE) / max(1, len(values) - 1)
    places = [
        (
            round(_EDGE + n * step, 1),
            None if v is None else round(HEIGHT - _EDGE - (v / top if top > 0 else 0) * _ROOM, 1),
        )
        for n, v in enumerate(values)
    ]
    end = next((x, y) for x, y in reversed(places) if y is not None)
    words = f"from {text(min(numbers))} to {text(top)}"
    return Spark(WIDTH, HEIGHT, broken_line(places), end, words, top <= 0)


def broken_line(points: Sequence[tuple[float, float | None]]) -> str:
    """Points as (x, y); a y of None breaks the line. A point alone between two breaks is a line
    without length, which round caps draw as a dot: otherwise it would not be seen."""
    path = ""
    heights = [None, *(y for _, y in points), None]
    for (x, y), before, after in zip(points, heights, heights[2:], strict=False):
        if y is None:
            continue
        path += f"{'M' if before is None else 'L'}{x} {y}"
        if before is None and after is None:
            path += "h0"
    return path
