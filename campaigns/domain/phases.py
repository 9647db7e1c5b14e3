"""The phases of a run whose injectors do not all send all the time: one for each set of them that
is at work, as the Uniserve study splits its test R99.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from campaigns.domain.cells import Figure, column_cells, count_cell
from campaigns.domain.metrics import METRICS
from campaigns.domain.tables import Cell, Row, Table

# Shorter than a boundary can be known.
_LEAST_S = 0.001
_FIGURES = ("interval", "mean", "min", "max", "rate")
_COLUMNS = ("begins", "duration", "n", *_FIGURES)
_ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
_NO_SECOND = "No whole second of an injector lies within this phase."
_SHARED_OUT = "Requests of a second that a boundary cuts are shared out by time."


@dataclass(frozen=True, slots=True)
class Span:
    """When an injector was at work, s from the start of the measurement."""

    injector: int
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Part:
    """What one injector saw in one second: ok requests, their response times in µs."""

    injector: int
    second: int
    n: int
    sum_us: int = 0
    min_us: int = 0
    max_us: int = 0


@dataclass(slots=True)
class Phase:
    """`injectors` are those at work. `is_shared_out`: a boundary cut a second that `n` is of."""

    injectors: tuple[int, ...]
    start_s: float
    end_s: float
    n: int = 0
    is_shared_out: bool = False
    whole: list[Part] = field(default_factory=list)

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s


def find_phases(spans: Sequence[Span], parts: Iterable[Part]) -> list[Phase]:
    """The phases in their order, with what was seen in each; the numbers add up to all."""
    phases = _windows(spans)
    by_injector = {span.injector: span for span in spans}
    for part in parts:
        if part.n and part.injector in by_injector:
            _give(part, by_injector[part.injector], phases)
    return phases


def _windows(spans: Sequence[Span]) -> list[Phase]:
    edges = sorted({edge for span in spans for edge in (span.start_s, span.end_s)})
    phases: list[Phase] = []
    for start, end in pairwise(edges):
        middle = (start + end) / 2
        active = tuple(s.injector for s in spans if s.start_s < middle < s.end_s)
        if not active or end - start < _LEAST_S:
            continue
        if phases and phases[-1].injectors == active:
            phases[-1].end_s = end
        else:
            phases.append(Phase(active, start, end))
    return phases


def _give(part: Part, span: Span, phases: Sequence[Phase]) -> None:
    """The part to the phases of its injector, by the time that it has in each."""
    start, end = max(part.second, span.start_s), min(part.second + 1, span.end_s)
    overlaps = [
        (phase, min(end, phase.end_s) - max(start, phase.start_s))
        for phase in phases
        if part.injector in phase.injectors
    ]
    touched = [(phase, overlap) for phase, overlap in overlaps if overlap > _LEAST_S]
    if len(touched) == 1:
        touched[0][0].n += part.n
        touched[0][0].whole.append(part)
    elif touched:
        _share_out(part.n, touched)
    else:  # after its injector's end, by a rounding
        nearest = min(phases, key=lambda phase: abs(phase.end_s - start))
        nearest.n += part.n


def _share_out(n: int, touched: Sequence[tuple[Phase, float]]) -> None:
    """Whole requests by largest remainder, so that nothing is lost."""
    whole_s = sum(overlap for _, overlap in touched)
    exact = [n * overlap / whole_s for _, overlap in touched]
    counts = [int(value) for value in exact]
    most_left = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for index in most_left[: n - sum(counts)]:
        counts[index] += 1
    for (phase, _), count in zip(touched, counts, strict=True):
        phase.n += count
        phase.is_shared_out = True


def phases_table(phases: Sequence[Phase]) -> Table:
    """A row for each phase and one of the whole run; no rows where there are no two phases."""
    rows = [_figures(phase) for phase in phases] if len(phases) > 1 else []
    if rows:
        rows.append(_whole(phases))
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
        label_title="injectors at work",
        note="Response times are of the seconds that lie wholly within a phase. "
        "A rate over a phase is not that of the run.",
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
    return _of(phase.n, phase.duration_s, phase.whole)


def _whole(phases: Sequence[Phase]) -> dict[str, Figure]:
    parts = [part for phase in phases for part in phase.whole]
    return _of(sum(phase.n for phase in phases), sum(p.duration_s for p in phases), parts)


def _of(n: int, duration_s: float, parts: Sequence[Part]) -> dict[str, Figure]:
    timed = sum(part.n for part in parts)
    ends = "No request ended in this phase."
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
