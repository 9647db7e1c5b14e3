"""A sweep on the campaign page: its arms in one table, and as charts throughput, response time and
what follows from them by the value."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from math import sqrt
from typing import Any

from campaigns.core.drawings import round_up
from campaigns.domain.plan.sweep import (
    DIVIDED,
    INJECTORS,
    parameter_label,
    parameter_unit,
    point_words,
    value_text,
)
from campaigns.domain.presentation.charts import (
    DOUBT,
    Axis,
    Band,
    Chart,
    Charts,
    LineStyle,
    Mark,
    Places,
    Series,
    columns,
    line_style,
)
from campaigns.domain.presentation.sweeps import SweepAnswer, SweepPoint, sweep_table, untrusted
from campaigns.domain.units import figure

# A name beside each of more lines would cover the curves.
_MOST_NAMED = 12
_WIDE = 20  # of values further apart an axis is logarithmic
_EXPECTED = LineStyle("ink-3", (1, 3))

_Read = Callable[[SweepPoint], float | None]
_Ends = Callable[[SweepPoint], tuple[float, float] | None]


@dataclass(frozen=True, slots=True)
class _Figure:
    """One figure of each point: how it is called beside others of its panel, read, and where its
    interval is."""

    name: str
    read: _Read
    ends: _Ends = lambda point: None
    is_second: bool = False


def drawn_sweeps(sweeps: Sequence[SweepAnswer]) -> list[dict[str, Any]]:
    """The sweeps of one plan and parameter together, their arms in one table and on the same axes:
    [{"sweeps", "table", "parameter", "keys": [(name, style)] of the arms, "relative": the number of
    the reference among them, from 1, "charts": None without figures, "untrusted": [(where, why)] of
    the points that are not}]."""
    groups: dict[tuple[str, str], list[SweepAnswer]] = {}
    for sweep in sweeps:
        groups.setdefault((sweep.plan_label, sweep.field), []).append(sweep)
    return [_drawing(group, n) for n, group in enumerate(groups.values(), 1)]


def _drawing(group: Sequence[SweepAnswer], number: int) -> dict[str, Any]:
    field, table = group[0].field, group[0].table
    if len(group) > 1:
        title = f"{group[0].plan_label} by {_parameter_words(field)}"
        arms = [(each.name, each.points) for each in group]
        reference = next(each.reference for each in group if each.reference)
        table = sweep_table(f"sweep-{number}", title, field, arms, reference)
    return {
        "plan": group[0].plan_label,
        "sweeps": group,
        "parameter": _parameter_words(field),
        "keys": [(each.name, line_style(n)) for n, each in enumerate(group)],
        "relative": next((n for n, each in enumerate(group, 1) if not each.reference), 1),
        "table": table,
        "charts": _charts(field, group, number),
        "is_divided": field in DIVIDED,
        "untrusted": untrusted([(each.name, each.points) for each in group]),
    }


def _parameter_words(field: str) -> str:
    if field == INJECTORS:
        return "number of injector processes"
    words = [parameter_label(field).lower(), parameter_unit(field)]
    return ", ".join(filter(None, words))


def _charts(field: str, group: Sequence[SweepAnswer], number: int) -> Charts | None:
    points = [point for each in group for point in each.points]
    if not any(point.rate_per_s and point.is_usable for point in points):
        return None
    xs = sorted({point.value for point in points})
    parameter = _parameter_words(field)
    return Charts(
        f"sweep-{number}-curves",
        f"Curves by {parameter}",
        keys_words="Enter goes to the runs of the first arm there",
        panels=[_panel(panel, group, parameter) for panel in _panels(field, points)],
        places=Places(x=xs, at=[point_words(field, x) for x in xs]),
        in_columns=True,
    )


@dataclass(frozen=True, slots=True)
class _Panel:
    """`expected`: what a figure would be, as growth by `slope` or as a level."""

    title: str
    unit: str
    figures: Sequence[_Figure]
    slope: float = 0.0
    level: float | None = None
    may_be_log: bool = False


def _panels(field: str, points: Sequence[SweepPoint]) -> Iterator[_Panel]:
    is_divided = field in DIVIDED and any(point.speed_up for point in points)
    # The highest throughput for each of the parameter at its smallest value, where speed-ups begin.
    slope = max(
        (point.rate_per_s / point.value for point in points if is_divided and point.speed_up == 1),
        default=0.0,
    )
    rates = _Figure("", lambda p: p.rate_per_s, lambda p: p.rate_ends)
    p95 = _Figure("p95", lambda p: p.p95_ms)
    mean = _Figure("average", lambda p: p.mean_ms, lambda p: p.mean_ends_ms, is_second=True)
    yield _Panel("Throughput", "ok requests/s", [rates], slope)
    yield _Panel("Response time", "ms", [p95, mean], may_be_log=True)
    if is_divided:
        speed_up = _Figure("", lambda p: p.speed_up)
        efficiency = _Figure("", lambda p: p.efficiency and 100 * p.efficiency)
        least = min(point.value for point in points)
        yield _Panel("Speed-up", "times the smallest value", [speed_up], 1 / least)
        yield _Panel("Efficiency", "%", [efficiency], level=100)
    if any(point.error_share for point in points):
        errors = _Figure("", lambda p: p.error_share and 100 * p.error_share)
        yield _Panel("Errors", "% of all requests", [errors])


def _panel(panel: _Panel, group: Sequence[SweepAnswer], parameter: str) -> Chart:
    points = [point for each in group for point in each.points]
    xs = sorted({point.value for point in points})
    # Around every point with its interval, whether it is shown or not.
    values = [
        value
        for point in points
        for each in panel.figures
        for value in (each.read(point), (each.ends(point) or (0, 0))[1])
        if value
    ]
    ticks = [(x, value_text(x)) for x in xs]
    low, high = xs[0], xs[-1]
    if low > 0 and high / low > _WIDE:
        room = (high / low) ** 0.04
        across = Axis(scale="log", low=low / room, high=high * room, ticks=ticks)
    else:
        room = 0.04 * ((high - low) or 1.0)
        across = Axis(low=low - room, high=high + room, ticks=ticks)
    if panel.may_be_log and values and max(values) / min(values) > _WIDE:
        up = Axis(scale="log", low=min(values) / 1.2, high=1.2 * max(values))
    else:
        up = Axis(low=0, high=round_up(1.08 * max([*values, panel.level or 0])) or 1.0)
    arms = [
        each
        for number, sweep in enumerate(group)
        for figure_row in panel.figures
        for each in _arm(sweep, figure_row, line_style(number), panel.unit, len(group))
    ]
    expected = (
        [Series(style=_EXPECTED, x=xs, y=[panel.slope * x for x in xs])] if panel.slope else []
    )
    notes = "; p95 dark, average faint" if panel.may_be_log else ""
    log = ", log scale" if up.scale == "log" else ""
    return Chart(
        panel.title.lower().replace(" ", "-"),
        panel.title,
        f"{panel.unit}{log}, by {parameter}{notes}",
        f"{panel.title} by {parameter}. The figures are in the table.",
        size="middle",
        x=replace(across, title=parameter),
        y=up,
        series=[*expected, *arms],
        bands=untrusted_bands(points, across),
        marks=[Mark(axis="y", at=panel.level, dash=(1, 3))] if panel.level is not None else [],
    )


def _arm(
    sweep: SweepAnswer, figure_row: _Figure, style: LineStyle, unit: str, n_arms: int
) -> Iterator[Series]:
    """Its line through the points that are trusted, and those that are not, beside it."""
    is_named = n_arms > 1
    name = " ".join(filter(None, [sweep.name * is_named, figure_row.name]))
    line, apart = [], []
    for point in sweep.points:
        value, link = figure_row.read(point), f"&repeats={point.test_id}#test-{point.test_id}"
        text = "" if value is None else f"{figure(value)} {unit}"
        if point.is_trusted or value is None:
            low, high = (figure_row.ends(point) if point.is_trusted else None) or (None, None)
            line.append((point.value, value, low and max(0.0, low), high, text, link))
        else:
            line.append((point.value, None, None, None, "", link))
            words = f"{text}, not trusted: {point.why}"
            label = sweep.name if is_named and not figure_row.is_second else ""
            apart.append((point.value, value, words, label, link))
    yield Series(
        name=name,
        style=style,
        radius=4,
        end=name if n_arms <= _MOST_NAMED else "",
        faint=figure_row.is_second,
        **columns("x y low high texts links", line),
    )
    if apart:
        points = columns("x y texts labels links", apart)
        faint = figure_row.is_second
        yield Series(name=name, style=DOUBT, look="dots", radius=5, faint=faint, **points)


def untrusted_bands(points: Sequence[SweepPoint], axis: Axis) -> list[Band]:
    """The neighbouring values at which runs have ended and no arm is trusted, up to half of the way
    to the next ones that are."""
    xs = sorted({point.value for point in points})
    sound = {point.value for point in points if point.is_trusted}
    doubtful = {point.value for point in points if point.why} - sound
    between = [sqrt(a * b) if axis.scale == "log" else (a + b) / 2 for a, b in pairwise(xs)]
    edges = [axis.low, *between, axis.high]
    bands = []
    for is_doubted, some in groupby(range(len(xs)), key=lambda n: xs[n] in doubtful):
        if is_doubted:
            first, *_, last = [*some] * 2
            bands.append(
                Band(low=edges[first], high=edges[last + 1], look="hatch", label="not trusted")
            )
    return bands
