"""The percentile plot of a timing."""

from collections.abc import Sequence
from typing import Any

from campaigns.domain.measured.figures import percentiles_us
from campaigns.domain.measured.snapshot import Timing
from campaigns.domain.percentiles import WHOLE, beyond, name
from campaigns.domain.units import figure

CURVE_FROM = 10_000
_TICKS = (CURVE_FROM, 50_000, 90_000, 95_000, 99_000, 99_900, 99_990, 99_999)
_PER_DECADE = 24
_GRID = {10 ** (step / _PER_DECADE) for step in range(1, 6 * _PER_DECADE)}
_QUANTILES = {round(WHOLE * (1 - 1 / x)) for x in _GRID} | set(_TICKS)
CURVE_PERCENTILES = sorted(q for q in _QUANTILES if CURVE_FROM <= q < WHOLE)


# As many curves of a page are smooth: of 200, all points would be 2 MB.
MOST_SMOOTH = 24


def curve(timing: Timing, *, is_smooth: bool = True) -> list[dict[str, Any]]:
    """The percentile plot, from p10 to the last sample:
    [{"x": 1/(1−q), "q", "ms", "beyond", "label": "p99", "text": the milliseconds}].

    Evenly spaced in log x, with the usual percentiles among them; `beyond` is N(1 − q). One that is
    not smooth has only its `usual_points`.
    """
    fitting = [q for q in CURVE_PERCENTILES if timing.n * (WHOLE - q) >= WHOLE]
    if not is_smooth:
        fitting = [q for q in fitting if q in _TICKS or q == fitting[-1]]
    return [_point(timing, q, us / 1000) for q, us in percentiles_us(timing, fitting).items()]


def usual_points(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of a curve the usual percentiles and the last point, for charts of very many lines."""
    labels = set(map(name, _TICKS))
    return [each for each in points if each["label"] in labels or each is points[-1]]


def _point(timing: Timing, per_100k: int, ms: float) -> dict[str, Any]:
    return {
        "x": WHOLE / (WHOLE - per_100k),
        "q": per_100k / WHOLE,
        "ms": round(ms, 4),
        "beyond": beyond(timing.n, per_100k),
        "label": name(per_100k),
        "text": figure(ms),
    }
