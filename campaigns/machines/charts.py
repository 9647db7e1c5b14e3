"""The target's machine over all runs of a campaign."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from campaigns.core.drawings import round_up
from campaigns.domain.metrics.machine import MachineRun, MachineRuns
from campaigns.domain.presentation.charts import (
    Axis,
    Band,
    Chart,
    Charts,
    LineStyle,
    Places,
    Series,
    columns,
)
from campaigns.domain.units import figure, second_text

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
    axis = Axis(low=0, high=x - gap, ticks=[(-1.0, "")], title="Run")
    panels = [
        Chart(
            title.lower(),
            title,
            unit,
            f"{title} of the target's machine in every run. The table below has the means.",
            size="low",
            x=axis,
            y=_machine_axis(runs, names, whole_above),
            series=[
                Series(
                    name=names[key],
                    style=LineStyle("ink", dash),
                    look="steps",
                    width=1.4,
                    end=names[key] if len(names) > 1 else "",
                    **columns("x y texts", _points(runs.runs, begins, key)),
                )
                for key, dash in zip(filter(runs.tells, names), _DASHES, strict=False)
            ],
            bands=[replace(band, label="") for band in bands],
        )
        for title, unit, names, whole_above in _PANELS
        if any(map(runs.tells, names))
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


def _machine_axis(runs: MachineRuns, names: dict[str, str], whole_above: float | None) -> Axis:
    steps = [step for run in runs.runs for step in run.steps]
    highest = max(getattr(step, name) or 0.0 for step in steps for name in names)
    if whole_above is not None and highest > whole_above:
        return Axis(low=0, high=100)
    return Axis(high=round_up(1.05 * highest))


def _points(
    runs: Sequence[MachineRun], begins: Sequence[float], key: str
) -> Iterator[tuple[float, float | None, str]]:
    """Interrupted between runs, and where nothing was told."""
    for run, begin in zip(runs, begins, strict=True):
        for x, y in _of_run(run, begin, key):
            yield x, y, "" if y is None else figure(y)


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
