"""How long turns must be, and how hard the arms can be pressed, so that none spills into others.

A turn is as short as possible, because the noise of a machine comes in spells. It must hold enough
requests for a median, and nearly all of them must end in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from statistics import median

from campaigns.domain.analysis.side_by_side import MOST_SPILLED, builds_up, spilled_share
from campaigns.domain.metrics.rounds import ArmsRound
from campaigns.domain.plan.turns import REQUESTS_OF_A_TURN, SHORTEST_TURN_S

# They divide a second, so that each of an arm's own seconds holds whole turns.
_LENGTHS_S = (SHORTEST_TURN_S, 0.2, 0.25, 0.5)
_LONGEST_PAUSE_S = 0.5
_PAUSE_OF_P95 = 1.2
_LOWEST_SHARE = 1 / 32


@dataclass(frozen=True, slots=True)
class Pace:
    """`gap_s` after each turn nobody sends, so that slow replies arrive. `rate_per_s` is None in a
    closed load. `slowest_share`: a turn holds enough requests at this share of the rate too.
    `keeps_time`: no pause is longer than a turn. `keeps_up`: None until tried."""

    slice_s: float
    gap_s: float = 0.0
    rate_per_s: float | None = None
    asked_per_s: float | None = None
    lowest_per_s: float = 0.0
    slowest_share: float = 1.0
    keeps_time: bool = False
    is_fixed: bool = False
    keeps_up: bool | None = None

    @classmethod
    def first(
        cls,
        rate_per_s: float | None,
        slice_s: float | None = None,
        *,
        may_lower: bool = True,
        slowest_share: float = 1.0,
        keeps_time: bool = False,
    ) -> "Pace":
        """`slice_s`: as somebody asked for, not to be changed."""
        lowest_per_s = (rate_per_s or 0.0) * (_LOWEST_SHARE if may_lower else 1)
        length_s = slice_s or _length_for(rate_per_s, slowest_share)
        rates = rate_per_s, rate_per_s, lowest_per_s, slowest_share
        return cls(length_s, 0.0, *rates, keeps_time, is_fixed=slice_s is not None)

    def round_s(self, n_arms: int) -> float:
        return n_arms * (self.slice_s + self.gap_s)


def whole_length_s(wanted_s: float) -> float:
    """Of a turn of at least so long; beyond half a second whole seconds."""
    fitting = (each for each in _LENGTHS_S if each >= wanted_s - 1e-9)
    return next(fitting, float(ceil(wanted_s - 1e-9)))


def _length_for(rate_per_s: float | None, share: float) -> float:
    return whole_length_s(0.0 if rate_per_s is None else REQUESTS_OF_A_TURN / rate_per_s / share)


def next_pace(pace: Pace, rounds: Sequence[ArmsRound], p95_s: float) -> Pace:
    """What to try after these rounds; the same pace, as kept up with, where they were good.

    A pause after each turn lets what is left over end, and costs less than a longer turn while it
    is shorter: many short rounds tell more than few long ones. Longer turns spill a smaller share.
    `p95_s`: of the responses of the slowest arm.
    """
    pace = replace(pace, keeps_up=None)
    arms = list(zip(*(each.arms for each in rounds), strict=True))
    fewest = min(median(each.n + each.failed for each in turns) for turns in arms)
    if pace.rate_per_s is None and fewest < REQUESTS_OF_A_TURN and not pace.is_fixed:
        longer_s = whole_length_s(pace.slice_s * REQUESTS_OF_A_TURN / max(fewest, 1))
        if longer_s > pace.slice_s:
            return replace(pace, slice_s=longer_s)
    grows = pace.rate_per_s is not None and any(map(builds_up, arms))
    share, longest_s = max(map(spilled_share, arms)), _LENGTHS_S[-1]
    if not grows and share <= MOST_SPILLED:
        return replace(pace, keeps_up=True)
    if not grows:
        gap_s = ceil(100 * _PAUSE_OF_P95 * p95_s) / 100
        longer_s = min(2 * pace.slice_s, longest_s)
        helps = share * pace.slice_s <= MOST_SPILLED * longest_s and pace.rate_per_s is not None
        if not pace.gap_s and gap_s <= pace.slice_s:
            return replace(pace, gap_s=gap_s)
        if helps and not pace.is_fixed and longer_s > pace.slice_s:
            return replace(pace, slice_s=whole_length_s(longer_s))
        if not (pace.gap_s or pace.keeps_time) and p95_s <= _LONGEST_PAUSE_S:
            return replace(pace, gap_s=gap_s)
    return _slower(pace) or replace(pace, keeps_up=False)


def _slower(pace: Pace) -> Pace | None:
    """Half the rate; None where there is none, or it is low already."""
    if pace.rate_per_s is None or pace.rate_per_s <= pace.lowest_per_s:
        return None
    rate_per_s = pace.rate_per_s / 2
    length_s = pace.slice_s if pace.is_fixed else _length_for(rate_per_s, pace.slowest_share)
    return replace(pace, slice_s=length_s, gap_s=0.0, rate_per_s=rate_per_s)
