"""The points of a sweep: what was measured at each value, and which points may be believed.

A point is trusted if all its repeats are. Only trusted points have an interval, a speed-up and a
part in what the sweep's sentence says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from campaigns.domain.judged.overhead import OverheadRow
from campaigns.domain.judged.repeats import MIN_REPEATS, MeanInterval, mean_interval
from campaigns.domain.measured.figures import Figures
from campaigns.domain.percentiles import P95, Shown, shown
from campaigns.domain.plan.sweep import DIVIDED
from campaigns.domain.units import in_ms

# Growth has ended where a value has this share of the highest throughput.
PLATEAU = 0.95


@dataclass(frozen=True, slots=True)
class PointAgainst:
    """A point's mean response time against the reference's at the same value. `mean` is None where
    nothing is compared; `word` is "" without a word, and `why` says why."""

    mean: OverheadRow | None = None
    word: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A figure of the injectors that was beyond its limit; `code` is the criterion's."""

    code: str
    value: float
    limit: float


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """All requests of the runs at one value. `figures` are those of its trusted runs if it is
    trusted, else of all that ended with figures; None without any. `is_usable`: not only of runs
    that nobody may believe. `rate` and `mean_us` are means over its runs, with an interval from
    three on. `why`: why it is not trusted. `speed_up` and `efficiency`: against the smallest value,
    where more of the parameter divides the work. `against`: another arm, where there is one.
    `doubts`: the figures behind `why`, where it has any; `vitals`: the worst of its injectors'
    vitals by criterion, read only in a sweep with doubts. `test_id`: the test at this value, and
    `run_id` the last of its runs, None before it has one.
    """

    value: float
    figures: Figures | None
    is_trusted: bool
    is_usable: bool
    n_trusted: int
    n_runs: int
    trust: str
    target_state: str
    rate: MeanInterval | None = None
    mean_us: MeanInterval | None = None
    why: str = ""
    speed_up: float | None = None
    efficiency: float | None = None
    against: PointAgainst | None = None
    doubts: tuple[Doubt, ...] = ()
    vitals: Mapping[str, float] = field(default_factory=dict)
    test_id: int | None = None
    run_id: int | None = None

    @property
    def rate_per_s(self) -> float | None:
        return self.figures.rate_per_s if self.figures else None

    @property
    def mean_ms(self) -> float | None:
        return in_ms(self.figures and self.figures.mean_us)

    @property
    def p95_ms(self) -> float | None:
        if self.figures is None or shown(self.figures.n, P95) is Shown.NO:
            return None
        return in_ms(self.figures.percentiles[P95])

    @property
    def error_share(self) -> float | None:
        return self.figures.error_share if self.figures else None

    @property
    def under_way(self) -> float | None:
        """Requests under way on average, by Little's law: throughput × mean response time."""
        if self.rate_per_s is None or self.mean_ms is None:
            return None
        return self.rate_per_s * self.mean_ms / 1000

    @property
    def rate_ends(self) -> tuple[float, float] | None:
        """The 95 % interval of the throughput between repeats."""
        return _ends(self.rate)

    @property
    def mean_ends_ms(self) -> tuple[float, float] | None:
        ends = _ends(self.mean_us)
        return ends and (ends[0] / 1000, ends[1] / 1000)


def of_runs(runs: Sequence[Figures]) -> tuple[MeanInterval | None, MeanInterval | None]:
    """Throughput and mean time over these runs of one point."""
    means = [each.mean_us for each in runs if each.mean_us is not None]
    rates = [each.rate_per_s for each in runs if each.rate_per_s is not None]
    return (mean_interval(rates) if rates else None), (mean_interval(means) if means else None)


def with_speed_up(parameter: str, points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """The points in the order of their values, the trusted ones with their speed-up."""
    ordered = sorted(points, key=lambda point: point.value)
    first = ordered[0]
    if parameter not in DIVIDED or not first.is_trusted or not first.rate_per_s:
        return ordered
    return [_against(point, first) for point in ordered]


def _against(point: SweepPoint, first: SweepPoint) -> SweepPoint:
    if not point.is_trusted or not point.rate_per_s:
        return point
    speed_up = point.rate_per_s / first.rate_per_s
    return replace(point, speed_up=speed_up, efficiency=speed_up * first.value / point.value)


def end_of_growth(points: Sequence[SweepPoint]) -> tuple[SweepPoint, bool] | None:
    """The first trusted point with 95 % of the highest trusted throughput, and whether growth has
    ended there: a trusted point follows. None with fewer than two trusted points."""
    trusted = [point for point in points if point.is_trusted and point.rate_per_s]
    if len(trusted) < 2:
        return None
    most = max(point.rate_per_s for point in trusted)
    index = next(i for i, point in enumerate(trusted) if point.rate_per_s >= PLATEAU * most)
    return trusted[index], index < len(trusted) - 1


def _ends(interval: MeanInterval | None) -> tuple[float, float] | None:
    if interval is None or interval.k < MIN_REPEATS:
        return None
    return interval.low, interval.high
