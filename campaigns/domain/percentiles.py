"""Which rank a percentile is, how sure it is, and whether it may be shown.

q is given in 1/100,000 (p99.9 is 99900): in floats 100·(1 − 0.9) is below 10 and would hide p90.
"""

from enum import StrEnum
from typing import Any

from campaigns.domain.snapshot import Timing
from campaigns.domain.special import binomial_quantile

WHOLE = 100_000
P50, P90, P95, P99, P999 = 50_000, 90_000, 95_000, 99_000, 99_900
CURVE_FROM = 10_000
_TICKS = (CURVE_FROM, 50_000, 90_000, 95_000, 99_000, 99_900, 99_990, 99_999)


class Shown(StrEnum):
    OK = "ok"
    WEAK = "weak"
    NO = "no"


def nearest_rank(n: int, per_100k: int) -> int:
    """⌈q·n⌉, from 1: the smallest rank with at least the share q of the n samples at or below."""
    return max(1, -(-per_100k * n // WHOLE))


def beyond(n: int, per_100k: int) -> float:
    """N(1 − q): how many of n samples are expected beyond the percentile."""
    return n * (WHOLE - per_100k) / WHOLE


def shown(n: int, per_100k: int) -> Shown:
    """Ok with ten samples beyond the percentile, weak with five, no below."""
    scaled = n * (WHOLE - per_100k)
    if scaled >= 10 * WHOLE:
        return Shown.OK
    return Shown.WEAK if scaled >= 5 * WHOLE else Shown.NO


def why_not_shown(n: int, per_100k: int) -> str:
    """The sentence behind a dash or a weak figure; "" where the percentile is sound."""
    verdict = shown(n, per_100k)
    if verdict is Shown.OK:
        return ""
    if not n:
        return "No request succeeded, so there is no response time."
    needed = -(-10 * WHOLE // (WHOLE - per_100k))
    word = "Weak" if verdict is Shown.WEAK else "Not shown"
    needs = f"{name(per_100k)} needs {needed:,} requests (ten beyond it)"
    return f"{word}: {needs}; there {'is' if n == 1 else 'are'} {n:,}."


def name(per_100k: int) -> str:
    """As people write it: p50, p99, p99.9."""
    return f"p{per_100k / 1000:g}"


def rank_interval(n: int, per_100k: int, confidence: float = 0.95) -> tuple[int | None, int | None]:
    """Ranks (from 1) of the exact order-statistic interval of a percentile of n samples.

    None where n is too small for that bound. It describes one run only and takes its samples as
    independent: between runs, use an interval over repeats.
    """
    q = per_100k / WHOLE
    lower = binomial_quantile((1 - confidence) / 2, n, q)
    upper = 1 + binomial_quantile((1 + confidence) / 2, n, q)
    return lower or None, upper if upper <= n else None


def curve(timing: Timing, per_decade: int = 24) -> list[dict[str, Any]]:
    """The percentile plot: [{"x": 1/(1−q), "q", "ms", "beyond"}] from p10 to the last sample.

    Evenly spaced in log x, with the usual percentiles among them; `beyond` is N(1 − q).
    """
    grid = {10 ** (step / per_decade) for step in range(1, 6 * per_decade)}
    quantiles = {round(WHOLE * (1 - 1 / x)) for x in grid} | set(_TICKS)
    fitting = sorted(
        q for q in quantiles if CURVE_FROM <= q < WHOLE and timing.n * (WHOLE - q) >= WHOLE
    )
    return [
        {
            "x": WHOLE / (WHOLE - q),
            "q": q / WHOLE,
            "ms": round(timing.percentile_us(q) / 1000, 4),
            "beyond": beyond(timing.n, q),
        }
        for q in fitting
    ]
