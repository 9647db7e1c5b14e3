"""Every trial of a search as charts: its rate against a response time, both on log scales. First
the way up to the first answer, then what is around the limit; under it, on the same axis, the
searches, and how busy everyone was."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from campaigns.domain.analysis.capacity import FEWEST_SEARCHES, CapacityInterval, TrialResult
from campaigns.domain.plan.threshold import SHARES, Threshold
from campaigns.domain.presentation.capacity_words import RESULT_WORDS
from campaigns.domain.presentation.charts import (
    CROSS,
    DIAMOND,
    DOUBT,
    PASSED,
    STAR,
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
from campaigns.domain.units import ms, percent, rate
from campaigns.search.queries import BusyByRun, MadeTrial, SearchReport

_BUSY = {"target_cpu": "target CPU", "injector_cpu": "injector CPU", "network": "network"}
_IN_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_FIRST_SEARCHES = range(1, FEWEST_SEARCHES + 1)


class Shape(StrEnum):
    PASSED = "passed"
    BROKE = "broke"
    GREW = "grew"
    ERRORS = "errors"
    UNTRUSTED = "untrusted"


_LOOKS: dict[Shape, tuple[LineStyle, str]] = {
    Shape.PASSED: (PASSED, "passed"),
    Shape.BROKE: (CROSS, "objective broken"),
    Shape.GREW: (STAR, "and in flight grew"),
    Shape.ERRORS: (DIAMOND, "by errors alone"),
    Shape.UNTRUSTED: (DOUBT, "not counted"),
}
# Their height does not say what came of them.
_MISLEADING = {Shape.ERRORS, Shape.UNTRUSTED}


@dataclass(frozen=True, slots=True)
class _Timed:
    made: MadeTrial
    value_ms: float

    @property
    def rate_per_s(self) -> float:
        return self.made.trial.rate_per_s

    @property
    def link(self) -> str:
        return f"&trials=all#trial-{self.made.run.repeat}"

    @property
    def shape(self) -> Shape:
        if self.made.trial.result != TrialResult.FAILED:
            is_passed = self.made.trial.result == TrialResult.PASSED
            return Shape.PASSED if is_passed else Shape.UNTRUSTED
        if self.made.run.judged and self.made.run.judged.target.has("in_flight_growing"):
            return Shape.GREW
        broken = broken_by(self.made)
        return Shape.ERRORS if broken and broken <= set(SHARES) else Shape.BROKE


def broken_by(made: MadeTrial) -> set[str]:
    """The metrics of the rules that the trial broke."""
    return {each.metric for each in made.run.verdicts if each.is_broken and each.is_of_all}


def ms_of(made: MadeTrial, metric: str) -> float | None:
    value_us = getattr(made.run, f"{metric}_us")
    return value_us and value_us / 1000


def search_charts(
    report: SearchReport, busy: BusyByRun, now_per_s: float | None = None
) -> list[Charts]:
    """`now_per_s`: the rate of the trial under way. None without a trial with response times."""
    metric, limit_ms = objective_of(report.rules)
    timed = [_Timed(each, v) for each in report.made if (v := ms_of(each, metric))]
    if not timed:
        return []
    near = [each for each in timed if each.made.search]
    way_up = [each for each in timed if not each.made.search]
    is_single = any(each.made.search is None for each in timed)
    if is_single or not near:
        title = "By their rate" if is_single else "On the way up"
        trials = _trials(title, timed, metric, limit_ms, now_per_s)
        return [_group(1, [trials, *_busy_panel(timed, busy)], timed)]
    rates = [each.rate_per_s for each in near]
    low, high = min(rates), max(rates)
    shown = [each for each in timed if low <= each.rate_per_s <= high]
    found = report.capacity
    around = _trials("Around the limit", shown, metric, limit_ms, now_per_s, found, few_labels=True)
    left = _trials("On the way up", way_up, metric, limit_ms, band=Band(low=low, high=high))
    right = [around, _searches(report, shown), *_busy_panel(shown, busy)]
    return [_group(1, [left], way_up), _group(2, right, shown)]


def _group(number: int, panels: Sequence[Chart], timed: Sequence[_Timed]) -> Charts:
    x = sorted({each.rate_per_s for each in timed})
    return Charts(
        f"trials-{number}",
        panels[0].title,
        keys_words="Enter goes to the trial's row",
        panels=panels,
        places=Places(x=x, at=[f"{rate(each)}/s" for each in x]),
    )


def _trials(
    title: str,
    timed: Sequence[_Timed],
    metric: str,
    limit_ms: float,
    now_per_s: float | None = None,
    found: CapacityInterval | None = None,
    *,
    band: Band | None = None,
    few_labels: bool = False,
) -> Chart:
    marks, bands = [], [band] if band else []
    if limit_ms:
        label = f"objective {ms(limit_ms * 1000)}"
        marks.append(Mark(axis="y", at=limit_ms, label=label, colour="bad", dash=(5, 4)))
    if found:
        marks.append(Mark(at=found.rate_per_s, label=_answer_words(found), colour="ink"))
        if found.low is not None:
            bands.append(Band(low=found.low, high=found.high))
    if now_per_s:
        label = "" if found else "now"
        marks.append(Mark(at=now_per_s, label=label, colour="accent", dash=(2, 3)))
    series = list(_shapes(timed, few_labels=few_labels))
    return Chart(
        "trials",
        title,
        f"{metric} in ms by intended requests/s",
        f"{title}: {metric} of the trials by their rate. The figures are in the table below.",
        size="full",
        x=Axis(scale="log", title="Rate"),
        y=Axis(scale="log"),
        series=series,
        marks=marks,
        bands=bands,
        keys=[look for shape, look in _LOOKS.items() if any(t.shape == shape for t in timed)],
    )


def _shapes(
    timed: Sequence[_Timed], level: float | None = None, *, few_labels: bool = False
) -> Iterator[Series]:
    """A series for each shape that occurs. `level`: their height in place of their time."""
    for shape, (style, _) in _LOOKS.items():
        some = [each for each in timed if each.shape == shape]
        has_labels = level is None and (shape in _MISLEADING or not few_labels)
        if some:
            rows = ((each.rate_per_s, level or each.value_ms, each.link) for each in some)
            yield Series(
                style=style,
                look="dots",
                radius=4.5,
                texts=[_said(each) for each in some] if level is None else (),
                labels=[str(each.made.run.repeat) for each in some] if has_labels else (),
                **columns("x y links", rows),
            )


def _said(timed: _Timed) -> str:
    number, result = timed.made.run.repeat, RESULT_WORDS[timed.made.trial.result]
    return f"trial {number}: {ms(timed.value_ms * 1000)}, {result}"


def _answer_words(found: CapacityInterval) -> str:
    if found.low is None:
        return f"about {rate(found.rate_per_s)}"
    return f"{rate(found.rate_per_s)}, shaded: {rate(found.low)} to {rate(found.high)}"


def _searches(report: SearchReport, shown: Sequence[_Timed]) -> Chart:
    """A row for each search but the first, those to come while it goes on, and all together."""
    last = max(each.search for each in report.made)
    names: list[str] = []
    series: list[Series] = []

    def add(name: str, timed: Sequence[_Timed], ends: tuple[float, float] | None, words: str):
        names.append(name)
        level = float(len(names))
        series.extend(_shapes(timed, level))
        if ends:
            left, right = [ends[0]], [ends[1]]
            box = Series(look="box", x=right, y=[level], left=left, right=right, end=words)
            series.append(box)

    for number in range(1, last + 1):
        trials = [each for each in shown if each.made.search == number]
        done = report.answer.searches[number - 1 : number]
        ends = (done[0].low, done[0].high) if done else None
        add(str(number), trials, ends, f"{rate(ends[0])} to {rate(ends[1])}" if ends else "")
    if report.ending is None:
        for number in (each for each in _FIRST_SEARCHES if each > last):
            add(str(number), [], None, "")
    found = report.capacity
    if found and found.low is not None:
        words = f"{rate(found.low)} to {rate(found.high)}"
        add(f"all {found.n_searches}", [], (found.low, found.high), words)
    n = len(names)
    return Chart(
        "searches",
        "Searches",
        "each in a window of its own, shifted at random; box: where it ended",
        "Where each search ended. The figures are in the table below.",
        size="low" if n < 5 else "middle",
        x=Axis(scale="log"),
        # The first on top.
        y=Axis(low=n + 0.6, high=0.4, ticks=[(k, name) for k, name in enumerate(names, 1)]),
        series=series,
    )


def _busy_panel(timed: Sequence[_Timed], busy: BusyByRun) -> list[Chart]:
    """[] where nobody told anything."""
    by_rate = sorted(timed, key=lambda each: each.rate_per_s)
    series = [
        each
        for number, name in enumerate(_BUSY)
        for each in _busy_line(name, line_style(number), by_rate, busy)
    ]
    if not series:
        return []
    return [
        Chart(
            "busy",
            "Utilization",
            "% of capacity",
            "Utilization of target, injectors and network in each trial by its rate.",
            size="low",
            x=Axis(scale="log"),
            y=Axis(low=0, high=100, ticks=[(0, "0"), (50, "50"), (100, "100")]),
            series=series,
            keys=[(each.style, each.name) for each in series if each.look == "line"],
        )
    ]


def _busy_line(
    name: str, style: LineStyle, timed: Sequence[_Timed], busy: BusyByRun
) -> Iterator[Series]:
    """Through the trials that count, and those that do not beside it."""
    told = [
        (each.rate_per_s, share, each.shape != Shape.UNTRUSTED)
        for each in timed
        if (share := getattr(busy[each.made.run.pk], name)) is not None
    ]
    for is_counted, look, drawn in ((True, "line", style), (False, "dots", DOUBT)):
        some = [
            (x, 100 * min(1.0, share), percent(share, decimals=0))
            for x, share, counted in told
            if counted is is_counted
        ]
        if some or (told and is_counted):
            points = columns("x y texts", some)
            yield Series(name=_BUSY[name], style=drawn, look=look, radius=4, **points)


def objective_of(rules: tuple[Threshold, ...]) -> tuple[str, float]:
    """The first response time of the objective and its limit in ms; p95 and 0 without one."""
    for rule in rules:
        if rule.metric in ("p50", "p95", "p99", "mean") and rule.is_of_all:
            return rule.metric, rule.limit * _IN_MS[rule.unit]
    return "p95", 0.0
