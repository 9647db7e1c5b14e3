"""A sweep on the campaign page. Its curves as charts: throughput, response time and what follows
from them by the value. Several arms side by side: a row for each value, the same few figures of
each arm; the cells are those of each sweep's own table, which has all figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from math import sqrt
from typing import Any

from campaigns.core.drawings import round_up
from campaigns.domain.analysis.ratio import BOUNDED
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
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.results import SweepAnswer
from campaigns.domain.presentation.sweep_table import SweepPoint, doubts_table, unfigured
from campaigns.domain.presentation.tables import Cell, Row, Table
from campaigns.domain.units import DASH, figure

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


def drawn_sweeps(
    sweeps: Sequence[SweepAnswer], *, trusted_only: bool = False
) -> list[dict[str, Any]]:
    """The sweeps of one plan and parameter together, their arms on the same axes: [{"sweeps",
    "tables", "parameter", "keys": [(name, style)], "side": their table together, None of one arm,
    "charts": None without figures, "has_apart": whether a point is not trusted, "doubts": the table
    of why, None without one, "unfigured": [(where, why)] beside it}]. `trusted_only`: without the
    points that are not trusted; the axes stay."""
    groups: dict[tuple[str, str], list[SweepAnswer]] = {}
    for sweep in sweeps:
        groups.setdefault((sweep.plan_label, sweep.field), []).append(sweep)
    return [_drawn(group, n, trusted_only) for n, group in enumerate(groups.values(), 1)]


def _drawn(group: Sequence[SweepAnswer], number: int, trusted_only: bool) -> dict[str, Any]:
    field = group[0].field
    return {
        "plan": group[0].plan_label,
        "sweeps": group,
        "parameter": _parameter_words(field),
        "keys": [(each.name, line_style(n)) for n, each in enumerate(group)],
        "tables": [_shown(each.table, trusted_only) for each in group],
        "side": side_by_side(group, trusted_only=trusted_only) if len(group) > 1 else None,
        "charts": _charts(field, group, number, trusted_only),
        "is_divided": field in DIVIDED,
        "has_apart": any(not point.is_trusted for each in group for point in each.points),
        "doubts": doubts_table(group[0].table.key, field, [each.points for each in group]),
        "unfigured": unfigured([(each.name, each.points) for each in group]),
    }


def _shown(table: Table, trusted_only: bool) -> Table:
    rows = tuple(row for row in table.rows if row.kind != "sweep-apart")
    return replace(table, rows=rows) if trusted_only else table


def _parameter_words(field: str) -> str:
    if field == INJECTORS:
        return "number of injector processes"
    words = [parameter_label(field).lower(), parameter_unit(field)]
    return ", ".join(filter(None, words))


def _charts(
    field: str, group: Sequence[SweepAnswer], number: int, trusted_only: bool
) -> Charts | None:
    points = [point for each in group for point in each.points]
    if not any(point.rate_per_s and point.is_usable for point in points):
        return None
    xs = sorted({point.value for point in points})
    parameter = _parameter_words(field)
    return Charts(
        f"sweep-{number}-curves",
        f"Curves by {parameter}",
        keys_words="Enter goes to the runs of the first arm there",
        panels=[_panel(panel, group, parameter, trusted_only) for panel in _panels(field, points)],
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


def _panel(
    panel: _Panel, group: Sequence[SweepAnswer], parameter: str, trusted_only: bool
) -> Chart:
    points = [point for each in group for point in each.points]
    xs = sorted({point.value for point in points})
    across, up = _across(xs), _up(panel, points)
    arms = [
        each
        for number, sweep in enumerate(group)
        for figured in panel.figures
        for each in _arm(sweep, figured, line_style(number), panel.unit, len(group))
        if not (trusted_only and each.style is DOUBT)
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
        f"{panel.title} by {parameter}. The figures are in the table above.",
        size="middle",
        x=replace(across, title=parameter),
        y=up,
        series=[*expected, *arms],
        bands=untrusted_bands(points, across),
        marks=[Mark(axis="y", at=panel.level, dash=(1, 3))] if panel.level is not None else [],
    )


def _across(xs: Sequence[float]) -> Axis:
    ticks = [(x, value_text(x)) for x in xs]
    low, high = xs[0], xs[-1]
    if low > 0 and high / low > _WIDE:
        room = (high / low) ** 0.04
        return Axis(scale="log", low=low / room, high=high * room, ticks=ticks)
    room = 0.04 * ((high - low) or 1.0)
    return Axis(low=low - room, high=high + room, ticks=ticks)


def _up(panel: _Panel, points: Sequence[SweepPoint]) -> Axis:
    """Around every point with its interval, whether it is shown or not."""
    values = [
        value
        for point in points
        for each in panel.figures
        for value in (each.read(point), (each.ends(point) or (0, 0))[1])
        if value
    ]
    if panel.may_be_log and values and max(values) / min(values) > _WIDE:
        return Axis(scale="log", low=min(values) / 1.2, high=1.2 * max(values))
    return Axis(low=0, high=round_up(1.08 * max([*values, panel.level or 0])) or 1.0)


def _arm(
    sweep: SweepAnswer, figured: _Figure, style: LineStyle, unit: str, n_arms: int
) -> Iterator[Series]:
    """Its line through the points that are trusted, and those that are not, beside it."""
    is_named = n_arms > 1
    name = " ".join(filter(None, [sweep.name * is_named, figured.name]))
    line, apart = [], []
    for point in sweep.points:
        value, link = figured.read(point), f"&repeats={point.test_id}#test-{point.test_id}"
        text = "" if value is None else f"{figure(value)} {unit}"
        if point.is_trusted or value is None:
            low, high = (figured.ends(point) if point.is_trusted else None) or (None, None)
            line.append((point.value, value, low and max(0.0, low), high, text, link))
        else:
            line.append((point.value, None, None, None, "", link))
            said = f"{text}, not trusted: {point.why}"
            label = sweep.name if is_named and not figured.is_second else ""
            apart.append((point.value, value, said, label, link))
    yield Series(
        name=name,
        style=style,
        radius=4,
        end=name if n_arms <= _MOST_NAMED else "",
        faint=figured.is_second,
        **columns("x y low high texts links", line),
    )
    if apart:
        points = columns("x y texts labels links", apart)
        faint = figured.is_second
        yield Series(name=name, style=DOUBT, look="dots", radius=5, faint=faint, **points)


def untrusted_bands(points: Sequence[SweepPoint], axis: Axis) -> list[Band]:
    """The neighbouring values at which runs have ended and no arm is trusted, up to half of the way
    to the next ones that are."""
    xs = sorted({point.value for point in points})
    trusted = {point.value for point in points if point.is_trusted}
    doubted = {point.value for point in points if point.why} - trusted
    between = [sqrt(a * b) if axis.scale == "log" else (a + b) / 2 for a, b in pairwise(xs)]
    edges = [axis.low, *between, axis.high]
    bands = []
    for is_doubted, some in groupby(range(len(xs)), key=lambda n: xs[n] in doubted):
        if is_doubted:
            first, *_, last = [*some] * 2
            bands.append(
                Band(low=edges[first], high=edges[last + 1], look="hatch", label="not trusted")
            )
    return bands


_KEYS = ("rate", "mean", "p95", "speed_up", "efficiency", "under_way", "trusted")
_AGAINST = ("difference", "difference_low", "difference_high", "word")
_HEADS = {
    "rate": ("throughput", "ok/s"),
    "mean": ("mean", "ms"),
    "p95": ("p95", "ms"),
    "speed_up": ("speed-up", ""),
    "efficiency": ("efficiency", "%"),
    "under_way": ("under way", ""),
    "trusted": ("trusted", "runs"),
}


@dataclass(frozen=True, slots=True)
class ArmCell:
    """A figure of an arm at one value. `interval` is "" without one; `is_end`: growth ends here."""

    cell: Cell
    interval: str = ""
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class ArmAtValue:
    """`cells` are empty where the arm was not measured at this value; `is_apart`: not trusted."""

    cells: list[ArmCell]
    is_apart: bool = False


@dataclass(frozen=True, slots=True)
class ArmAgainst:
    """How an arm's mean compares with the reference's at one value: texts, "" where there is none.
    `why`: why there is no word."""

    difference: str = ""
    interval: str = ""
    word: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class ValueRow:
    """`against`: of each arm but the reference."""

    label: str
    arms: list[ArmAtValue]
    against: list[ArmAgainst]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """`arms`: [(name, style)]; `relative`: the number of the reference among them, from 1;
    `heads`: [(title, unit)] of each; `compared`: the names of the others, `compared_by`: what is
    compared; `open_why`: why words are missing or open where the points are trusted, each reason
    once."""

    label_title: str
    arms: list[tuple[str, LineStyle]]
    relative: int
    heads: list[tuple[str, str]]
    compared: list[str]
    compared_by: str
    rows: list[ValueRow]
    open_why: list[str]

    @property
    def reference(self) -> str:
        return self.arms[self.relative - 1][0]


def side_by_side(sweeps: Sequence[SweepAnswer], *, trusted_only: bool = False) -> SideBySide:
    """`trusted_only`: without what is not trusted, and without values that have nothing else."""
    keys = [
        key
        for key in _KEYS
        if any(key in [column.key for column in sweep.table.columns] for sweep in sweeps)
    ]
    values = sorted({point.value for sweep in sweeps for point in sweep.points})
    by_value = [_rows_by_value(sweep) for sweep in sweeps]
    labels = {value: row.label for rows in by_value for value, row in rows.items()}
    others = [number for number, sweep in enumerate(sweeps) if sweep.reference]
    rows = []
    for value in values:
        found = [each.get(value) for each in by_value]
        if trusted_only:
            found = [row and (None if row.kind == "sweep-apart" else row) for row in found]
        if any(found) or not trusted_only:
            arms = [_at_value(*each, keys) for each in zip(sweeps, found, strict=True)]
            against = [_against(sweeps[n], by_value[n].get(value)) for n in others]
            rows.append(ValueRow(labels[value], arms, against))
    return SideBySide(
        sweeps[0].table.label_title,
        [(sweep.name, line_style(number)) for number, sweep in enumerate(sweeps)],
        next((n for n, sweep in enumerate(sweeps, 1) if not sweep.reference), 1),
        [_HEADS[key] for key in keys],
        [sweeps[n].name for n in others],
        _compared_by(sweeps),
        rows,
        _open_why(sweeps),
    )


def _compared_by(sweeps: Sequence[SweepAnswer]) -> str:
    every = [point.against for sweep in sweeps for point in sweep.points if point.against]
    metrics = {each.metric for each in every if each.baseline is not None}
    titles = [METRICS[key].title for key in sorted(metrics or {"mean"})]
    return f"{' or '.join(titles)}, response time"


def _open_why(sweeps: Sequence[SweepAnswer]) -> list[str]:
    told = {point.why for sweep in sweeps for point in sweep.points}
    every = [point.against for sweep in sweeps for point in sweep.points if point.against]
    whys = [each.text for each in every if each.word in {None, *BOUNDED}]
    return [why for why in dict.fromkeys(whys) if why and why not in told]


def _against(sweep: SweepAnswer, row: Row | None) -> ArmAgainst:
    if row is None:
        return ArmAgainst()
    difference, low, high, word = (_cells(sweep, row)[key] for key in _AGAINST)
    if difference.value is None:
        return ArmAgainst(word="no verdict", why=difference.why)
    ends = "" if low.value is None else f"[{low.text}, {high.text}]"
    said = "no verdict" if word.value is None else word.text
    return ArmAgainst(f"{difference.text}\N{NARROW NO-BREAK SPACE}%", ends, said, word.why)


def _cells(sweep: SweepAnswer, row: Row) -> Mapping[str, Cell]:
    names = [column.key for column in sweep.table.columns]
    return dict(zip(names, row.cells, strict=True))


def _rows_by_value(sweep: SweepAnswer) -> Mapping[float, Row]:
    return {point.value: row for point, row in zip(sweep.points, sweep.table.rows, strict=True)}


def _at_value(sweep: SweepAnswer, row: Row | None, keys: Sequence[str]) -> ArmAtValue:
    if row is None:
        return ArmAtValue([])
    cells = _cells(sweep, row)
    is_end = row.kind == "sweep-end"
    return ArmAtValue(
        [
            ArmCell(
                cells[key],
                _interval(cells) if key == "rate" else "",
                is_end=is_end and key == "rate",
            )
            for key in keys
        ],
        is_apart=row.kind == "sweep-apart",
    )


def _interval(cells: Mapping[str, Cell]) -> str:
    ends = [cells[key].text for key in ("rate_low", "rate_high")]
    return "" if DASH in ends else " to ".join(ends)
