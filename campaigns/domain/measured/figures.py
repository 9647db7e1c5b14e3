"""The figures of one run or several pooled ones: the basis of tables, verdicts and tiles."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from campaigns.domain.measured.snapshot import Timing, Total
from campaigns.domain.percentiles import P50, P90, P95, P99, Shown, name, nearest_rank, shown

SHOWN_PERCENTILES = (P50, P90, P95, P99)


@dataclass(frozen=True, slots=True)
class Figures:
    """The run-level figures of one run or several pooled ones. Times in µs.

    `n` counts ok requests, which have a response time; `attempts` all that ended.
    """

    n: int
    failed: int
    dropped: int
    duration_s: float
    mean_us: float | None = None
    min_us: int | None = None
    max_us: int | None = None
    percentiles: Mapping[int, float] = field(default_factory=dict)

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
        """Ok requests per measured second."""
        return self.n / self.duration_s if self.duration_s > 0 else None

    def to_row(self) -> dict[str, float | None]:
        """What a run's row has of them; percentiles that too few requests support are None."""
        return {
            "n": self.n,
            "errors": self.errors,
            "mean_us": self.mean_us,
            **{f"{name(q)}_us": self._supported(q) for q in (P50, P95, P99)},
        }

    def _supported(self, q: int) -> float | None:
        return None if shown(self.n, q) is Shown.NO else self.percentiles.get(q)


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
        mean_us=response.mean_us,
        min_us=response.min_us,
        max_us=response.max_us,
        percentiles=_Percentiles(response),
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
