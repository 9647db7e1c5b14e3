"""A sweep as a table: the same plan on the same arm at several values, a row for each."""

from collections.abc import Mapping, Sequence

from campaigns.domain.judged.repeats import MIN_REPEATS
from campaigns.domain.lifecycle import TargetState, Trust
from campaigns.domain.plan.sweep import (
    DIVIDED,
    INJECTORS,
    parameter_label,
    parameter_unit,
    point_words,
    value_text,
)
from campaigns.domain.shown.cells import NO_RUN, Figure, column_cells, count_cell, text_cell
from campaigns.domain.shown.latency_table import figures_by_key
from campaigns.domain.shown.metrics import METRICS
from campaigns.domain.shown.sweep_points import PointAgainst, SweepPoint, end_of_growth
from campaigns.domain.shown.tables import Cell, Column, Row, Table

_TIMES = ("duration", "interval", "mean", "mean_low", "mean_high", "min", "p50", "p95", "max")
_RATES = ("rate", "rate_low", "rate_high")
_DIVIDED = ("speed_up", "efficiency")
_WORDS = ("measurement", "target_state")
_AGAINST = ("difference", "difference_low", "difference_high")
_OWN_COLUMNS = {
    "mean_low": Column("mean_low", "95 % from", "ms"),
    "mean_high": Column("mean_high", "to", "ms"),
    "rate_low": Column("rate_low", "95 % from", "ok requests/s"),
    "rate_high": Column("rate_high", "to", "ok requests/s"),
    "efficiency": Column("efficiency", "efficiency", "%", "Speed-up divided by how much more."),
    "under_way": Column(
        "under_way", "under way", "", "Little's law: throughput × mean response time."
    ),
    "difference": Column("difference", "mean, difference", "%"),
    "difference_low": Column("difference_low", "95 % from", "%"),
    "difference_high": Column("difference_high", "to", "%"),
    "word": Column("word", "word", is_text=True),
    "trusted": Column("trusted", "trusted runs", "", "Of all that ended."),
}
_TONES = {
    Trust.DOUBTFUL: "warn",
    Trust.NOT_USABLE: "bad",
    TargetState.CHANGING: "warn",
    TargetState.OVERLOADED: "warn",
    TargetState.FAILING: "bad",
}
_NOT_JUDGED = "Nothing is said about the target: no measurement can be trusted."
_FEW = f"An interval needs {MIN_REPEATS} repeats."
_NOT_THERE = PointAgainst(why="The reference was not measured at this value.")
_NO_SPEED_UP = "Against the smallest value, which has no trusted rate to compare with."


def injector_words(injectors: int) -> str:
    return point_words(INJECTORS, injectors)


def sweep_table(
    key: str, title: str, field: str, points: Sequence[SweepPoint], reference: str = ""
) -> Table:
    """The points in the order of their values. `reference`: what they are compared with, "" where
    there is nothing to compare with."""
    figured = (*_TIMES, *_RATES, *(_DIVIDED if field in DIVIDED else ()), "under_way")
    rows = [_figures(point) for point in points]
    columns = {name: column_cells([row[name] for row in rows]) for name in figured}
    keys = ("n", *figured, "errors", "trusted", *_WORDS)
    if reference:
        compared = [_differences(point) for point in points]
        columns |= {
            name: column_cells([row[name] for row in compared], decimals=1, signed=True)
            for name in _AGAINST
        }
        keys = (*keys, *_AGAINST, "word")
    ended = end_of_growth(points)
    return Table(
        key,
        title,
        tuple(_OWN_COLUMNS.get(each) or METRICS[each].column() for each in keys),
        tuple(
            Row(
                _label(field, point.value),
                (
                    *_cells(point, [columns[name][index] for name in figured]),
                    *_against_cells(point, columns, index, reference),
                ),
                _kind(point, bool(ended) and ended[0] is point),
            )
            for index, point in enumerate(points)
        ),
        label_title=_label_title(field),
        note=_note(reference),
    )


def _note(reference: str) -> str:
    """Where runs differ, an interval need not lie around the average beside it."""
    against = f"Differences and words are against {reference}. " if reference else ""
    return (
        "Figures are of all requests of a value's runs, intervals and differences of the runs' "
        f"averages. {against}Bold: the first with 95 % of the highest trusted throughput. Grey and "
        "~: not all its runs are trusted, so it has no interval and no speed-up. Injector "
        "processes on one host share its cores."
    )


def _against_cells(
    point: SweepPoint, columns: Mapping[str, Sequence[Cell]], index: int, reference: str
) -> tuple[Cell, ...]:
    if not reference:
        return ()
    against = point.against or _NOT_THERE
    word = text_cell(against.word, against.why)
    return (*(columns[name][index] for name in _AGAINST), word)


def _differences(point: SweepPoint) -> dict[str, Figure]:
    """In percent, of the mean response time."""
    against = point.against or _NOT_THERE
    row = against.mean
    if row is None:
        return dict.fromkeys(_AGAINST, Figure(None, against.why))
    interval = row.interval if row.interval and row.interval.k >= MIN_REPEATS else None
    ends = (interval.low, interval.high) if interval else (None, None)
    return {
        name: Figure(None if ratio is None else 100 * (ratio - 1), row.why or _FEW)
        for name, ratio in zip(_AGAINST, (row.ratio, *ends), strict=True)
    }


def _label(field: str, value: float) -> str:
    return injector_words(int(value)) if field == INJECTORS else value_text(value)


def _label_title(field: str) -> str:
    return ", ".join(filter(None, [parameter_label(field).lower(), parameter_unit(field)]))


def _kind(point: SweepPoint, is_end: bool) -> str:
    if not point.is_trusted:
        return "sweep-apart"
    return "sweep-end" if is_end else "sweep"


def _cells(point: SweepPoint, figured: Sequence[Cell]) -> tuple[Cell, ...]:
    figures = point.figures if point.is_usable else None
    return (
        count_cell(figures and figures.n, NO_RUN),
        *figured,
        count_cell(figures and figures.errors, NO_RUN),
        Cell(point.n_trusted, f"{point.n_trusted} of {point.n_runs}", why=point.why),
        *(
            text_cell(state.replace("_", " "), why, _TONES.get(state, ""))
            for state, why in ((point.trust, NO_RUN), (point.target_state, _NOT_JUDGED))
        ),
    )


def _figures(point: SweepPoint) -> dict[str, Figure]:
    names = (*_TIMES, *_RATES, *_DIVIDED, "under_way")
    if point.figures is None or not point.is_usable:
        return dict.fromkeys(names, Figure(None, point.why or NO_RUN))
    rate = point.figures.rate_per_s
    found = {
        **figures_by_key(point.figures),
        "interval": Figure(1000 / rate if rate else None, "No request succeeded."),
        "under_way": Figure(point.under_way, "No request succeeded."),
        "speed_up": Figure(point.speed_up, point.why or _NO_SPEED_UP),
        "efficiency": Figure(_percent(point.efficiency), point.why or _NO_SPEED_UP),
        **_ends("mean", point.mean_ends_ms, point),
        **_ends("rate", point.rate_ends, point),
    }
    if point.is_trusted:
        return found
    return {
        name: Figure(each.value, f"Not trusted: {point.why}", weak=each.value is not None)
        for name, each in found.items()
    }


def _ends(name: str, ends: tuple[float, float] | None, point: SweepPoint) -> dict[str, Figure]:
    low, high = ends or (None, None)
    why = point.why or _FEW
    return {f"{name}_low": Figure(low, why), f"{name}_high": Figure(high, why)}


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
