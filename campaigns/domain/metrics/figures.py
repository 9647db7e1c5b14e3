"""The figures of one run or several pooled ones: the basis of tables, verdicts and tiles; and the
percentile plot of a timing.

A total in brief: its counts, and of each timing the moments and some percentiles, so that nobody
who shows them decodes a histogram. The histograms are stored beside it.

{"counters", "errors", "statuses", "timings": {name: [n, sum, sum of squares, min, max, ranks, the
values at these ranks]}, "jumps": {percentile of the response time: its jump or null}}, times in µs.

Response times without what the injector added, in the quieter half of a run's seconds: the lower
end of a figure whose upper end is as measured.

A run's seconds are not kept for it. Those in which the injector added about as much to a request
are added up as they come."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import log2
from typing import Any, Self

import numpy as np

from campaigns.domain.metrics.histogram import Histogram, StoredHistogram
from campaigns.domain.metrics.snapshot import MOMENTS, Second, Timing, Total, late
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

Jumps = Mapping[int, tuple[float, float] | None]  # by percentile
Whole = Callable[[str], Histogram]  # the histogram of the timing with this name


def brief_of(
    total: Total, per_100k: Callable[[str], Collection[int]], jumps_at: Collection[int]
) -> dict[str, Any]:
    """`per_100k`: the percentiles to keep of the timing with this name. `jumps_at`: those of the
    response time of which it is kept whether they lie at a jump."""
    response = total.timing("response")
    return {
        "counters": total.counters,
        "errors": total.errors,
        "statuses": total.statuses,
        "timings": {
            name: [
                *(getattr(timing, moment) for moment in MOMENTS),
                *ranked(timing, per_100k(name)),
            ]
            for name, timing in total.timings.items()
            if timing.n
        },
        "jumps": {str(q): response.jump_us(q) for q in jumps_at} if response.n else {},
    }


def ranked(timing: Timing, per_100k: Collection[int]) -> tuple[list[int], list[float]]:
    """The ranks of these percentiles, and the values at them: what a `RankedHistogram` knows."""
    ranks = sorted({nearest_rank(timing.n, q) for q in per_100k})
    return ranks, timing.histogram.values_at_ranks(ranks)


def read_brief(data: Mapping[str, Any], whole: Whole) -> Total:
    """A total in brief; `whole` reads a histogram of which more is asked than was kept."""
    return Total(data["counters"], data["errors"], data["statuses"], _BriefTimings(data, whole))


def histograms_of(total: Total) -> dict[str, str]:
    """What is stored beside the total in brief."""
    return {name: timing.histogram.encode() for name, timing in total.timings.items() if timing.n}


def read_whole(data: Mapping[str, Any], histograms: Mapping[str, str]) -> Total:
    """A total in brief, with its histograms."""
    timings = {
        name: Timing(*moments[: len(MOMENTS)], StoredHistogram(histograms[name]))
        for name, moments in data["timings"].items()
    }
    return Total(data["counters"], data["errors"], data["statuses"], timings)


def read_total(data: Mapping[str, Any]) -> Total:
    """As `Total.from_json`, but no histogram is decoded before somebody asks for it."""
    timings = {
        name: Timing(**{**each, "histogram": StoredHistogram(each["histogram"])})
        for name, each in data["timings"].items()
    }
    return Total(data["counters"], data["errors"], data["statuses"], timings)


class RankedHistogram(Histogram):
    """A histogram of which the values at some ranks are known, and at which percentiles there is a
    jump; `whole` reads it when somebody asks for more."""

    __slots__ = ("_histogram", "_jumps", "_value_by_rank", "_whole")

    def __init__(
        self,
        value_by_rank: Mapping[int, float],
        whole: Callable[[], Histogram],
        jumps: Jumps | None = None,
    ) -> None:
        self._value_by_rank, self._jumps = value_by_rank, jumps or {}
        self._whole = whole
        self._histogram: Histogram | None = None

    @property
    def counts(self) -> np.ndarray:
        if self._histogram is None:
            self._histogram = self._whole()
        return self._histogram.counts

    def value_at_rank(self, rank: int) -> float:
        value = self._value_by_rank.get(rank)
        return super().value_at_rank(rank) if value is None else value

    def values_at_ranks(self, ranks: list[int]) -> list[float]:
        values = [self._value_by_rank.get(rank) for rank in ranks]
        return super().values_at_ranks(ranks) if None in values else values

    def jump_at(self, per_100k: int) -> tuple[float, float] | None:
        return self._jumps[per_100k] if per_100k in self._jumps else super().jump_at(per_100k)


class _BriefTimings(Mapping[str, Timing]):
    """The timings of a total in brief. Each is made when it is asked for: a page asks for few of
    the twenty, but of a thousand runs."""

    __slots__ = ("_cache", "_data", "_whole")

    def __init__(self, data: Mapping[str, Any], whole: Whole) -> None:
        self._data, self._whole = data, whole
        self._cache: dict[str, Timing] = {}

    def __getitem__(self, name: str) -> Timing:
        if name not in self._cache:
            *moments, ranks, values_us = self._data["timings"][name]
            whole, by_rank = self._whole, dict(zip(ranks, values_us, strict=True))
            jumps = self._data["jumps"] if name == "response" else {}
            self._cache[name] = Timing(
                *moments,
                RankedHistogram(
                    by_rank,
                    lambda: whole(name),
                    {int(q): each and tuple(each) for q, each in jumps.items()},
                ),
            )
        return self._cache[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data["timings"])

    def __len__(self) -> int:
        return len(self._data["timings"])


QUIETER = "quieter"  # the timing's name in a total
_ENOUGH_SECONDS = 20
_GROUPS_PER_DOUBLING = 4


def added_us(parts: Iterable[Mapping[str, Timing]]) -> float | None:
    """What the injector added to a request on average; None where no reading was timed."""
    rows = [each for each in parts if "sampled" in each and "undelayed" in each]
    n = sum(each["sampled"].n for each in rows)
    effect_us = sum(each["sampled"].sum_us - each["undelayed"].sum_us for each in rows)
    return effect_us / n if n else None


def quieter_half(n_seconds: Mapping[float, int]) -> set[float]:
    """`n_seconds`: how many had each dose. The smallest doses that half of the seconds had; of few
    seconds all."""
    n_all = sum(n_seconds.values())
    if n_all < _ENOUGH_SECONDS:
        return set(n_seconds)
    doses = sorted(n_seconds)
    up_to = accumulate(n_seconds[dose] for dose in doses)
    n_more = sum(2 * n < n_all for n in up_to)
    return set(doses[: n_more + 1])


class QuieterSeconds:
    """Measured seconds are added one by one, each with all its rows."""

    def __init__(self) -> None:
        self._n_seconds: Counter[int] = Counter()
        self._timings: dict[tuple[int, int], Timing] = {}  # by group of seconds and step

    def add(self, parts: Sequence[Second]) -> None:
        dose_us = added_us(part.timings for part in parts)
        if dose_us is None:
            return
        group = round(_GROUPS_PER_DOUBLING * log2(max(1.0, dose_us)))
        self._n_seconds[group] += 1
        for part in parts:
            if timing := part.timings.get("undelayed"):
                total = self._timings.get((group, part.step), Timing())
                self._timings[group, part.step] = total.merged(timing)

    def timings(self, n_steps: int) -> list[Timing]:
        """Of all steps together, then of each."""
        quieter = quieter_half(self._n_seconds)
        rows = [(step, each) for (group, step), each in self._timings.items() if group in quieter]
        return [
            Timing.together(each for _, each in rows),
            *(Timing.together(each for at, each in rows if at == n) for n in range(n_steps)),
        ]

    def state(self) -> list[list[Any]]:
        """As JSON, from which `of_state` goes on."""
        rows = [[*place, each.to_json()] for place, each in self._timings.items()]
        return [[*self._n_seconds.items()], rows]

    @classmethod
    def of_state(cls, state: Sequence[Sequence[Any]]) -> Self:
        seconds = cls()
        n_seconds, rows = state
        seconds._n_seconds.update(dict(n_seconds))
        seconds._timings = {(group, step): Timing.from_json(each) for group, step, each in rows}
        return seconds


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
    def _values(self) -> dict[int, float]:
        return percentiles_us(self._timing, SHOWN_PERCENTILES)

    def __getitem__(self, q: int) -> float:
        return self._values[q]

    def __iter__(self) -> Iterator[int]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


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
    return [
        {
            "x": WHOLE / (WHOLE - q),
            "q": q / WHOLE,
            "ms": round(us / 1000, 4),
            "beyond": beyond(timing.n, q),
            "label": name(q),
            "text": figure(us / 1000),
        }
        for q, us in percentiles_us(timing, fitting).items()
    ]


def usual_points(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of a curve the usual percentiles and the last point, for charts of very many lines."""
    labels = set(map(name, _TICKS))
    return [each for each in points if each["label"] in labels or each is points[-1]]
