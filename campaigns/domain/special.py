"""The few special functions that the statistics need, in pure Python: no SciPy at run time."""

from functools import lru_cache
from math import exp, lgamma, log, log1p, pi, sqrt

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
