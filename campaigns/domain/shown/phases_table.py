"""The table of a run's phases."""

from collections.abc import Sequence

from campaigns.domain.measured.phases import Part, Phase
from campaigns.domain.shown.cells import Figure, column_cells, count_cell
from campaigns.domain.shown.metrics import METRICS
from campaigns.domain.shown.tables import Cell, Row, Table

_FIGURES = ("interval", "mean", "min", "max", "rate")
_COLUMNS = ("begins", "duration", "n", *_FIGURES)
_ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
_NO_SECOND = "This phase contains no complete second of any injector process."
_SHARED_OUT = "A second cut by a boundary is split in proportion to time."


def phases_table(phases: Sequence[Phase]) -> Table:
    """A row for each phase and one of the whole run; no rows where there are no two phases."""
    rows = [_figures(phase) for phase in phases] if len(phases) > 1 else []
    if rows:
        rows.append(_figures_of_all(phases))
    shown = [*phases, None][: len(rows)]
    begins = column_cells([Figure(phase.start_s if phase else 0.0) for phase in shown], decimals=2)
    times = column_cells([row["duration"] for row in rows], decimals=2)
    columns = [
        column_cells([row[key] for row in rows], decimals=1 if key == "rate" else None)
        for key in _FIGURES
    ]
    counts = [_count(phase, phases) for phase in shown]
    cells = zip(begins, times, counts, *columns, strict=True)
    labels = [_label(index, phase) for index, phase in enumerate(shown)]
    return Table(
        "phases",
        "Phases",
        tuple(METRICS[key].column() for key in _COLUMNS),
        tuple(
            Row(label, each, "phase" if phase else "total")
            for label, each, phase in zip(labels, cells, shown, strict=True)
        ),
        label_title="processes at work",
        note="Response times come from seconds entirely within a phase. "
        "The rate of a phase is not that of the run.",
    )


def _label(index: int, phase: Phase | None) -> str:
    if phase is None:
        return "All phases"
    roman = _ROMAN[index] if index < len(_ROMAN) else str(index + 1)
    return f"{roman}: {' + '.join(str(number + 1) for number in phase.injectors)}"


def _count(phase: Phase | None, phases: Sequence[Phase]) -> Cell:
    if phase is None:
        return count_cell(sum(each.n for each in phases))
    cell = count_cell(phase.n)
    if not phase.is_shared_out:
        return cell
    return Cell(cell.value, f"≈ {cell.text}", why=_SHARED_OUT)


def _figures(phase: Phase) -> dict[str, Figure]:
    return _figures_of_phase(phase.n, phase.duration_s, phase.whole)


def _figures_of_all(phases: Sequence[Phase]) -> dict[str, Figure]:
    parts = [part for phase in phases for part in phase.whole]
    return _figures_of_phase(
        sum(phase.n for phase in phases), sum(p.duration_s for p in phases), parts
    )


def _figures_of_phase(n: int, duration_s: float, parts: Sequence[Part]) -> dict[str, Figure]:
    timed = sum(part.n for part in parts)
    ends = "Nothing ended in this phase."
    return {
        "duration": Figure(duration_s),
        "rate": Figure(n / duration_s),
        "interval": Figure(1000 * duration_s / n if n else None, ends),
        "mean": Figure(sum(p.sum_us for p in parts) / timed / 1000 if timed else None, _NO_SECOND),
        "min": Figure(
            min((p.min_us for p in parts), default=0) / 1000 if timed else None, _NO_SECOND
        ),
        "max": Figure(
            max((p.max_us for p in parts), default=0) / 1000 if timed else None, _NO_SECOND
        ),
    }
