"""Is B faster or slower than A? One of four verdict words for a ratio and its interval, and why.

Method and constants: docs/measuring.md. Values are one per run, never pooled requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import log

from campaigns.domain.judged.advice import CHANCE, MOST, Advice, advice, difference_words
from campaigns.domain.judged.ratio import OddRun, RatioInterval
from campaigns.domain.judged.repeats import MIN_REPEATS
from campaigns.domain.judged.words import Word, is_clear, is_same
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
    return ComparisonVerdict(word, text=_set_aside(interval, names))


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
        elif without is not word and not _agrees(odd.rest, word, threshold, floor):
            return odd
    return None


def _word_without(odd: OddRun, threshold: float, floor: float) -> Word:
    if odd.rest is None or odd.rest.k < MIN_REPEATS:
        return Word.INCONCLUSIVE
    return _plain_word(odd.rest, threshold, floor)[0]


def _agrees(rest: RatioInterval | None, word: Word, threshold: float, floor: float) -> bool:
    """Whether a rest of only two runs, whose interval says nothing, agrees by its ratio."""
    if rest is None or rest.k >= MIN_REPEATS:
        return False
    point = replace(rest, low=rest.ratio, high=rest.ratio)
    return _plain_word(point, threshold, floor)[0] is word


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


def _set_aside(interval: RatioInterval, names: tuple[str, str]) -> str:
    return " ".join(
        f"Without repeat {odd.repeat}: its {names[odd.arm]} run took {_times(odd)}."
        for odd in interval.set_aside
    )


def _inconclusive(interval: RatioInterval, reason: Reason, asked: _Asked) -> ComparisonVerdict:
    if reason is Reason.RESOLUTION:
        text = "The difference is smaller than this measurement can resolve."
        return ComparisonVerdict(Word.INCONCLUSIVE, reason, text)
    found = advice(interval, asked.threshold)
    if reason is Reason.CI_TOO_WIDE:
        why = "The repeats differ too much among themselves"
    else:
        why = f"There is a difference, but not clearly one of {asked.threshold * 100:g} %"
    text = f"{why}{_advised(found, interval.is_paired)}."
    return ComparisonVerdict(Word.INCONCLUSIVE, reason, text, advice=found)


def _advised(found: Sequence[Advice], is_paired: bool) -> str:
    """Such as "; to tell with 80 % probability it takes 8 more blocks if …"."""
    if not found:
        return "; more repeats narrow the interval, but may never give a verdict"
    unit = "more blocks" if is_paired else "more repeats"
    cases = " and ".join(f"{_number(each, unit)} {_condition_text(each)}" for each in found)
    return f"; to settle it with {percent(CHANCE, decimals=0)} probability takes {cases}"


def _number(each: Advice, unit: str) -> str:
    return f"over {MOST} {unit}" if each.more is None else counted(each.more, unit)


def _condition_text(each: Advice) -> str:
    if not each.difference:
        return "if they are equally fast"
    return f"if they differ by {difference_words(each)}"


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values corrected for multiple comparisons (Holm's step-down), in the same order."""
    corrected, worst = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    for rank, index in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = worst
    return corrected
