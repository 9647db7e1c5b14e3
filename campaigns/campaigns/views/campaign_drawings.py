"""What the campaign page draws of arms beside one another: texts, and marks in percent of the
width. The protocol ladder of a target, what its rungs cost the server in CPU time, and the matrix
of several targets, on one axis. What the target's machine did, run after run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import inf
from typing import Any

from campaigns.core.drawings import LinearAxis, RatioAxis, round_up, split_rows_bars
from campaigns.domain.metrics.figures import TYPICAL
from campaigns.domain.metrics.machine import MachineRun, MachineRuns
from campaigns.domain.plan.rungs import Section
from campaigns.domain.presentation.charts import (
    Axis,
    Band,
    Chart,
    Charts,
    LineStyle,
    Places,
    Series,
    columns,
    line_style,
)
from campaigns.domain.presentation.intervals import change_ends
from campaigns.domain.presentation.ladder import (
    MEAN,
    SECTION_TITLES,
    Ladder,
    LadderRung,
    RungStep,
    own_cpu_cells,
    parts_of,
    step_cells,
)
from campaigns.domain.presentation.machine_table import (
    machine_means_table,
    machine_runs_table,
    namer_of_runs,
)
from campaigns.domain.presentation.results import TestAnswer
from campaigns.domain.presentation.target_matrix import (
    MatrixCell,
    TargetMatrix,
    difference_interval,
    difference_words,
    interval_words,
    mean_words,
)
from campaigns.domain.units import figure, number, second_text, with_unit

_NOTES = {
    Section.NEW: "every request opens one",
    Section.KEPT: "connections stay open, so no session is resumed; only records are encrypted",
    Section.PROFILES: "on new connections",
    Section.MANY: "does one slow reply delay the others?",
}


def drawn_ladder(ladder: Ladder | None, threshold: float) -> dict[str, Any] | None:
    """{"sections": [{"key", "title", "note", "rungs", "ticks", "from", "plain_at", "band"}] of the
    rungs one by one; "metric", "metrics": [(one, whether it is shown)]; "parts": bars by section,
    which only means have; "tables"; "like"; "note"}."""
    if ladder is None:
        return None
    sections = [(key, rungs) for key, rungs in ladder.sections if key != Section.MANY]
    return {
        "target": ladder.target,
        "sections": [_section(key, rungs, ladder.decimals, threshold) for key, rungs in sections],
        "metric": ladder.metric,
        "named": "median" if ladder.metric == TYPICAL else ladder.metric,
        "metrics": [(each, each == ladder.metric) for each in ladder.metrics],
        "confidence": ladder.confidence,
        "parts": [_parts(key, rungs) for key, rungs in sections if any(r.mean for r in rungs)]
        if ladder.metric == MEAN
        else [],
        "tables": ladder.page_tables,
        "like": ladder,
        "note": ladder.note,
    }


def _section(
    key: Section, rungs: Sequence[LadderRung], decimals: int, threshold: float
) -> dict[str, Any]:
    # Plain HTTP of the section, which of other profiles stands in another one.
    values = (rung.value.mean for rung in rungs if rung.is_plain and rung.value)
    steps = (rung.plain.times_us[0] for rung in rungs if rung.plain and rung.plain.ratio)
    plain_us = next(chain(values, steps), None)
    plain_ms = None if plain_us is None else plain_us / 1000
    band = (plain_ms / (1 + threshold), plain_ms * (1 + threshold)) if plain_ms else ()
    whiskers = {rung.test_id: _whisker_ms(rung) for rung in rungs}
    ends = [each for pair in whiskers.values() if pair for each in pair]
    marks = [rung.value.mean / 1000 for rung in rungs if rung.value]
    axis = LinearAxis([*marks, *ends, *band], least=0.0) if marks else None
    rows = [
        _rung(rung, rungs[n - 1] if n else None, axis, whiskers[rung.test_id], decimals)
        for n, rung in enumerate(rungs)
    ]
    note, connects = _NOTES[key], (rung.parts.get("connect") for rung in rungs if rung.is_plain)
    if key == Section.NEW and (connect_us := next(filter(None, connects), None)):
        took = with_unit(figure(connect_us / 1000), "ms")
        note = f"{note}; a TCP handshake, one round trip, took {took}"
    return {
        "key": str(key),
        "title": SECTION_TITLES[key],
        "note": note,
        "rungs": rows,
        "ticks": axis.ticks() if axis else [],
        "starts_at": figure(axis.low) if axis and axis.low else "",
        "plain_at": axis.at(plain_ms) if axis and plain_ms else None,
        "band": axis.span(*band) if axis and band else None,
    }


def _whisker_ms(rung: LadderRung) -> tuple[float, float] | None:
    """The interval of the difference to plain HTTP, at the rung's place; of plain HTTP itself the
    interval of its mean."""
    if rung.value is None:
        return None
    if rung.plain and rung.plain.has_interval:
        plain_ms = rung.plain.times_us[0] / 1000
        return tuple(plain_ms * end for end in rung.plain.row.ends)
    low, high = rung.value.ends
    return (low / 1000, high / 1000) if rung.is_plain and low is not None else None


def _rung(
    rung: LadderRung,
    before: LadderRung | None,
    axis: LinearAxis | None,
    whisker: tuple[float, float] | None,
    decimals: int,
) -> dict[str, Any]:
    """`at`, `before_at`, whisker and bar in percent; None where there is nothing to draw. The bar
    is from the rung before to this one."""
    at = axis.at(rung.value.mean / 1000) if axis and rung.value else None
    before_at = axis.at(before.value.mean / 1000) if axis and before and before.value else None
    low, high = rung.value.ends if rung.value else (None, None)
    bar = None
    if None not in (at, before_at) and at != before_at:
        width = round(abs(at - before_at), 2)
        bar = {"x": min(before_at, at), "width": width, "adds": at > before_at}
    return {
        "rung": rung,
        "value": number(rung.value.mean / 1000, decimals) if rung.value else "",
        "interval": ""
        if low is None
        else f"{number(low / 1000, decimals)} to {number(high / 1000, decimals)}",
        "at": at,
        "before_at": before_at,
        "bar": bar,
        "whisker": whisker and (axis.at(whisker[0]), axis.at(whisker[1])),
        "before": _step(rung.before, decimals),
        "plain": _step(rung.plain, decimals),
    }


def _step(step: RungStep | None, decimals: int) -> dict[str, Any] | None:
    """The texts of a comparison; `is_told`: a word says that the two differ."""
    if step is None or step.ratio is None:
        return None
    ends = change_ends(step.ratio, *step.row.ends) if step.has_interval else ()
    difference, change, *_ = step_cells(step, decimals)
    return {
        "difference": difference.text,
        "change": with_unit(change.text, "%"),
        "interval": " to ".join(ends),
        "word": step.word,
        "why": step.why,
        "is_told": step.is_told,
    }


def _parts(key: Section, rungs: Sequence[LadderRung]) -> dict[str, Any]:
    with_mean = [rung for rung in rungs if rung.mean]
    bars = split_rows_bars(*parts_of(with_mean))
    cells = zip(rungs, own_cpu_cells(rungs), strict=True)
    own = [cell.text for rung, cell in cells if rung.mean]
    bars["rows"] = list(zip(bars["rows"], own, strict=True))
    return {"title": SECTION_TITLES[key], **bars}


_MOST_COLUMNS = 4  # of a matrix
_GAP = 34.0  # percent between two labels: a plot may be 72 px wide


def drawn_matrix(matrix: TargetMatrix | None, threshold: float) -> dict[str, Any] | None:
    """A column's `number` counts from 1 and is what the address calls it.

    {"axis", "has_marks", "is_long": a line for each target, the fastest first, not a column;
    "columns", "n_cells": in a row, beside its plan; "reference": its name; "rows": [(row, [(column,
    cell)])], "overall": the rows of all plans, "has_places": bool, "network": Table or None,
    "like": [LikeLine], "n_unlike"}; a cell is None where a plan has no test of that target."""
    if matrix is None:
        return None
    ends = [_ends(cell) for cell in matrix.cells if _has_interval(cell)]
    axis = RatioAxis([ends], threshold, _GAP, lambda r: number(100 * (r - 1), signed=True))
    columns = [
        {
            "number": n,
            "name": name,
            "style": line_style(n - 1),
            "is_reference": n == matrix.relative,
        }
        for n, name in enumerate(matrix.columns, 1)
    ]
    rows, is_long = [], len(columns) > _MOST_COLUMNS
    for row in matrix.all_rows:
        cells = [
            cell and _cell_drawing(cell, row.best, matrix.decimals, axis) for cell in row.cells
        ]
        pairs = list(zip(columns, cells, strict=True))
        if is_long:  # the fastest first
            times = [cell.mean.mean if cell and cell.mean else inf for cell in row.cells]
            pairs = [pairs[n] for n in sorted(range(len(pairs)), key=times.__getitem__)]
        rows.append((row, pairs))
    return {
        "axis": axis,
        "has_marks": bool(ends),
        "is_long": is_long,
        "columns": columns,
        "n_cells": 2 * len(columns),
        "reference": matrix.columns[matrix.relative - 1],
        "in_turns": matrix.in_turns,
        "has_short": any(cell.is_short for cell in matrix.cells),
        "has_doubt": any(cell.doubt for cell in matrix.cells),
        "rows": rows,
        "overall": matrix.overall,
        "has_places": len({row.place for row in matrix.rows}) > 1,
        "network": matrix.network_table,
        "like": matrix.like,
        "n_unlike": sum(not line.is_alike for line in matrix.like),
    }


def _has_interval(cell: MatrixCell) -> bool:
    return cell.against is not None and bool(difference_interval(cell.against))


def _ends(cell: MatrixCell) -> dict[str, Any]:
    interval = cell.against.interval
    return {"low": interval.low, "high": interval.high, "ratio": interval.ratio, "primary": False}


def _cell_drawing(cell: MatrixCell, best: str, decimals: int, axis: RatioAxis) -> dict[str, Any]:
    """`interval` and `difference_interval` are "" without one, and then `mark` is None."""
    is_best = bool(best) and best == cell.target
    return {
        "mean": mean_words(cell, decimals) if cell.mean else "",
        "interval": interval_words(cell, decimals) if cell.mean else "",
        "difference": difference_words(cell.against) if cell.against else "",
        "difference_interval": difference_interval(cell.against) if cell.against else "",
        "mark": axis.mark(_ends(cell) | {"primary": is_best}) if _has_interval(cell) else None,
        "is_best": is_best,
        "is_short": cell.is_short,
        "why": cell.why,
        "doubt": cell.doubt,
    }


_GAP_SHARE = 0.006  # between two runs, of all steps
# Of each panel: the lines' names by the figure that they draw, and the value above which its axis
# goes to 100 %.
_PANELS = (
    ("CPU", "% of all cores", {"cpu": "all", "system": "system", "watched": "processes"}, 40.0),
    ("Memory", "% used", {"memory": "used"}, 0.0),
    ("Network", "MB a second", {"received": "received", "sent": "sent", "loopback": "loopback"},
     None),
)  # fmt: skip
_DASHES = ((), (5, 3), (1, 3))


def drawn_machine_runs(
    runs: MachineRuns | None, tests: Sequence[TestAnswer]
) -> dict[str, Any] | None:
    """None where fewer than two runs were told."""
    if runs is None:
        return None
    name_of = namer_of_runs(tests)
    charts, table = machine_run_charts(runs, name_of), machine_runs_table(runs, name_of)
    return {
        "told": runs,
        "charts": charts,
        "means": machine_means_table(runs, tests),
        "table": table,
    }


def machine_run_charts(runs: MachineRuns, name_of: Callable[[MachineRun], str]) -> Charts | None:
    """What the target's machine did, one run after another, each as wide as it has steps. None
    where it told nothing that is drawn."""
    gap = max(1.0, _GAP_SHARE * sum(run.n_steps for run in runs.runs))
    begins, x = [], 0.0
    for run in runs.runs:
        begins.append(x)
        x += run.n_steps + gap
    bands = [
        Band(low=begin, high=begin + run.n_steps, label=name_of(run))
        for run, begin in zip(runs.runs, begins, strict=True)
    ]
    steps = [step for run in runs.runs for step in run.steps]
    axis = Axis(low=0, high=x - gap, ticks=[(-1.0, "")], title="Run")
    panels = [
        Chart(
            title.lower(),
            title,
            unit,
            f"{title} of the target's machine in every run. The table below has the means.",
            size="low",
            x=axis,
            y=Axis(low=0, high=100)
            if whole_above is not None and highest > whole_above
            else Axis(high=round_up(1.05 * highest)),
            series=[
                Series(
                    name=names[key],
                    style=LineStyle("ink", dash),
                    look="steps",
                    width=1.4,
                    end=names[key] if len(names) > 1 else "",
                    **_steps(runs.runs, begins, key),
                )
                for key, dash in zip(filter(runs.tells, names), _DASHES, strict=False)
            ],
            bands=[replace(band, label="") for band in bands],
        )
        for title, unit, names, whole_above in _PANELS
        if any(map(runs.tells, names))
        for highest in [max(getattr(step, name) or 0.0 for step in steps for name in names)]
    ]
    if not panels:
        return None
    panels[-1] = replace(panels[-1], bands=bands)
    places = [
        (begin + step.number, f"{name_of(run)}, {second_text(step.number * runs.step_s)}")
        for run, begin in zip(runs.runs, begins, strict=True)
        for step in run.steps
    ]
    return Charts(
        "machine-runs",
        "The target's machine over all runs",
        panels=panels,
        places=Places(x=[at for at, _ in places], at=[words for _, words in places]),
    )


def _steps(runs: Sequence[MachineRun], begins: Sequence[float], key: str) -> dict[str, list[Any]]:
    """Interrupted between runs, and where nothing was told."""
    rows = [
        row for run, begin in zip(runs, begins, strict=True) for row in _of_run(run, begin, key)
    ]
    return columns("x y texts", ((x, y, "" if y is None else figure(y)) for x, y in rows))


def _of_run(run: MachineRun, begin: float, key: str) -> Iterator[tuple[float, float | None]]:
    last: tuple[int, float] | None = None
    for step in run.steps:
        value = getattr(step, key)
        if last and (value is None or step.number != last[0] + 1):
            yield begin + last[0] + 0.999, last[1]
            yield begin + last[0] + 0.9995, None
        last = None if value is None else (step.number, value)
        if value is not None:
            yield begin + step.number, value
    if last:
        yield begin + last[0] + 0.999, last[1]
        yield begin + last[0] + 0.9995, None
