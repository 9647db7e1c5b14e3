"""Every trial of a search as a mark: its rate against a response time, both on log scales. At the
left the way up to the first answer, at the right what is around the limit; under it, on the same
axis, the searches, and how busy everyone was. Positions in percent of each drawing; see drawings.
The marks of a search's trials: how each looks, what it says, and where its number fits. Positions
in percent of the drawing; see drawings. How busy everyone was in each trial, under the trials and
on their axis of rates."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from math import ceil, floor, log10

from campaigns.domain.analysis.busy import Busy
from campaigns.domain.analysis.capacity import FEWEST_SEARCHES, TrialResult
from campaigns.domain.analysis.capacity_interval import CapacityInterval
from campaigns.domain.plan.threshold import SHARES, Threshold
from campaigns.domain.presentation.capacity_words import RESULT_WORDS
from campaigns.domain.units import figure, ms, percent, rate
from campaigns.queries.search_busy import BusyByRun
from campaigns.queries.searches import MadeTrial, SearchReport
from campaigns.views.drawings import LineStyle, line_style

_BUSY_TOP, _BUSY_BOTTOM = 8.0, 84.0
_TICKS = (0.0, 0.5, 1.0)
_NAMES = {
    "target_cpu": "target CPU",
    "injector_cpu": "injector CPU",
    "network": "network",
}


@dataclass(frozen=True, slots=True)
class BusyDot:
    x: float
    y: float
    is_counted: bool


@dataclass(frozen=True, slots=True)
class BusyLine:
    """`pieces` join the dots of trials that count."""

    name: str
    style: LineStyle
    dots: list[BusyDot]
    pieces: list[tuple[BusyDot, BusyDot]]


@dataclass(frozen=True, slots=True)
class BusyTrial:
    """Where the crosshair finds a trial, and what it reads there."""

    number: int
    x: float
    said: str


@dataclass(frozen=True, slots=True)
class BusyPanel:
    lines: list[BusyLine]
    trials: list[BusyTrial]
    y_ticks: list[tuple[float, str]]


def _busy_panel(
    made: Sequence[MadeTrial], busy: BusyByRun, at_x: Callable[[float], float]
) -> BusyPanel | None:
    """`at_x`: where a rate lies. None where nobody told anything."""
    by_rate = sorted(made, key=lambda each: each.trial.rate_per_s)
    lines = [
        line
        for number, name in enumerate(_NAMES)
        if (line := _line(name, line_style(number), by_rate, busy, at_x)).dots
    ]
    if not lines:
        return None
    return BusyPanel(
        lines,
        [_trial(each, busy[each.run.pk], at_x) for each in by_rate],
        [(_at_y(share), f"{100 * share:g}") for share in _TICKS],
    )


def _line(
    name: str,
    style: LineStyle,
    made: Sequence[MadeTrial],
    busy: BusyByRun,
    at_x: Callable[[float], float],
) -> BusyLine:
    dots = [
        BusyDot(
            at_x(each.trial.rate_per_s), _at_y(share), each.trial.result != TrialResult.UNTRUSTED
        )
        for each in made
        if (share := getattr(busy[each.run.pk], name)) is not None
    ]
    counted = [dot for dot in dots if dot.is_counted]
    return BusyLine(_NAMES[name], style, dots, list(pairwise(counted)))


def _trial(made: MadeTrial, busy: Busy, at_x: Callable[[float], float]) -> BusyTrial:
    told = [(words, getattr(busy, name)) for name, words in _NAMES.items()]
    said = ", ".join(
        f"{words} {_whole_percent(share)}" for words, share in told if share is not None
    )
    return BusyTrial(made.run.repeat, at_x(made.trial.rate_per_s), said)


def _whole_percent(share: float) -> str:
    return percent(share, decimals=0)


def _at_y(share: float) -> float:
    return round(_BUSY_BOTTOM - (_BUSY_BOTTOM - _BUSY_TOP) * min(1.0, share), 2)


# Where a dot's number may be, the first choice first: above, to the right, to the left, below. A
# drawing is at least so many px wide and high, a digit and a dot about so many.
_LABEL_PLACES = ((0, -9, "middle"), (8, 4, "start"), (-8, 4, "end"), (0, 18, "middle"))
_DRAWING_PX, _DIGIT_PX, _LETTERS_PX, _DOT_PX = 280, 7, 11, 10


class Shape(StrEnum):
    PASSED = "passed"
    BROKE = "broke"
    GREW = "grew"
    ERRORS = "errors"
    UNTRUSTED = "untrusted"


SHAPE_WORDS = {
    Shape.PASSED: "passed",
    Shape.BROKE: "objective broken",
    Shape.GREW: "and in flight grew",
    Shape.ERRORS: "by errors alone",
    Shape.UNTRUSTED: "not counted",
}


@dataclass(frozen=True, slots=True)
class DotLabel:
    """A text beside a dot: so many px to the right of it and below it, aligned at its `anchor`."""

    text: str
    dx: int
    dy: int
    anchor: str


@dataclass(frozen=True, slots=True)
class TrialDot:
    """`said`: what the crosshair reads of it; `label`: its number, where it is written."""

    number: int
    x: float
    y: float
    shape: Shape
    words: str
    said: str
    label: DotLabel | None = None

    @property
    def misleads(self) -> bool:
        """Its height does not say what came of it."""
        return self.shape in (Shape.ERRORS, Shape.UNTRUSTED)


def trial_dot(made: MadeTrial, x: float, y: float, value_ms: float | None = None) -> TrialDot:
    number, trial = made.run.repeat, made.trial
    time = f", {ms(value_ms * 1000)}" if value_ms else ""
    result = RESULT_WORDS[trial.result]
    reason = f": {trial.reason}" if trial.reason else ""
    return TrialDot(
        number,
        x,
        y,
        _shape_of(made),
        words=f"Trial {number}: {rate(trial.rate_per_s)} requests/s{time}, {result}{reason}",
        said=f"trial {number}: {rate(trial.rate_per_s)}/s{time}, {result}",
    )


def _shape_of(made: MadeTrial) -> Shape:
    if made.trial.result != TrialResult.FAILED:
        is_passed = made.trial.result == TrialResult.PASSED
        return Shape.PASSED if is_passed else Shape.UNTRUSTED
    if made.run.judged and made.run.judged.target.has("in_flight_growing"):
        return Shape.GREW
    broken = broken_by(made)
    return Shape.ERRORS if broken and broken <= set(SHARES) else Shape.BROKE


def broken_by(made: MadeTrial) -> set[str]:
    """The metrics of the rules that the trial broke."""
    return {each.metric for each in made.run.verdicts if each.is_broken and each.is_of_all}


def numbered(dots: Sequence[TrialDot], which: Iterable[TrialDot]) -> list[TrialDot]:
    """`which` of them with their numbers, where these lie on no dot and on no other number."""
    taken = [_box(dot, 0, 0, _DOT_PX, _DOT_PX) for dot in dots]
    wanted = {dot.number for dot in which}
    found = []
    for dot in dots:
        place = _free_place(dot, taken) if dot.number in wanted else None
        if place:
            taken.append(_label_box(dot, *place))
            dot = replace(dot, label=DotLabel(str(dot.number), *place))
        found.append(dot)
    return found


_Box = tuple[float, float, float, float]  # left, right, top, bottom


def _free_place(dot: TrialDot, taken: Sequence[_Box]) -> tuple[int, int, str] | None:
    for place in _LABEL_PLACES:
        box = _label_box(dot, *place)
        if not any(_overlap(box, other) for other in taken):
            return place
    return None


def _label_box(dot: TrialDot, dx: int, dy: int, anchor: str) -> _Box:
    wide = _DIGIT_PX * len(str(dot.number))
    aside = {"start": wide / 2, "end": -wide / 2, "middle": 0}[anchor]
    return _box(dot, dx + aside, dy - _LETTERS_PX / 2, wide, _LETTERS_PX)


def _box(dot: TrialDot, dx: float, dy: float, wide: float, high: float) -> _Box:
    x, y = dot.x * _DRAWING_PX / 100 + dx, dot.y * _DRAWING_PX / 100 + dy
    return x - wide / 2, x + wide / 2, y - high / 2, y + high / 2


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


_STEPS = (1, 2, 5)
_FEW_TICKS, _MOST_TICKS = 3, 8


class LogAxis:
    """From below the smallest of the values to above the largest, `around` as a factor."""

    def __init__(self, values: Sequence[float], start: float, end: float, around: float):
        self._low, self._high = min(values) / around, max(values) * around
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        share = log10(value / self._low) / log10(self._high / self._low)
        return round(self._start + (self._end - self._start) * min(1.0, max(0.0, share)), 2)

    def ticks(self) -> list[tuple[float, str]]:
        """1, 2 and 5 of each decade; of a short axis a number of equal steps."""
        decades = range(floor(log10(self._low)), ceil(log10(self._high)) + 1)
        values = [step * 10.0**decade for decade in decades for step in _STEPS]
        values = [value for value in values if self._low <= value <= self._high]
        if len(values) < _FEW_TICKS:
            values = self._even()
        elif len(values) > _MOST_TICKS:
            values = [value for value in values if log10(value).is_integer()]
        return [(self.at(v), f"{v:,.0f}" if v >= 100 else figure(v, 2)) for v in values]

    def _even(self) -> list[float]:
        size = (self._high - self._low) / 7
        decade = 10.0 ** floor(log10(size))
        step = next(n * decade for n in (1, 2, 5, 10) if n * decade >= size)
        first = ceil(self._low / step)
        return [n * step for n in range(first, floor(self._high / step) + 1)]


_LEFT, _RIGHT, _TOP, _BOTTOM = 2.0, 97.0, 6.0, 88.0
_AROUND = 1.1  # as a factor, beside the outermost values
_NARROW_AROUND = 1.02
_IN_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_FIRST_SEARCHES = range(1, FEWEST_SEARCHES + 1)


@dataclass(frozen=True, slots=True)
class SearchRow:
    """One search on the axis of the rates: its trials, and where it ended as (from, width). The
    last row is that of all together."""

    name: str
    dots: list[TrialDot]
    box: tuple[float, float] | None
    words: str


@dataclass(frozen=True, slots=True)
class SearchPanel:
    """`band` is the interval as (from, width), or what the other panel shows; `answer` is its line
    with its words, `now` that of the trial under way; `objective` is (height, words)."""

    title: str
    dots: list[TrialDot]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    objective: tuple[float, str] | None
    band: tuple[float, float] | None = None
    answer: tuple[float, str] | None = None
    now: float | None = None
    searches: tuple[SearchRow, ...] = ()
    busy: BusyPanel | None = None


@dataclass(frozen=True, slots=True)
class SearchDrawing:
    """`shapes`: those that occur, in the order of the key."""

    metric: str
    panels: list[SearchPanel]

    @property
    def shapes(self) -> list[Shape]:
        found = {dot.shape for panel in self.panels for dot in panel.dots}
        return [shape for shape in Shape if shape in found]


@dataclass(frozen=True, slots=True)
class _Timed:
    made: MadeTrial
    value_ms: float

    @property
    def rate_per_s(self) -> float:
        return self.made.trial.rate_per_s


def search_drawing(
    report: SearchReport, busy: BusyByRun, now_per_s: float | None = None
) -> SearchDrawing | None:
    """`now_per_s`: the rate of the trial under way. None without a trial with response times."""
    metric, limit_ms = _of_objective(report.rules)
    timed = [_Timed(each, v) for each in report.made if (v := ms_of(each, metric))]
    if not timed:
        return None
    if any(each.made.search is None for each in timed):
        panel = _panel("By their rate", timed, limit_ms, _AROUND, now_per_s, busy=busy)
        return SearchDrawing(metric, [panel])
    near = [each for each in timed if each.made.search]
    way_up = [each for each in timed if not each.made.search]
    if not near:
        panel = _panel("On the way up", way_up, limit_ms, _AROUND, now_per_s, busy=busy)
        return SearchDrawing(metric, [panel])
    rates = [each.rate_per_s for each in near]
    low, high = (min(rates), max(rates))
    shown = [each for each in timed if low <= each.rate_per_s <= high]
    left = _panel("On the way up", way_up, limit_ms, _AROUND, wash=(low, high))
    right = _panel(
        "Around the limit", shown, limit_ms, _NARROW_AROUND, now_per_s, report=report, busy=busy
    )
    return SearchDrawing(metric, [left, right])


def _panel(
    title: str,
    timed: Sequence[_Timed],
    limit_ms: float,
    around: float,
    now_per_s: float | None = None,
    *,
    wash: tuple[float, float] | None = None,
    report: SearchReport | None = None,
    busy: BusyByRun | None = None,
) -> SearchPanel:
    """`busy`: as the lowest part of the panel."""
    rates = [each.rate_per_s for each in timed] + [now_per_s] * bool(now_per_s)
    found = report.capacity if report else None
    if found:
        rates.append(found.rate_per_s)
    if found and found.low is not None:
        wash = (found.low, found.high)
        rates += wash
    x = LogAxis(rates, _LEFT, _RIGHT, around)
    y = LogAxis([t.value_ms for t in timed] + [limit_ms] * bool(limit_ms), _BOTTOM, _TOP, _AROUND)
    dots = [_dot(each, x, y) for each in timed]
    return SearchPanel(
        title,
        numbered(dots, dots if report is None else [dot for dot in dots if dot.misleads]),
        x.ticks(),
        y.ticks(),
        (y.at(limit_ms), f"objective {ms(limit_ms * 1000)}") if limit_ms else None,
        _span(x, *wash) if wash else None,
        (x.at(found.rate_per_s), _answer_words(found)) if found else None,
        x.at(now_per_s) if now_per_s else None,
        tuple(_rows(report, x)) if report else (),
        _busy_panel([each.made for each in timed], busy, x.at) if busy else None,
    )


def _dot(timed: _Timed, x: LogAxis, y: LogAxis) -> TrialDot:
    return trial_dot(timed.made, x.at(timed.rate_per_s), y.at(timed.value_ms), timed.value_ms)


def _answer_words(found: CapacityInterval) -> str:
    if found.low is None:
        return f"about {rate(found.rate_per_s)}"
    return f"{rate(found.rate_per_s)}, shaded: {rate(found.low)} to {rate(found.high)}"


def _rows(report: SearchReport, x: LogAxis) -> Iterator[SearchRow]:
    """Of each search but the first, those to come while it goes on, and all together."""
    last = max(each.search for each in report.made)
    for number in range(1, last + 1):
        trials = [each for each in report.made if each.search == number]
        done = report.answer.searches[number - 1 : number]
        yield SearchRow(
            str(number),
            [trial_dot(each, x.at(each.trial.rate_per_s), 50) for each in trials],
            _span(x, done[0].low, done[0].high) if done else None,
            f"{rate(done[0].low)} to {rate(done[0].high)}" if done else "so far",
        )
    if report.ending is None:
        yield from (SearchRow(str(n), [], None, "waits") for n in _FIRST_SEARCHES if n > last)
    found = report.capacity
    if found and found.low is not None:
        words = f"{rate(found.low)} to {rate(found.high)}"
        yield SearchRow(f"all {found.n_searches}", [], _span(x, found.low, found.high), words)


def _span(x: LogAxis, low: float, high: float) -> tuple[float, float]:
    return x.at(low), round(x.at(high) - x.at(low), 2)


def _of_objective(rules: tuple[Threshold, ...]) -> tuple[str, float]:
    """The first response time of the objective and its limit in ms; p95 and 0 without one."""
    for rule in rules:
        if rule.metric in ("p50", "p95", "p99", "mean") and rule.is_of_all:
            return rule.metric, rule.limit * _IN_MS[rule.unit]
    return "p95", 0.0


def ms_of(made: MadeTrial, metric: str) -> float | None:
    value_us = getattr(made.run, f"{metric}_us")
    return value_us and value_us / 1000
