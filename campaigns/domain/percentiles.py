"""A percentile's rank, its interval, whether it may be shown, and the highest that may; and the few
special functions that intervals need, in pure Python: no SciPy at run time.

q is given in 1/100,000 (p99.9 is 99900): in floats 100·(1 − 0.9) is below 10 and would hide p90."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from math import exp, lgamma, log, log1p, pi, sqrt
from typing import Annotated

from campaigns.domain.units import said_of

CONFIDENCE = 0.95  # of every interval that is told
_TINY = 1e-300
_EPSILON = 1e-16


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b) for a, b > 0 and x in [0, 1].

    Lentz's continued fraction (Numerical Recipes 6.4), accurate to about 1e-13.
    """
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    # The fraction converges fast below the mean; above it, the symmetry is used.
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1.0 - x) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d)
            c = _away_from_zero(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) < _EPSILON:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def t_two_sided(t: float, df: float) -> float:
    """P(|T| ≥ |t|) of Student's t with `df` degrees of freedom (any df > 0)."""
    return incomplete_beta(df / 2, 0.5, df / (df + t * t))


@lru_cache(maxsize=1024)
def t_quantile(probability: float, df: float) -> float:
    """The t with P(T ≤ t) = probability, 0.5 ≤ probability < 1; df may be fractional.

    Newton's method from 0: the tail is convex there, so that no step goes beyond the root.
    """
    tail, t = 2 * (1 - probability), 0.0
    peak = exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * pi)
    for _ in range(1000):
        density = peak * (1 + t * t / df) ** (-(df + 1) / 2)
        step = (t_two_sided(t, df) - tail) / (2 * density)
        t += step
        if step <= 1e-14 * t:
            break
    return t


def t_reach(df: float) -> float:
    """How many standard errors an interval reaches to either side of its centre."""
    return t_quantile((1 + CONFIDENCE) / 2, df)


def binomial_cdf(k: int, n: int, p: float) -> float:
    """P(B ≤ k) of B ~ Bin(n, p)."""
    if k < 0:
        return 0.0
    if k >= n:
        return 1.0
    return incomplete_beta(n - k, k + 1, 1 - p)


def binomial_quantile(probability: float, n: int, p: float) -> int:
    """The smallest k with P(B ≤ k) ≥ probability."""
    spread = 8 * sqrt(n * p * (1 - p)) + 2
    low, high = max(-1, int(n * p - spread)), min(n, int(n * p + spread))
    if binomial_cdf(low, n, p) >= probability:
        low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if binomial_cdf(middle, n, p) >= probability else (middle, high)
    return high


WHOLE = 100_000
P50, P90, P95, P99, P999 = 50_000, 90_000, 95_000, 99_000, 99_900
NO_TIMES = "No request succeeded, so there are no response times."


# The candidates for the highest percentile that n values support.
_LADDER = (50_000, 75_000, 90_000, 95_000, 99_000, 99_500, 99_900, 99_950, 99_990, 99_999)
# A percentile rests on the values beyond it: with fewer than ten it is weak, below five noise.
_SOUND_BEYOND, _WEAK_BEYOND = 10, 5
# A gap of half as much again, and of half of all that the percentile may be, is a jump.
_JUMP, _JUMP_SHARE = 1.5, 0.5


class Shown(StrEnum):
    OK = "ok"
    WEAK = "weak"
    NO = "no"


def nearest_rank(n: int, per_100k: int) -> int:
    """⌈q·n⌉, from 1: the smallest rank with at least the share q of the n samples at or below."""
    return max(1, -(-per_100k * n // WHOLE))


def beyond(n: int, per_100k: int) -> float:
    """n(1 − q): the expected number of samples beyond the percentile."""
    return n * (WHOLE - per_100k) / WHOLE


def shown(n: int, per_100k: int) -> Shown:
    """Ok with ten samples beyond the percentile, weak with five, no below."""
    product = n * (WHOLE - per_100k)
    if product >= _SOUND_BEYOND * WHOLE:
        return Shown.OK
    return Shown.WEAK if product >= _WEAK_BEYOND * WHOLE else Shown.NO


def why_not_shown(n: int, per_100k: int, nouns: str = "requests") -> str:
    """The sentence behind a dash or a weak figure; "" if the percentile is sound. `nouns`: what
    there are n of."""
    verdict = shown(n, per_100k)
    if verdict is Shown.OK:
        return ""
    if not n:
        return said_of(nouns, NO_TIMES)
    least = -(-_SOUND_BEYOND * WHOLE // (WHOLE - per_100k))
    word = "Weak" if verdict is Shown.WEAK else "Not shown"
    needs = f"{name(per_100k)} needs {least:,} {nouns} (ten beyond it)"
    return f"{word}: {needs}; there {'is' if n == 1 else 'are'} {n:,}."


@dataclass(frozen=True, slots=True)
class HighestPercentile:
    """How many values are beyond it."""

    label: Annotated[str, "Such as p99; empty: too few."]
    n: int
    beyond: int


def highest_percentile(n: int) -> HighestPercentile:
    """The highest usual percentile that n values support, and how many lie beyond it."""
    sound = [per_100k for per_100k in _LADDER if shown(n, per_100k) is Shown.OK]
    if not sound:
        return HighestPercentile("", n, 0)
    return HighestPercentile(name(sound[-1]), n, int(beyond(n, sound[-1])))


def name(per_100k: int) -> str:
    """As people write it: p50, p99, p99.9."""
    return f"p{per_100k / 1000:g}"


@lru_cache(maxsize=4096)
def rank_interval(
    n: int, per_100k: int, confidence: float = CONFIDENCE
) -> tuple[int | None, int | None]:
    """Ranks (from 1) of the exact order-statistic interval of a percentile of n samples.

    None if n is too small for that bound. It holds for any distribution, also one with a mass or
    a gap at the percentile. It covers one run only and assumes independent samples: between runs,
    use an interval over repeats.
    """
    q = per_100k / WHOLE
    lower = binomial_quantile((1 - confidence) / 2, n, q)
    upper = 1 + binomial_quantile((1 + confidence) / 2, n, q)
    return lower or None, upper if upper <= n else None


def jump_in(levels: Sequence[float]) -> tuple[float, float] | None:
    """The two sides of the gap if a percentile may be on either, else None.

    `levels`: the values, ascending, between the bounds of its interval. Next to a jump the
    percentiles of repeats are on either side: their mean is neither, and a t interval over them
    covers too little (70 to 90 % instead of 95).
    """
    if len(levels) < 2:
        return None
    low, high = max(pairwise(levels), key=lambda pair: pair[1] / pair[0])
    is_most = log(high / low) >= _JUMP_SHARE * log(levels[-1] / levels[0])
    return (low, high) if is_most and high >= _JUMP * low else None
