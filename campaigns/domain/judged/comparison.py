"""Is B faster or slower than A? The ratio of run-level means, its interval, and one of four words.

Method and constants: docs/measuring.md. Values are one per run, never pooled requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log, sqrt
from statistics import mean, variance

from campaigns.domain.judged.repeats import MIN_REPEATS, needed_repeats
from campaigns.domain.special import t_quantile, t_two_sided

FLOOR_US = 200.0  # a smaller difference of times is not called faster or slower
_COARSE = 0.02  # from this share of the mean on, a step of the clock widens the interval


class Word(StrEnum):
    FASTER = "faster"
    SLOWER = "slower"
    SAME = "no practical difference"
    INCONCLUSIVE = "inconclusive"


class Reason(StrEnum):
    """Why a comparison is inconclusive."""

    TOO_FEW_REPEATS = "too_few_repeats"
    CI_TOO_WIDE = "ci_too_wide"
    SIZE_UNCERTAIN = "direction_certain_size_not"
    ORDER_CONFOUNDED = "order_confounded"
    NOT_LIKE_FOR_LIKE = "not_like_for_like"
    INVALID_RUNS = "invalid_runs"
    RESOLUTION = "resolution"
    ERRORS = "errors"
    UNLIKE_LOAD = "unlike_load"


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """candidate / baseline with its 95 % interval on the log scale."""

    baseline: float
    candidate: float
    ratio: float
    low: float
    high: float
    se: float
    df: float
    k: int  # runs of the smaller arm
    p_value: float


@dataclass(frozen=True, slots=True)
class ComparisonVerdict:
    word: Word
    reason: Reason | None = None
    text: str = ""


def ratio_interval(
    baseline: Sequence[float],
    candidate: Sequence[float],
    *,
    paired: bool,
    resolutions: tuple[float, float] = (0.0, 0.0),
    confidence: float = 0.95,
) -> RatioInterval | None:
    """The ratio of the means of two sets of run-level values (each in the order of the blocks).

    Paired needs as many values in both. `resolutions` are the steps in which each arm's values
    were measured. None with fewer than two runs in an arm, or a mean that is not above 0.
    """
    if min(len(baseline), len(candidate)) < 2:
        return None
    a, b = float(mean(baseline)), float(mean(candidate))
    if a <= 0 or b <= 0:
        return None
    spread = _paired_spread if paired else _unpaired_spread
    se, df = spread(baseline, candidate, a, b, resolutions, force_guard=False)
    if se == 0:
        se, df = spread(baseline, candidate, a, b, resolutions, force_guard=True)
    width = t_quantile((1 + confidence) / 2, df) * se
    ratio = b / a
    return RatioInterval(
        a,
        b,
        ratio,
        ratio * exp(-width),
        ratio * exp(width),
        se,
        df,
        k=min(len(baseline), len(candidate)),
        p_value=t_two_sided(log(ratio) / se, df) if se else float(ratio == 1),
    )


def _guard(resolution: float, centre: float, force: bool) -> float:
    """The variance that rounding to steps of `resolution` adds."""
    return resolution**2 / 12 if force or resolution > _COARSE * centre else 0.0


def _paired_spread(baseline, candidate, a, b, resolutions, *, force_guard) -> tuple[float, float]:
    k = len(baseline)
    offsets = [y / b - x / a for x, y in zip(baseline, candidate, strict=True)]
    squares = sum(sorted(offset * offset for offset in offsets)) / (k - 1)
    squares += _guard(resolutions[0], a, force_guard) / a**2
    squares += _guard(resolutions[1], b, force_guard) / b**2
    return sqrt(squares / k), float(k - 1)


def _unpaired_spread(baseline, candidate, a, b, resolutions, *, force_guard) -> tuple[float, float]:
    ka, kb = len(baseline), len(candidate)
    va = (variance(baseline) + _guard(resolutions[0], a, force_guard)) / a**2 / ka
    vb = (variance(candidate) + _guard(resolutions[1], b, force_guard)) / b**2 / kb
    if va + vb == 0:
        return 0.0, float(ka + kb - 2)
    df = (va + vb) ** 2 / (va**2 / (ka - 1) + vb**2 / (kb - 1))
    return sqrt(va + vb), df


def verdict(
    interval: RatioInterval | None,
    threshold: float,
    *,
    floor: float = FLOOR_US,
    blockers: Sequence[tuple[Reason, str]] = (),
) -> ComparisonVerdict:
    """The word for a metric of which less is better (times).

    `threshold` is the practical one (0.05 is 5 %), `floor` the smallest difference, in the values'
    unit, that may be called faster or slower. `blockers` are reasons found elsewhere (order,
    errors, unlike arms): the first one makes the comparison inconclusive.
    """
    if interval is None or interval.k < MIN_REPEATS:
        k = interval.k if interval else 0
        have = f"; {k} can be used" if k else ""
        return ComparisonVerdict(
            Word.INCONCLUSIVE,
            Reason.TOO_FEW_REPEATS,
            f"A word needs {MIN_REPEATS} finished repeats of both{have}.",
        )
    for reason, text in blockers:
        return ComparisonVerdict(Word.INCONCLUSIVE, reason, text)
    return _statistical_verdict(interval, threshold, floor)


def _statistical_verdict(
    interval: RatioInterval, threshold: float, floor: float
) -> ComparisonVerdict:
    over, under = 1 + threshold, 1 / (1 + threshold)
    low, high, ratio = interval.low, interval.high, interval.ratio
    if under <= low and high <= over:
        return ComparisonVerdict(Word.SAME)
    clear = (low > 1 and ratio >= over) or (high < 1 and ratio <= under)
    if clear and abs(interval.candidate - interval.baseline) > floor:
        return ComparisonVerdict(Word.SLOWER if ratio > 1 else Word.FASTER)
    if clear:
        return ComparisonVerdict(
            Word.INCONCLUSIVE,
            Reason.RESOLUTION,
            "The difference is smaller than this measurement can resolve.",
        )
    if low > 1 or high < 1:
        return ComparisonVerdict(
            Word.INCONCLUSIVE,
            Reason.SIZE_UNCERTAIN,
            f"There is a difference, but not clearly one of {threshold * 100:g} %"
            f"{_advice(interval, threshold)}.",
        )
    return ComparisonVerdict(
        Word.INCONCLUSIVE,
        Reason.CI_TOO_WIDE,
        f"The repeats differ too much among themselves{_advice(interval, threshold)}.",
    )


def _advice(interval: RatioInterval, threshold: float) -> str:
    needed = needed_repeats(interval.se * sqrt(interval.k / 2), threshold)
    if needed is None or needed <= interval.k:
        return ""
    return f"; to tell, it needs about {needed} repeats"


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values corrected for how many were looked at (Holm's step-down), in the same order."""
    corrected, worst = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    for rank, index in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = worst
    return corrected
