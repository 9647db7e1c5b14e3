"""The table of a test: a row per run, their mean, and all requests pooled; and of a run's steps.

Minimum and maximum are single requests: they are in the pooled row and never averaged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from campaigns.domain import units
from campaigns.domain.analysis.ratio import mean_interval, one_request_explains, outlier_flags
from campaigns.domain.metrics.figures import SHOWN_PERCENTILES, Figures, figures_of
from campaigns.domain.metrics.measurement import Measurement, parts_of
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.percentiles import NO_TIMES, Shown, name, shown, why_not_shown
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.tables import (
    NO_RUN,
    Cell,
    Column,
    Figure,
    Row,
    Table,
    column_cells,
    count_cell,
    empty,
)
from campaigns.domain.units import are_apart, figure, in_ms, ms, percent

_KEYS = (
    "mean",
    "min",
    *(name(q) for q in SHOWN_PERCENTILES),
    "max",
    "rate",
    "duration",
    "errors",
    "n",
)
_COUNTED = "Counts are not averaged; see the pooled row."
_SOME_WEAK = (
    "In some of the runs it includes the delays of a busy machine; their rows say how much."
)
_TIMES = ("mean", *map(name, SHOWN_PERCENTILES), "max")
_OVERLOAD = "Every run measured overload, so no verdict uses these response times."


@dataclass(frozen=True, slots=True)
class Line:
    """One row before rounding. `figures` None: nothing measured, and `why` says why.

    `why_weak`: why its times are weak however many requests there are.
    """

    label: str
    figures: Figures | None = None
    kind: str = "run"
    why: str = ""
    note: str = ""
    link: dict[str, Any] = field(default_factory=dict)
    is_counted: bool = True
    why_weak: str = ""


def latency_table(
    key: str,
    title: str,
    lines: Sequence[Line],
    pooled: Figures | None,
    *,
    is_sound: bool = True,
    noun: str = "requests",
    flows: Sequence[tuple[str, Figures]] = (),
) -> Table:
    """Run rows, then the mean row over the counted ones, then the pooled row, then those of flows
    by name.

    Not sound: all that counts are runs of an overloaded target. `noun`: what is counted.
    """
    counted_runs = [line.figures for line in lines if line.is_counted and line.figures]
    notes = _outlier_notes(lines)
    run_rows = [_figures_of_line(line) for line in lines]
    nothing = {key: Figure(None, NO_RUN) for key in _KEYS}
    whole = [
        _mean_figures(counted_runs) if counted_runs else nothing,
        figures_by_key(pooled) if pooled else nothing,
        *(figures_by_key(figures) for _, figures in flows),
    ]
    if any(line.is_counted and line.why_weak for line in lines):
        whole = [_with_weak(each, _SOME_WEAK) for each in whole]
    all_cells = _rounded_columns([*run_rows, *whole])
    of_mean, of_pooled, *of_flows = all_cells[len(lines) :]
    rows = [
        # A judgement in short has no full stop; before another sentence it needs one.
        Row(
            line.label,
            cells,
            "run",
            f"{line.note.removesuffix('.')}. {note}" if line.note and note else line.note or note,
            line.link,
        )
        for line, note, cells in zip(lines, notes, all_cells, strict=False)
    ]
    mean = f"Mean of {units.counted(len(counted_runs), 'runs')}" if counted_runs else "Mean"
    rows.append(Row(mean, of_mean, "mean", mean_note(counted_runs)))
    label = f"Pooled, {units.counted(pooled.n, noun)}" if pooled else "Pooled"
    rows.append(Row(label, of_pooled, "pooled"))
    rows += [
        Row(f"{name}, pooled", cells, "flow", link={"flow": name})
        for (name, _), cells in zip(flows, of_flows, strict=True)
    ]
    n_left_out = sum(1 for line in lines if line.figures and not line.is_counted)
    runs = "1 run is" if n_left_out == 1 else f"{n_left_out} runs are"
    left_out = f"{runs} shown but not part of mean and pooled; the row says why."
    note = (left_out if n_left_out else "") if is_sound else _OVERLOAD
    table = Table(key, title, _columns(), tuple(rows), "run", note)
    return table.with_ends_told().said_of(noun)


def mean_texts(lines: Sequence[Line], pooled: Figures | None) -> list[str]:
    """What `latency_table` has in its column of means for each line, without the work for the
    others."""
    none = Figure(None)
    of_lines = [_mean(line.figures) if line.figures else none for line in lines]
    means = [
        each for each, line in zip(of_lines, lines, strict=True) if line.is_counted and each.value
    ]
    whole = _average(means, none) if means else none
    column = column_cells([*of_lines, whole, _mean(pooled) if pooled else none])
    return [cell.text for cell in column[: len(lines)]]


def line_cells(lines: Sequence[Line], keys: Sequence[str]) -> list[tuple[Cell, ...]]:
    """The cells of some of the columns, line by line, for a list that lays its table out itself."""
    return _rounded_columns([_figures_of_line(line) for line in lines], keys)


def steps_table(measurement: Measurement, why_weak: str = "") -> Table:
    """All steps first, then the parts of the run. `why_weak`: as in `Line`."""
    lines = [Line("All steps", measurement.figures, kind="total", why_weak=why_weak)]
    for part in parts_of(measurement):
        figures = figures_of(part.total, measurement.duration_s)
        lines.append(Line(part.label, figures, part.kind, link=part.link, why_weak=why_weak))
    rows = tuple(
        Row(line.label, cells, line.kind, line.note, line.link)
        for line, cells in zip(lines, line_cells(lines, _KEYS), strict=True)
    )
    return (
        Table("steps", "Steps", _columns(), rows, "step")
        .with_ends_told()
        .said_of(measurement.plan.nouns)
    )


def addresses_table(
    by_address: Mapping[str, Total], duration_s: float, noun: str = "requests", why_weak: str = ""
) -> Table:
    """A row for each address that load went to; no rows where it did not go over several."""
    lines = [
        Line(address, figures_of(total, duration_s), kind="address", why_weak=why_weak)
        for address, total in by_address.items()
    ]
    rows = tuple(
        Row(line.label, cells, line.kind)
        for line, cells in zip(lines, line_cells(lines, _KEYS), strict=True)
    )
    table = Table("addresses", "By address", _columns(), rows, "address")
    return table.with_ends_told().said_of(noun)


def _columns() -> tuple[Column, ...]:
    return tuple(METRICS[key].column() for key in _KEYS)


def _figures_of_line(line: Line) -> dict[str, Figure]:
    if line.figures is None:
        return {key: Figure(None, line.why) for key in _KEYS}
    return _with_weak(figures_by_key(line.figures), line.why_weak)


def _with_weak(by_key: dict[str, Figure], why: str) -> dict[str, Figure]:
    """The same with weak times, if there is a reason to. One with both ends tells what is known."""
    weak = {key: by_key[key] for key in _TIMES if why and by_key[key].value}
    return by_key | {
        key: replace(each, weak=True, why=why)
        for key, each in weak.items()
        if not are_apart(each.low, each.value)
    }


def figures_by_key(run: Figures) -> dict[str, Figure]:
    """Every column of one run or of pooled ones, in the column's unit."""
    no_time = "" if run.n else NO_TIMES
    return {
        "mean": _mean(run),
        "min": Figure(in_ms(run.min_us), no_time),
        "max": Figure(in_ms(run.max_us), no_time),
        **{name(q): _percentile(q, run) for q in SHOWN_PERCENTILES},
        "rate": Figure(run.rate_per_s, "Nothing was measured."),
        "duration": Figure(run.duration_s),
        "errors": Figure(run.errors),
        "n": Figure(run.n),
    }


