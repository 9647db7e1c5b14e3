"""Is B faster or slower than A? The word for a ratio and its interval, and why there is none. Does
one of them cost the target more, in CPU time or network bytes? The same of an amount for each run.

Method and constants: docs/measuring.md. Values are one per run, never pooled requests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from campaigns.domain.analysis.messages import say
from campaigns.domain.analysis.ratio import (
    BOUNDED,
    RatioInterval,
    Word,
    more_repeats,
    ratio_interval,
    word_of,
)
from campaigns.domain.analysis.repeats import MIN_REPEATS
from campaigns.domain.units import counted

FLOOR_US = 10.0  # a smaller difference of times is no practical one
_MOST = 400  # repeats that a campaign can have


class Reason(StrEnum):
    """Why a comparison has no word."""

    TOO_FEW_REPEATS = "too_few_repeats"
    ORDER_CONFOUNDED = "order_confounded"
    NOT_LIKE_FOR_LIKE = "not_like_for_like"
    ERRORS = "errors"
    UNLIKE_LOAD = "unlike_load"
    NO_ROUNDS = "no_rounds"


@dataclass(frozen=True, slots=True)
class ComparisonVerdict:
    """`text`: why there is no word, or what would settle one that is only bounded; `more`: about
    how many more repeats that takes, None if no number of them is known to. `or_more`: the machine
    hides a part of the difference. `has_size`: else only the direction is known, and `text` says
    why."""

    word: Word | None
    reason: Reason | None = None
    text: str = ""
    more: int | None = None
    or_more: bool = False
    has_size: bool = True


def verdict(
    interval: RatioInterval | None,
    threshold: float,
    *,
    floor: float = FLOOR_US,
    blockers: Sequence[tuple[Reason, str]] = (),
) -> ComparisonVerdict:
    """The verdict for a metric of which less is better (times).

    `threshold` is the practical one (0.05 is 5 %), `floor` the smallest difference, in the values'
    unit, that counts as faster or slower. `blockers` are reasons found elsewhere (order, errors,
    unlike arms): the first one leaves the comparison without a word.
    """
    for reason, text in blockers:
        return ComparisonVerdict(None, reason, text)
    if interval is None or interval.k < MIN_REPEATS:
        k = interval.k if interval else 0
        have = f"; {k} can be used" if k else ""
        return ComparisonVerdict(
            None,
            Reason.TOO_FEW_REPEATS,
            say("too_few_repeats", have=have),
            more=MIN_REPEATS - k,
        )
    word = word_of(interval.low, interval.high, threshold)
    if word in {Word.SLOWER, Word.FASTER}:
        is_tiny = abs(interval.candidate - interval.baseline) <= floor
        return ComparisonVerdict(Word.SAME if is_tiny else word)
    if word is Word.SAME:
        return ComparisonVerdict(word)
    more = more_repeats(interval, threshold)
    unit = "more blocks" if interval.is_paired else "more repeats"
    settle = say("settle", more=counted(more, unit))
    if more > _MOST:
        settle = say("settle_most", more=f"{_MOST} {unit}")
    return ComparisonVerdict(word, text=settle, more=more)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values corrected for multiple comparisons (Holm's step-down), in the same order."""
    corrected, worst = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    for rank, index in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = worst
    return corrected


# The kernel counts CPU time in hundredths of a second.
TICK_S = 0.01
_COST_WORDS = {
    Word.SLOWER: "costs more",
    Word.FASTER: "costs less",
    Word.NOT_SLOWER: "does not cost more",
    Word.NOT_FASTER: "does not cost less",
}


@dataclass(frozen=True, slots=True)
class RunCost:
    """What a run cost: CPU seconds per 1,000 requests, or bytes per request. `step`: the least that
    what was counted can tell apart, in the same unit."""

    amount: float
    step: float


@dataclass(frozen=True, slots=True)
class CostDifference:
    """Means over runs; the interval is of the ratio candidate / baseline. `word` is "" with fewer
    than three repeats of both, or where nothing may be said; `why` says why."""

    baseline: float | None
    candidate: float | None
    interval: RatioInterval | None
    word: str = ""
    why: str = ""

    @property
    def means(self) -> tuple[float | None, float | None]:
        return self.baseline, self.candidate


def cost_difference(
    baseline: Mapping[int, RunCost],
    candidate: Mapping[int, RunCost],
    *,
    paired: bool,
    threshold: float,
    blocker: str = "",
) -> CostDifference:
    """Of the costs by block. `threshold`: the practical one, 0.05 for 5 %. `blocker`: why no word
    may be said whatever the figures are, such as too many errors."""
    arms = [dict(baseline), dict(candidate)]
    if paired:
        both = baseline.keys() & candidate.keys()
        arms = [{repeat: arm[repeat] for repeat in sorted(both)} for arm in arms]
    values = [[each.amount for each in arm.values()] for arm in arms]
    steps = tuple(max((each.step for each in arm.values()), default=0.0) for arm in arms)
    interval = ratio_interval(*values, paired=paired, resolutions=steps) if all(values) else None
    means = [fmean(each) if each else None for each in values]
    return CostDifference(*means, interval, *_cost_word(interval, threshold, blocker))


def _cost_word(interval: RatioInterval | None, threshold: float, blocker: str) -> tuple[str, str]:
    if interval is None or interval.k < MIN_REPEATS:
        return "", say("too_few_repeats", have="")
    if blocker:
        return "", blocker
    word = word_of(interval.low, interval.high, threshold)
    why = say("too_varied") if word in BOUNDED else ""
    return _COST_WORDS.get(word, str(word)), why
