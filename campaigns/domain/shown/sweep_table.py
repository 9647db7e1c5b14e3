"""A sweep: the same plan on the same arm by several numbers of injectors, a row for each."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.lifecycle import TargetState, Trust
from campaigns.domain.measured.figures import Figures
from campaigns.domain.shown.cells import Figure, column_cells, count_cell, text_cell
from campaigns.domain.shown.latency_table import figures_by_key
from campaigns.domain.shown.metrics import METRICS
from campaigns.domain.shown.tables import Cell, Row, Table
from campaigns.domain.units import counted

_FIGURES = ("duration", "interval", "mean", "min", "p50", "p95", "max", "rate", "speed_up")
_COLUMNS = ("n", *_FIGURES, "errors", "measurement", "target_state")
_TONES = {
    Trust.DOUBTFUL: "warn",
    Trust.NOT_USABLE: "bad",
    TargetState.CHANGING: "warn",
    TargetState.OVERLOADED: "warn",
    TargetState.FAILING: "bad",
}
_NO_RUN = "No usable runs yet."
_NOT_JUDGED = "Nothing is said about the target: no measurement can be trusted."


@dataclass(frozen=True, slots=True)
class SweepLine:
    """All usable requests of one number of injectors; `figures` None where there is no such run."""

    injectors: int
    figures: Figures | None
    trust: str
    target_state: str


def injector_words(injectors: int) -> str:
    return counted(injectors, "injector processes")


def sweep_table(key: str, title: str, lines: Sequence[SweepLine]) -> Table:
    """The lines in the order of their numbers of injectors."""
    first = lines[0].figures if lines else None
    rows = [_figures(line.figures, first) for line in lines]
    columns = [column_cells([row[key] for row in rows]) for key in _FIGURES]
    return Table(
        key,
        title,
        tuple(METRICS[each].column() for each in _COLUMNS),
        tuple(
            Row(injector_words(line.injectors), cells, "sweep")
            for line, cells in zip(lines, _rows(lines, columns), strict=True)
        ),
        label_title="injector processes",
        note="Each row pools its usable runs. Injector processes on one host share its cores: "
        "check the measurement before you take a ceiling for the target's.",
    )


def _rows(lines: Sequence[SweepLine], columns: Sequence[Sequence[Cell]]):
    for index, line in enumerate(lines):
        figures = line.figures
        yield (
            count_cell(figures and figures.n, _NO_RUN),
            *(column[index] for column in columns),
            count_cell(figures and figures.errors, _NO_RUN),
            *(
                text_cell(state.replace("_", " "), why, _TONES.get(state, ""))
                for state, why in ((line.trust, _NO_RUN), (line.target_state, _NOT_JUDGED))
            ),
        )


def _figures(figures: Figures | None, first: Figures | None) -> dict[str, Figure]:
    if figures is None:
        return dict.fromkeys(_FIGURES, Figure(None, _NO_RUN))
    rate, base = figures.rate_per_s, first and first.rate_per_s
    return {
        **figures_by_key(figures),
        "interval": Figure(1000 / rate if rate else None, "No request succeeded."),
        "speed_up": Figure(
            rate / base if rate and base else None, "The first row has no rate to compare with."
        ),
    }
