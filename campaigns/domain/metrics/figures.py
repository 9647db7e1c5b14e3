"""The figures of one run or several pooled ones: the basis of tables, verdicts and tiles; and the
percentile plot of a timing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from campaigns.domain.metrics.quieter import QUIETER
from campaigns.domain.metrics.snapshot import Timing, Total, late
from campaigns.domain.percentiles import (
    P50,
    P90,
    P95,
    P99,
    WHOLE,
    Shown,
    beyond,
    name,
    nearest_rank,
    shown,
)
from campaigns.domain.units import figure

SHOWN_PERCENTILES = (P50, P90, P95, P99)
TYPICAL = "typical"  # the median without what the injector added
MEASURED = ("mean", "p50", "p95", "p99")  # what a run's row has as measured
_FEW_TIMED = 20
_RANKS = {name(q): q for q in SHOWN_PERCENTILES}


@dataclass(frozen=True, slots=True)
class Figures:
    """The run-level figures of one run or several pooled ones. Times in µs.

    `n` counts ok requests, which have a response time; `attempts` all that ended. `undelayed`:
    response times of some requests, without what the injector added; `quieter`: those in the
    quieter half of the seconds. `duration_s` is the measured time, and `late` of the ok requests
    came after it (snapshot.py).
    """

    n: int
    failed: int
    dropped: int
    duration_s: float
    late: int = 0
    mean_us: float | None = None
    min_us: int | None = None
    max_us: int | None = None
    percentiles: Mapping[int, float] = field(default_factory=dict)
    undelayed: Timing = field(default_factory=Timing, compare=False)
    quieter: Timing = field(default_factory=Timing, compare=False)

    def time_us(self, metric: str) -> float | None:
        """By its name: mean, p50 or another shown percentile, or `TYPICAL`."""
        if metric == "mean":
            return self.mean_us
        if metric == TYPICAL:
            return self.undelayed.percentile_us(P50) if self.is_timed else None
        return self.percentiles.get(_RANKS[metric])

    def low_us(self, metric: str) -> float | None:
        """The most that the target can be shown to take, of mean, p50 or another percentile, where
        `time_us` is as measured. None where too few requests tell it."""
        return lower_end_us(self.quieter, _RANKS.get(metric), self.time_us(metric))

    @property
    def is_timed(self) -> bool:
        """Whether enough requests tell what the injector added to them."""
        return self.undelayed.n >= min(self.n, _FEW_TIMED) > 0

    @property
    def attempts(self) -> int:
        return self.n + self.failed + self.dropped

    @property
    def errors(self) -> int:
        return self.failed + self.dropped

    @property
    def error_share(self) -> float | None:
        return self.errors / self.attempts if self.attempts else None

    @property
    def rate_per_s(self) -> float | None:
        """Ok requests of the measured time per second of it."""
        return (self.n - self.late) / self.duration_s if self.duration_s > 0 else None

    def to_row(self) -> dict[str, Any]:
        """What a run's row has of them; percentiles that too few requests support are None."""
        lows_us = {metric: self.low_us(metric) for metric in MEASURED}
        return {
            "lows_us": {metric: us for metric, us in lows_us.items() if us is not None},
            "n": self.n,
            "errors": self.errors,
            "mean_us": self.mean_us,
            "typical_us": None
            if shown(self.n, P50) is Shown.NO
            else self.time_us(typical_metric([self])),
            **{
                f"{name(q)}_us": None if shown(self.n, q) is Shown.NO else self.percentiles.get(q)
                for q in (P50, P95, P99)
            },
        }


def lower_end_us(quieter: Timing, per_100k: int | None, measured_us: float | None) -> float | None:
    """Of a percentile, or of the mean without one; `quieter`: as in `Figures`."""
    rank = P50 if per_100k is None else per_100k
    if shown(quieter.n, rank) is Shown.NO:
        return None
    low_us = quieter.mean_us if per_100k is None else quieter.percentile_us(rank)
    return min(low_us, measured_us)


def typical_metric(runs: Iterable[Figures]) -> str:
    """The metric of runs on a busy machine, which spoils mean and tail: `TYPICAL` where each of
    them tells it, else their median."""
    return TYPICAL if all(each.is_timed for each in runs) else name(P50)


class _Percentiles(Mapping[int, float]):
    """The shown percentiles of a timing, computed when the first is asked for: where only averages
    are compared, no histogram is read."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing

    @cached_property
    def _known(self) -> dict[int, float]:
        return percentiles_us(self._timing, SHOWN_PERCENTILES)

    def __getitem__(self, q: int) -> float:
        return self._known[q]

    def __iter__(self) -> Iterator[int]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def figures_of(total: Total, duration_s: float) -> Figures:
    """The figures of a merged total that was measured for `duration_s` seconds."""
    response = total.timing("response")
    return Figures(
        n=total.count("ok"),
        failed=total.count("failed"),
        dropped=total.count("dropped"),
        duration_s=duration_s,
        late=total.count(late("ok")),
        mean_us=response.mean_us,
        min_us=response.min_us,
        max_us=response.max_us,
        percentiles=_Percentiles(response),
        undelayed=total.timing("undelayed"),
        quieter=total.timing(QUIETER),
    )


def percentiles_us(timing: Timing, per_100k: Sequence[int]) -> dict[int, float]:
    """Several nearest-rank percentiles at the cost of one; {} if nothing was timed."""
    if not timing.n:
        return {}
    ranks = [nearest_rank(timing.n, q) for q in per_100k]
    values = timing.histogram.values_at_ranks(ranks)
    return {
        q: float(timing.max_us)
        if rank == timing.n
        else min(max(value, timing.min_us), timing.max_us)
        for q, rank, value in zip(per_100k, ranks, values, strict=True)
    }


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
