"""Charts of what is not response times: a plan's load, one request's waterfall, the target's
machine over all runs of a campaign, and how an interval narrows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from campaigns.core.drawings import round_up
from campaigns.domain.metrics.machine_use import MachineRun, MachineRuns
from campaigns.domain.plan.load_curve import LoadCurve
from campaigns.domain.presentation.charts import (
    Axis,
    Band,
    Chart,
    Charts,
    LineStyle,
    Mark,
    Places,
    Series,
    columns,
)
from campaigns.domain.units import figure, number, second_text
from campaigns.probes.queries.probes import ProbePhase

# The last part of a load without a planned end is dotted.
_SOLID_SHARE = 0.7
_INK = LineStyle("ink")


def load_charts(curve: LoadCurve, unit: str, sentence: str) -> Charts:
    """The load of one run; single arrivals are dots at the foot."""
    points, n_weak = list(curve.points), 0
    if curve.is_open_ended:
        (start, _), (end, level) = points[-2:]
        points.insert(-1, (start + (end - start) * _SOLID_SHARE, level))
        n_weak = 1
    begin, arrivals = curve.begin_s, curve.arrivals_s
    by_second = dict(points)
    series = [
        Series(
            style=_INK,
            width=2,
            weak=[False] * (len(points) - n_weak) + [True] * n_weak,
            **columns("x y", points),
        )
    ]
    if arrivals:
        series.append(
            Series(style=_INK, look="foot", radius=1.5, x=arrivals, y=[0.0] * len(arrivals))
        )
    hatched = "; hatched = warm-up, not counted" if begin < 0 else ""
    return Charts(
        "load",
        "Load of one run",
        panels=[
            Chart(
                "load",
                "Load of one run",
                unit,
                sentence,
                size="load",
                x=Axis(title="second", low=begin, high=curve.end_s),
                y=Axis(high=round_up(1.15 * curve.peak)),
                series=series,
                bands=[Band(low=begin, high=0, look="hatch")] if begin < 0 else [],
                marks=[Mark(at=0, colour="line-control")] if begin < 0 else [],
                reads=[f"{level:,.4g} {unit}" for level in by_second.values()],
                note=f"{sentence} Seconds on the x axis{hatched}.",
            )
        ],
        places=Places(x=list(by_second), at=[f"{second:,.4g} s" for second in by_second]),
    )


_PARTS = {
    "redirects": "part-outline",
    "dns": "part-dns",
    "close": "part-dns",
    "connect": "part-connect",
    "tls": "https",
    "send": "ink",
}


def waterfall_charts(parts: Sequence[ProbePhase]) -> Charts | None:
    """One row a part, on one axis of ms; None without an answer."""
    if not parts:
        return None
    rows = range(1, len(parts) + 1)
    spans = [(p.start_us / 1000, (p.start_us + p.duration_us) / 1000) for p in parts]
    last = max(end for _, end in spans) or 0.001
    return Charts(
        "waterfall",
        "Waterfall of the response time's parts",
        panels=[
            Chart(
                "waterfall",
                "Waterfall",
                "ms since the request began",
                "Waterfall of the response time's parts. The table below has the figures.",
                size="low" if len(parts) < 5 else "middle",
                x=Axis(title="ms", low=0, high=1.02 * last),
                y=Axis(
                    low=len(parts) + 0.6,
                    high=0.4,
                    ticks=[(row, part.name) for row, part in zip(rows, parts, strict=True)],
                ),
                series=[
                    Series(
                        name=part.name,
                        style=LineStyle(_PARTS.get(part.name, "part-wait")),
                        look="span",
                        x=[end],
                        y=[row],
                        left=[begin],
                        right=[end],
                        end=f"{part.duration_ms} ms",
                        texts=[f"{part.duration_ms} ms"],
                    )
                    for row, part, (begin, end) in zip(rows, parts, spans, strict=True)
                ],
            )
        ],
        places=Places(
            x=list(dict.fromkeys(end for _, end in spans)),
            at=[f"{figure(end)} ms" for end in dict.fromkeys(end for _, end in spans)],
        ),
    )


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


def machine_run_charts(told: MachineRuns, name_of: Callable[[MachineRun], str]) -> Charts | None:
    """What the target's machine did, one run after another, each as wide as it has steps. None
    where it told nothing that is drawn."""
    gap = max(1.0, _GAP_SHARE * sum(run.n_steps for run in told.runs))
    begins, x = [], 0.0
    for run in told.runs:
        begins.append(x)
        x += run.n_steps + gap
    bands = [
        Band(low=begin, high=begin + run.n_steps, label=name_of(run))
        for run, begin in zip(told.runs, begins, strict=True)
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
            y=_machine_axis(told, names, whole_above),
            series=[
                Series(
                    name=names[key],
                    style=LineStyle("ink", dash),
                    look="steps",
                    width=1.4,
                    end=names[key] if len(names) > 1 else "",
                    **_steps(told.runs, begins, key),
                )
                for key, dash in zip(filter(told.tells, names), _DASHES, strict=False)
            ],
            bands=[replace(band, label="") for band in bands],
        )
        for title, unit, names, whole_above in _PANELS
        if any(map(told.tells, names))
    ]
    if not panels:
        return None
    panels[-1] = replace(panels[-1], bands=bands)
    places = [
        (begin + step.number, f"{name_of(run)}, {second_text(step.number * told.step_s)}")
        for run, begin in zip(told.runs, begins, strict=True)
        for step in run.steps
    ]
    return Charts(
        "machine-runs",
        "The target's machine over all runs",
        panels=panels,
        places=Places(x=[at for at, _ in places], at=[words for _, words in places]),
    )


def _machine_axis(told: MachineRuns, names: dict[str, str], whole_above: float | None) -> Axis:
    steps = [step for run in told.runs for step in run.steps]
    highest = max(getattr(step, name) or 0.0 for step in steps for name in names)
    if whole_above is not None and highest > whole_above:
        return Axis(low=0, high=100)
    return Axis(high=round_up(1.05 * highest))


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


def funnel_panel(
    key: str, title: str, looks: Sequence[dict[str, Any]], end_s: float, axis: Axis, names: str
) -> Chart:
    """How an interval narrows over the time of the turns: `looks` have seconds, ratio, low and
    high. `names`: of the line where both are equal, "" without it."""
    rows = [
        (min(end_s, each["seconds"]), each["ratio"], each["low"], each["high"]) for each in looks
    ]
    texts = [f"{figure(best)} [{figure(low)}, {figure(high)}]" for _, best, low, high in rows]
    return Chart(
        key,
        title,
        "",
        f"How the interval narrows{': ' * bool(title)}{title}.",
        size="funnel",
        x=Axis(title="second", low=0, high=end_s),
        y=axis,
        series=[
            Series(style=_INK, look="area", **columns("x y low high", rows)),
            Series(style=_INK, texts=texts, **columns("x y", rows)),
        ],
        marks=[Mark(axis="y", at=1, label=names)] if names else [],
    )


def funnel_charts(key: str, panels: Sequence[Chart]) -> Charts:
    seconds = sorted({x for panel in panels for x in panel.series[0].x})
    return Charts(
        key,
        "How the answer settles",
        panels,
        Places(x=seconds, at=[f"{number(each, 0)} s" for each in seconds]),
        in_columns=len(panels) > 1,
    )