def _mean(run: Figures) -> Figure:
    why = "" if run.n else NO_TIMES
    return Figure(in_ms(run.mean_us), why, low=in_ms(run.low_us("mean")))


def _percentile(q: int, run: Figures) -> Figure:
    verdict, why = shown(run.n, q), why_not_shown(run.n, q)
    if verdict is Shown.NO:
        return Figure(None, why)
    low = in_ms(run.low_us(name(q)))
    return Figure(in_ms(run.percentiles.get(q)), why, weak=verdict is Shown.WEAK, low=low)


def _mean_figures(runs: Sequence[Figures]) -> dict[str, Figure]:
    """Means of run-level values; runs that do not count are absent, not 0."""
    rows = list(map(figures_by_key, runs))
    fewest = min(rows, key=lambda row: row["n"].value)
    means = {key: _average([row[key] for row in rows], fewest[key]) for key in _KEYS}
    return means | dict.fromkeys(("errors", "n"), Figure(None, _COUNTED))


def _average(figures: Sequence[Figure], fewest: Figure) -> Figure:
    """`fewest`: that of the fewest requests, which is the weakest."""
    if any(each.value is None for each in figures):
        return replace(fewest, value=None, low=None)
    low = None
    if any(each.low is not None for each in figures):
        low = fmean(each.value if each.low is None else each.low for each in figures)
    return replace(fewest, value=fmean(each.value for each in figures), low=low)


def _rounded_columns(
    rows: Sequence[dict[str, Figure]], keys: Sequence[str] = _KEYS
) -> list[tuple[Cell, ...]]:
    """The cells row by row; each column rounded by itself."""
    columns = []
    for key in keys:
        figures = [row[key] for row in rows]
        columns.append(
            [
                (empty(each.why) if each.value is None else count_cell(int(each.value)))
                for each in figures
            ]
            if key in {"errors", "n"}
            else column_cells(figures)
        )
    return [tuple(column[index] for column in columns) for index in range(len(rows))]


def mean_note(runs: Sequence[Figures]) -> str:
    """The interval between runs of the average, in words."""
    means = [run.mean_us for run in runs if run.mean_us is not None]
    if not means:
        return ""
    interval = mean_interval(means)
    if interval.low is None:
        return "1 run: it describes only itself."
    return (
        f"95 % interval of the average: {figure(interval.low / 1000)} to "
        f"{ms(interval.high)} (t over {interval.k} runs, CV {percent(interval.cv)})."
    )


def _outlier_notes(lines: Sequence[Line]) -> list[str]:
    indices = [
        index
        for index, line in enumerate(lines)
        if line.is_counted and line.figures and line.figures.mean_us is not None
    ]
    notes = [""] * len(lines)
    if len(indices) < 3:
        return notes
    runs = [lines[index].figures for index in indices]
    means, counts = [run.mean_us for run in runs], [run.n for run in runs]
    flags = outlier_flags(means)
    maxima = [float(run.max_us) for run in runs]
    for row, index in enumerate(indices):
        if flags[row]:
            notes[index] = "Look at this run: its average is off the others'" + (
                f"; one request of {ms(maxima[row])} explains it."
                if one_request_explains(means, counts, maxima, row)
                else "."
            )
    return notes
