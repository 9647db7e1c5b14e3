"""Is B faster or slower than A? One of four verdict words for a ratio and its interval, and why.
Does one of them cost the target more, in CPU time or network bytes? The same of an amount for each
run.

Method and constants: docs/measuring.md. Values are one per run, never pooled requests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import log
from statistics import fmean

from campaigns.domain.analysis.advice import CHANCE, MOST, Advice, advice, difference_words
from campaigns.domain.analysis.ratio import (
    OddRun,
    RatioInterval,
    Word,
    is_clear,
    is_same,
    ratio_interval,
)
from campaigns.domain.analysis.repeats import MIN_REPEATS
from campaigns.domain.units import counted, figure, percent

FLOOR_US = 200.0  # a smaller difference of times is not called faster or slower


class Reason(StrEnum):
    """Why a comparison is inconclusive."""

    TOO_FEW_REPEATS = "too_few_repeats"
    CI_TOO_WIDE = "ci_too_wide"
    SIZE_UNCERTAIN = "direction_certain_size_not"
    ORDER_CONFOUNDED = "order_confounded"
    NOT_LIKE_FOR_LIKE = "not_like_for_like"
    INVALID_RUNS = "invalid_runs"
    ONE_RUN_DECIDES = "one_run_decides"
    RESOLUTION = "resolution"
    ERRORS = "errors"
    UNLIKE_LOAD = "unlike_load"


@dataclass(frozen=True, slots=True)
class ComparisonVerdict:
    """`decided_by`: the odd run to repeat, since it alone makes or hides the verdict.
    `advice`: how many more repeats would settle what is inconclusive."""

    word: Word
    reason: Reason | None = None
    text: str = ""
    decided_by: OddRun | None = None
    advice: tuple[Advice, ...] = ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """The parameters of a verdict: practical threshold, floor, and the arms' names."""

    threshold: float
    floor: float
    names: tuple[str, str]


def verdict(
    interval: RatioInterval | None,
    threshold: float,
    *,
    floor: float = FLOOR_US,
    blockers: Sequence[tuple[Reason, str]] = (),
    names: tuple[str, str] = ("the baseline", "the candidate"),
) -> ComparisonVerdict:
    """The verdict for a metric of which less is better (times).

    `threshold` is the practical one (0.05 is 5 %), `floor` the smallest difference, in the values'
    unit, that counts as faster or slower. `blockers` are reasons found elsewhere (order, errors,
    unlike arms): the first one makes the comparison inconclusive.
    """
    if interval is None or interval.k < MIN_REPEATS:
        k = interval.k if interval else 0
        have = f"; {k} can be used" if k else ""
        return ComparisonVerdict(
            Word.INCONCLUSIVE,
            Reason.TOO_FEW_REPEATS,
            f"A verdict needs {MIN_REPEATS} finished repeats of both{have}.",
        )
    for reason, text in blockers:
        return ComparisonVerdict(Word.INCONCLUSIVE, reason, text)
    asked = _Asked(threshold, floor, names)
    word, reason, odd = word_of(interval, threshold, floor)
    if odd:
        text = _repeat_it(interval, odd, asked)
        return ComparisonVerdict(word, reason, text, decided_by=odd)
    if word is Word.INCONCLUSIVE:
        return _inconclusive(interval, reason, asked)
    aside = " ".join(
        f"Without repeat {odd.repeat}: its {names[odd.arm]} run took {_times(odd)}."
        for odd in interval.set_aside
    )
    return ComparisonVerdict(word, text=aside)


def word_of(
    interval: RatioInterval, threshold: float, floor: float = FLOOR_US
) -> tuple[Word, Reason | None, OddRun | None]:
    """The word for at least three repeats, why it is inconclusive, and the deciding run."""
    word, reason = _plain_word(interval, threshold, floor)
    if odd := _deciding(interval, word, threshold, floor):
        return Word.INCONCLUSIVE, Reason.ONE_RUN_DECIDES, odd
    return word, reason, None


def _plain_word(
    interval: RatioInterval, threshold: float, floor: float
) -> tuple[Word, Reason | None]:
    low, high, ratio = interval.low, interval.high, interval.ratio
    if is_same(low, high, threshold):
        return Word.SAME, None
    if is_clear(low, high, ratio, threshold):
        if abs(interval.candidate - interval.baseline) <= floor:
            return Word.INCONCLUSIVE, Reason.RESOLUTION
        return (Word.SLOWER if ratio > 1 else Word.FASTER), None
    certain = low > 1 or high < 1
    return Word.INCONCLUSIVE, Reason.SIZE_UNCERTAIN if certain else Reason.CI_TOO_WIDE


