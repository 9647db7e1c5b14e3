"""A total in brief: its counts, and of each timing the moments and some percentiles, so that nobody
who shows them decodes a histogram. The histograms are stored beside it.

{"counters", "errors", "statuses", "timings": {name: [n, sum, sum of squares, min, max, ranks, the
values at these ranks]}, "jumps": {percentile of the response time: its jump or null}}, times in µs.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np

from campaigns.domain.metrics.histogram import Histogram, StoredHistogram
from campaigns.domain.metrics.snapshot import MOMENTS, Timing, Total
from campaigns.domain.percentiles import nearest_rank

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
    timings = {name: _stored(each) for name, each in data["timings"].items()}
    return Total(data["counters"], data["errors"], data["statuses"], timings)


def _stored(stored: Mapping[str, Any]) -> Timing:
    moments = {key: value for key, value in stored.items() if key != "histogram"}
    return Timing(**moments, histogram=StoredHistogram(stored["histogram"]))


class RankedHistogram(Histogram):
    """A histogram of which the values at some ranks are known, and at which percentiles there is a
    jump; `whole` reads it when somebody asks for more."""

    __slots__ = ("_jumps", "_known", "_read", "_whole")

    def __init__(
        self, known: Mapping[int, float], whole: Callable[[], Histogram], jumps: Jumps | None = None
    ) -> None:
        self._known, self._jumps = known, jumps or {}
        self._whole = whole
        self._read: Histogram | None = None

    @property
    def counts(self) -> np.ndarray:
        if self._read is None:
            self._read = self._whole()
        return self._read.counts

    def value_at_rank(self, rank: int) -> float:
        known = self._known.get(rank)
        return super().value_at_rank(rank) if known is None else known

    def values_at_ranks(self, ranks: list[int]) -> list[float]:
        known = [self._known.get(rank) for rank in ranks]
        return super().values_at_ranks(ranks) if None in known else known

    def jump_at(self, per_100k: int) -> tuple[float, float] | None:
        return self._jumps[per_100k] if per_100k in self._jumps else super().jump_at(per_100k)


class _BriefTimings(Mapping[str, Timing]):
    """The timings of a total in brief. Each is made when it is asked for: a page asks for few of
    the twenty, but of a thousand runs."""

    __slots__ = ("_data", "_made", "_whole")

    def __init__(self, data: Mapping[str, Any], whole: Whole) -> None:
        self._data, self._whole = data, whole
        self._made: dict[str, Timing] = {}

    def __getitem__(self, name: str) -> Timing:
        if name not in self._made:
            self._made[name] = self._timing(name, *self._data["timings"][name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data["timings"])

    def __len__(self) -> int:
        return len(self._data["timings"])

    def _timing(self, name: str, *told: Any) -> Timing:
        *moments, ranks, values_us = told
        whole, known = self._whole, dict(zip(ranks, values_us, strict=True))
        jumps = self._jumps if name == "response" else None
        return Timing(*moments, RankedHistogram(known, lambda: whole(name), jumps))

    @property
    def _jumps(self) -> Jumps:
        return {int(q): each and tuple(each) for q, each in self._data["jumps"].items()}
