"""What a target's machine did over all runs of a campaign, drawn one run after another: x in
percent of the width, y in px from the top. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from campaigns.domain.measured.machine_runs import MachineRun, MachineRuns, MachineStep
from campaigns.domain.shown.machine_runs_table import (
    machine_means_table,
    machine_runs_table,
    namer_of_runs,
)
from campaigns.domain.shown.results import Answer
from campaigns.models import Campaign
from campaigns.queries.machine_runs import runs_beside_each_other
from campaigns.views.drawings import TICK_STEPS, Tick, round_up

TOP, FLOOR = 8.0, 108.0
_GAP = 0.6  # percent between two runs
_MOST_GAPS = 30.0  # percent of all gaps together
_LETTER, _LETTER_ON_PHONE = 0.75, 3.0  # percent of a letter of a label


@dataclass(frozen=True, slots=True)
class Band:
    """Where a run is; `label` is "" if it would not fit, and `is_tight` if it would not on a
    phone."""

    x: float
    width: float
    name: str
    label: str
    is_tight: bool = False


@dataclass(frozen=True, slots=True)
class MachineLine:
    """`path`: of an SVG, with a horizontal piece for each step."""

    name: str
    dash: str
    path: str


@dataclass(frozen=True, slots=True)
class MachinePanel:
    title: str
    unit: str
    lines: list[MachineLine]
    y_ticks: list[Tick]


@dataclass(frozen=True, slots=True)
class MachineDrawing:
    bands: list[Band]
    panels: list[MachinePanel]


# Of each panel: the lines' names by the figure that they draw, and the value above which its axis
# goes to 100 %.
_PANELS = (
    ("CPU", "% of all cores", {"cpu": "all", "system": "system", "watched": "processes"}, 40.0),
    ("Memory", "% used", {"memory": "used"}, 0.0),
    ("Network", "MB a second", {"received": "received", "sent": "sent", "loopback": "loopback"},
     None),
)  # fmt: skip
_DASHES = ("", "5 3", "1 3")


def machine_drawing(told: MachineRuns, name_of: Callable[[MachineRun], str]) -> MachineDrawing:
    # Each run as wide as it has steps.
    n_gaps = len(told.runs) - 1
    gap = min(_GAP, _MOST_GAPS / n_gaps) if n_gaps else 0.0
    per_step = (100 - gap * n_gaps) / sum(run.n_steps for run in told.runs)
    bands, x = [], 0.0
    for run in told.runs:
        name, width = name_of(run), per_step * run.n_steps
        label = next((each for each in (name, str(run.position)) if _fits(each, width)), "")
        is_tight = not _fits(label, width, _LETTER_ON_PHONE)
        bands.append(Band(round(x, 3), round(width, 3), name, label, is_tight))
        x += width + gap
    panels = [
        _panel(title, unit, names, told, bands, whole_above)
        for title, unit, names, whole_above in _PANELS
        if any(map(told.tells, names))
    ]
    return MachineDrawing(bands, panels)


def _fits(label: str, width: float, letter: float = _LETTER) -> bool:
    return letter * len(label) <= width


def _panel(
    title: str,
    unit: str,
    names: dict[str, str],
    told: MachineRuns,
    bands: Sequence[Band],
    whole_above: float | None,
) -> MachinePanel:
    shown = [name for name in names if told.tells(name)]
    steps = [step for run in told.runs for step in run.steps]
    highest = max(getattr(step, name) or 0.0 for step in steps for name in shown)
    is_whole = whole_above is not None and highest > whole_above
    top = 100.0 if is_whole else 1.05 * highest
    y_step = round_up(top / 2, TICK_STEPS)
    n_ticks = -int(-top // y_step)

    def y(value: float) -> float:
        return round(FLOOR - (FLOOR - TOP) * value / (y_step * n_ticks), 1)

    lines = [
        MachineLine(
            names[name], dash, _path(told.runs, bands, lambda step, of=name: getattr(step, of), y)
        )
        for name, dash in zip(shown, _DASHES, strict=False)
    ]
    ticks = [Tick(y(y_step * n), f"{y_step * n:,g}") for n in range(n_ticks + 1)]
    return MachinePanel(title, unit, lines, ticks)


def _path(
    runs: Sequence[MachineRun],
    bands: Sequence[Band],
    read: Callable[[MachineStep], float | None],
    y: Callable[[float], float],
) -> str:
    """Interrupted between runs, and where nothing was told."""
    pieces: list[str] = []
    for run, band in zip(runs, bands, strict=True):
        width, last = band.width / run.n_steps, None
        for step in run.steps:
            if (value := read(step)) is None:
                continue
            begin, end = (round(band.x + width * (step.number + n), 2) for n in (0, 1))
            move = "L" if last == step.number - 1 else "M"
            pieces.append(f"{move}{begin:g} {y(value):g}H{end:g}")
            last = step.number
    return "".join(pieces)


def machine_runs_section(campaign: Campaign, answer: Answer) -> dict[str, Any] | None:
    """None where fewer than two runs were told."""
    told = runs_beside_each_other(campaign)
    if told is None:
        return None
    name_of = namer_of_runs(answer.tests)
    drawing, table = machine_drawing(told, name_of), machine_runs_table(told, name_of)
    means = machine_means_table(told, answer.tests)
    return {"told": told, "drawing": drawing, "means": means, "table": table}