def _deciding(interval: RatioInterval, word: Word, threshold: float, floor: float) -> OddRun | None:
    """The oddest run whose removal changes the word or makes the interval much narrower."""
    for odd in sorted(interval.odd, key=lambda run: -abs(log(run.times))):
        without = _word_without(odd, threshold, floor)
        if word is Word.INCONCLUSIVE:
            is_hidden = odd.rest and _width(odd.rest) < _width(interval) / 2
            if without is not word or (is_hidden and interval.low < 1 < interval.high):
                return odd
        elif without is not word:
            rest = odd.rest
            if rest is None or rest.k >= MIN_REPEATS:
                return odd
            # The interval of a rest of only two runs says nothing: it may agree by its ratio.
            point = replace(rest, low=rest.ratio, high=rest.ratio)
            if _plain_word(point, threshold, floor)[0] is not word:
                return odd
    return None


def _word_without(odd: OddRun, threshold: float, floor: float) -> Word:
    if odd.rest is None or odd.rest.k < MIN_REPEATS:
        return Word.INCONCLUSIVE
    return _plain_word(odd.rest, threshold, floor)[0]


def _width(interval: RatioInterval) -> float:
    return log(interval.high / interval.low)


def _repeat_it(interval: RatioInterval, odd: OddRun, asked: _Asked) -> str:
    baseline, candidate = asked.names
    whole, _ = _plain_word(interval, asked.threshold, asked.floor)
    without = _word_without(odd, asked.threshold, asked.floor)
    if without is Word.SAME:
        so = "and without it there is no practical difference"
    elif without is not Word.INCONCLUSIVE:
        so = f"and without it {candidate} is {without} than {baseline}"
    else:
        so = "which hides any difference" if whole is without else "which alone decides"
    who = f"its {asked.names[odd.arm]} run"
    return f"Repeat block {odd.repeat}: {who} took {_times(odd)}, {so}."


def _times(odd: OddRun) -> str:
    return f"{figure(odd.times, 2)} times as long as the others"


def _inconclusive(interval: RatioInterval, reason: Reason, asked: _Asked) -> ComparisonVerdict:
    if reason is Reason.RESOLUTION:
        text = "The difference is smaller than this measurement can resolve."
        return ComparisonVerdict(Word.INCONCLUSIVE, reason, text)
    found = advice(interval, asked.threshold)
    if reason is Reason.CI_TOO_WIDE:
        why = "The repeats differ too much among themselves"
    else:
        why = f"There is a difference, but not clearly one of {asked.threshold * 100:g} %"
    # Such as "to settle it with 80 % probability takes 8 more blocks if …".
    unit = "more blocks" if interval.is_paired else "more repeats"
    cases = []
    for each in found:
        number = f"over {MOST} {unit}" if each.more is None else counted(each.more, unit)
        apart = f"differ by {difference_words(each)}" if each.difference else "are equally fast"
        cases.append(f"{number} if they {apart}")
    how = f"to settle it with {percent(CHANCE, decimals=0)} probability takes {' and '.join(cases)}"
    none = "more repeats narrow the interval, but may never give a verdict"
    text = f"{why}; {how if found else none}."
    return ComparisonVerdict(Word.INCONCLUSIVE, reason, text, advice=found)


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
_COST_WORDS = {Word.SLOWER: "costs more", Word.FASTER: "costs less"}
_COST_WHY = {
    Reason.CI_TOO_WIDE: "The repeats differ too much among themselves.",
    Reason.SIZE_UNCERTAIN: "There is a difference, but it is not clearly a practical one.",
    Reason.RESOLUTION: "The difference is smaller than what was counted can resolve.",
}
_SIDES = ("baseline", "candidate")


@dataclass(frozen=True, slots=True)
class RunCost:
    """What a run cost: CPU seconds per 1,000 requests, or bytes per request. `step`: the least that
    what was counted can tell apart, in the same unit."""

    amount: float
    step: float


@dataclass(frozen=True, slots=True)
class CostDifference:
    """Means over runs; the interval is of the ratio candidate / baseline. `word` is "" with fewer
    than three repeats of both, and `why` says why there is none, or none but inconclusive, or which
    run is not in it."""

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
    steps = [max((each.step for each in arm.values()), default=0.0) for arm in arms]
    interval = (
        ratio_interval(
            *values,
            paired=paired,
            resolutions=tuple(steps),
            repeats=tuple(list(arm) for arm in arms),
        )
        if all(values)
        else None
    )
    means = [fmean(each) if each else None for each in values]
    return CostDifference(*means, interval, *_cost_word(interval, threshold, max(steps), blocker))


def _cost_word(
    interval: RatioInterval | None, threshold: float, floor: float, blocker: str
) -> tuple[str, str]:
    if interval is None or interval.k < MIN_REPEATS:
        return "", f"A verdict needs {MIN_REPEATS} finished repeats of both."
    if blocker:
        return str(Word.INCONCLUSIVE), blocker
    word, reason, odd = word_of(interval, threshold, floor)
    if odd:
        return str(word), f"Repeat block {odd.repeat}: without it the verdict would be another."
    # Why the word may be another than the means of all runs suggest.
    return _COST_WORDS.get(word, str(word)), _COST_WHY.get(reason, "") or (
        " ".join(
            f"Without repeat block {odd.repeat}, where the {_SIDES[odd.arm]} cost "
            f"{figure(odd.times, 2)} times as much as in the others."
            for odd in interval.set_aside
        )
    )
