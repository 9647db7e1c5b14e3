"""How busy everyone was in each trial, under the trials and on their axis of rates. Positions in
percent of the drawing; see drawings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from campaigns.domain.judged.busy import Busy
from campaigns.domain.judged.capacity import TrialResult
from campaigns.domain.units import percent
from campaigns.queries.search_busy import BusyByRun
from campaigns.queries.searches import MadeTrial
from campaigns.views.drawings import LineStyle, line_style

_TOP, _BOTTOM = 8.0, 84.0
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


def busy_panel(
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
    return round(_BOTTOM - (_BOTTOM - _TOP) * min(1.0, share), 2)
