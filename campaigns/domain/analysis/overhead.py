"""The cost of HTTPS over HTTP as two named percentages, its split into parts, and by how much each
percentile moved: does the whole distribution shift, or only its tail?

increase = (HTTPS − HTTP) / HTTP: how much longer HTTPS takes. share = (HTTPS − HTTP) / HTTPS: how
much of the HTTPS time is overhead. Only means can be split into parts; percentiles do not add up.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, fsum, log
from statistics import fmean

from campaigns.domain.analysis.messages import say
from campaigns.domain.analysis.ratio import RatioInterval, Word, ratio_interval, word_of
from campaigns.domain.analysis.repeats import MIN_REPEATS
from campaigns.domain.metrics.figures import SHOWN_PERCENTILES, Figures, percentiles_us
from campaigns.domain.metrics.histogram import BUCKET_SHARE
from campaigns.domain.metrics.snapshot import PARTS, Timing, Total
from campaigns.domain.percentiles import P50, WHOLE, Shown, name, shown, why_not_shown
from campaigns.domain.units import figure, with_unit

SPLIT_PARTS = (*PARTS, "lateness")


def increase(baseline: float, candidate: float) -> float | None:
    """(HTTPS − HTTP) / HTTP, 0.543 for 54.3 % more; None if HTTP is not above 0."""
    return (candidate - baseline) / baseline if baseline > 0 else None


def share(baseline: float, candidate: float) -> float | None:
    """(HTTPS − HTTP) / HTTPS, the share of the HTTPS time; None if HTTPS is not above 0."""
    return (candidate - baseline) / candidate if candidate > 0 else None


@dataclass(frozen=True, slots=True)
class OverheadRow:
    """One metric of both arms, µs. `why` says why a figure or the interval is missing, `note` that
    there can be no interval although both have enough runs. `flow`: of whose requests it is, "" for
    all; such a row has a `word` of its own."""

    metric: str
    baseline_us: float | None
    candidate_us: float | None
    interval: RatioInterval | None = None
    weak: bool = False
    why: str = ""
    note: str = ""
    flow: str = ""
    word: Word | None = None

    def of_flow(self, name: str, threshold: float) -> "OverheadRow":
        low, high = self.ends
        word = None if low is None else word_of(low, high, threshold)
        return replace(self, flow=name, word=word)

    @property
    def _is_whole(self) -> bool:
        return self.baseline_us is not None and self.candidate_us is not None

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Of the interval, if it is told; (None, None) with fewer than three runs."""
        found = self.interval
        return (None, None) if found is None or found.k < MIN_REPEATS else (found.low, found.high)

    @property
    def difference_us(self) -> float | None:
        return self.candidate_us - self.baseline_us if self._is_whole else None

    @property
    def ratio(self) -> float | None:
        """The interval's ratio; without an interval, the ratio of the two figures."""
        if self.interval:
            return self.interval.ratio
        return (
            self.candidate_us / self.baseline_us
            if self._is_whole and self.baseline_us > 0
            else None
        )

    @property
    def increase(self) -> float | None:
        return None if self.ratio is None else increase(1, self.ratio)

    @property
    def share(self) -> float | None:
        return None if self.ratio is None else share(1, self.ratio)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Both arms' usable runs and their block numbers."""

    baseline: Sequence[Figures]
    candidate: Sequence[Figures]
    repeats: tuple[Sequence[int], Sequence[int]]
    is_paired: bool

    def interval(self, value: Callable[[Figures], float | None]) -> RatioInterval | None:
        """The interval of one run-level value; paired, over blocks in which both arms have it."""
        known = [
            {repeat: us for repeat, run in zip(repeats, runs, strict=True) if (us := value(run))}
            for repeats, runs in zip(self.repeats, (self.baseline, self.candidate), strict=True)
        ]
        if self.is_paired:
            whole = [repeat for repeat in known[0] if repeat in known[1]]
            known = [{repeat: arm[repeat] for repeat in whole} for arm in known]
        baseline, candidate = (list(arm.values()) for arm in known)
        steps = tuple(
            max(1.0, fmean(arm) * BUCKET_SHARE) if arm else 1.0 for arm in (baseline, candidate)
        )
        return ratio_interval(baseline, candidate, paired=self.is_paired, resolutions=steps)


def overhead_rows(
    baseline: Sequence[Figures],
    candidate: Sequence[Figures],
    *,
    paired: bool,
    repeats: tuple[Sequence[int], Sequence[int]] | None = None,
    jumps: Mapping[int, tuple[float, float]] | None = None,
) -> list[OverheadRow]:
    """Average, min, percentiles and max of two sets of usable runs.

    Average and percentiles are means of run-level values with an interval; min and max are over
    all requests and have none. `repeats` are the runs' block numbers, by default from 1. Paired:
    the interval is over the blocks that both arms have. `jumps` as from `jumps_us`: a percentile
    at a jump has no interval.
    """
    numbers = repeats or (range(1, len(baseline) + 1), range(1, len(candidate) + 1))
    arms = _Compared(baseline, candidate, numbers, paired)
    return [
        _mean_row("mean", arms, lambda run: run.mean_us),
        _extreme_row("min", min, baseline, candidate),
        *(_percentile_row(q, arms, (jumps or {}).get(q)) for q in SHOWN_PERCENTILES),
        _extreme_row("max", max, baseline, candidate),
    ]


def metric_row(
    metric: str,
    baseline: Sequence[Figures],
    candidate: Sequence[Figures],
    *,
    paired: bool,
    repeats: tuple[Sequence[int], Sequence[int]],
) -> OverheadRow:
    """The row of one metric of `Figures.time_us`, without the work for the others."""
    arms = _Compared(baseline, candidate, repeats, paired)
    return _mean_row(metric, arms, lambda run: run.time_us(metric))


def widened(row: OverheadRow, failures: Sequence[tuple[float, Timing]]) -> OverheadRow:
    """A row of medians, whose interval holds whatever the failed requests would have taken.
    `failures`: of baseline and candidate the share e that failed, below a half, and the response
    times of the others, whose median then lies between their quantiles 0.5 − e and 0.5 + e."""
    if row.interval is None:
        return row
    (low_a, high_a), (low_b, high_b) = (
        [_share_of_median(timing, P50 + sign * round(share * WHOLE)) for sign in (-1, 1)]
        for share, timing in failures
    )
    interval = row.interval
    low, high = interval.low * low_b / high_a, interval.high * high_b / low_a
    return replace(row, interval=replace(interval, low=low, high=high))


def _share_of_median(timing: Timing, per_100k: int) -> float:
    return max(timing.percentile_us(per_100k), 1.0) / max(timing.percentile_us(P50), 1.0)


def percentile_row(
    metric: str,
    baseline: Sequence[Figures],
    candidate: Sequence[Figures],
    *,
    paired: bool,
    repeats: tuple[Sequence[int], Sequence[int]],
    totals: Sequence[Total],
) -> OverheadRow:
    """The row of "p95" or another percentile of `overhead_rows`, without the work for the others;
    `totals` are those of all the runs."""
    q = next(q for q in SHOWN_PERCENTILES if name(q) == metric)
    arms = _Compared(baseline, candidate, repeats, paired)
    return _percentile_row(q, arms, _jump_us(q, totals))


def _mean_row(
    metric: str,
    arms: _Compared,
    value: Callable[[Figures], float | None],
    *,
    weak: bool = False,
    why: str = "",
) -> OverheadRow:
    known = [
        [us for run in arm if (us := value(run)) is not None]
        for arm in (arms.baseline, arms.candidate)
    ]
    if not all(known):
        return OverheadRow(metric, None, None, why=why or say("no_runs"))
    interval = arms.interval(value)
    if interval is None:
        why = why or say("interval_of_runs")
    return OverheadRow(metric, *map(fmean, known), interval, weak, why)


def _extreme_row(metric: str, pick, baseline: Sequence[Figures], candidate: Sequence[Figures]):
    values = [
        [each for run in arm if (each := getattr(run, f"{metric}_us")) is not None]
        for arm in (baseline, candidate)
    ]
    if not all(values):
        return OverheadRow(metric, None, None, why=say("no_runs"))
    why = say("one_request", metric=metric)
    return OverheadRow(metric, float(pick(values[0])), float(pick(values[1])), why=why)


def _percentile_row(q: int, arms: _Compared, jump: tuple[float, float] | None) -> OverheadRow:
    fewest = min((run.n for run in (*arms.baseline, *arms.candidate)), default=0)
    visible = shown(fewest, q)
    why = why_not_shown(fewest, q)
    if visible is Shown.NO:
        return OverheadRow(name(q), None, None, why=why)
    weak = visible is Shown.WEAK
    row = _mean_row(name(q), arms, lambda run: run.percentiles.get(q), weak=weak, why=why)
    if not jump or row.interval is None:
        return row
    low, high = (figure(us / 1000) for us in jump)
    why = say("at_a_jump", metric=name(q), low=low, high=with_unit(high, "ms"))
    return replace(row, interval=None, why=f"{row.why} {why}".strip(), note=why)


def jumps_us(totals: Sequence[Total]) -> dict[int, tuple[float, float]]:
    """The percentiles at a jump in any of these runs, with the jump's two sides."""
    jumps = {q: _jump_us(q, totals) for q in SHOWN_PERCENTILES}
    return {q: jump for q, jump in jumps.items() if jump}


def _jump_us(q: int, totals: Sequence[Total]) -> tuple[float, float] | None:
    found = (total.timing("response").jump_us(q) for total in totals)
    return next(filter(None, found), None)


def part_means_us(totals: Sequence[Total]) -> dict[str, float | None]:
    """The mean response time by parts: mean over runs of each part's time per request, µs.

    A part that only some requests have counts as 0 for the others; one that never occurred is
    None. `lateness` is the remainder, by definition the delay in sending, so the parts add up to
    the mean.
    """
    runs = [total for total in totals if total.timing("response").n]
    if not runs:
        return dict.fromkeys(SPLIT_PARTS)
    parts: dict[str, float | None] = {
        part: fmean([run.timing(part).sum_us / run.timing("response").n for run in runs])
        if any(run.timing(part).n for run in runs)
        else None
        for part in PARTS
    }
    whole = fmean([run.timing("response").mean_us for run in runs])
    parts["lateness"] = whole - sum(value for value in parts.values() if value is not None)
    return parts


Runs = Mapping[int, float]  # block → mean response time in µs


def ratio_over_plans(plans: Sequence[tuple[Runs, Runs]], *, in_blocks: bool) -> OverheadRow:
    """Geometric means over the plans of both arms, and their ratio, candidate / baseline.

    `plans`: the runs of baseline and candidate at each plan, none empty. The interval is Student's
    t over the blocks: of each block that both have at all plans, the mean over the plans of the
    logarithms of the paired ratios. Plans of one block share its conditions, so they are not
    counted as independent. Without enough such blocks there is a ratio and no interval.
    """
    shared = sorted(set.intersection(*(set(runs) for arms in plans for runs in arms)))
    baseline_us, candidate_us = (
        geometric_mean([fmean(arms[number].values()) for arms in plans]) for number in (0, 1)
    )
    if not in_blocks or len(shared) < MIN_REPEATS:
        why = say("interval_of_blocks", where=" of all plans") if in_blocks else say("no_blocks")
        return OverheadRow("mean", baseline_us, candidate_us, why=why)
    blocks = [
        [geometric_mean([arms[number][block] for arms in plans]) for block in shared]
        for number in (0, 1)
    ]
    interval = ratio_interval(*blocks, paired=True)
    return OverheadRow("mean", baseline_us, candidate_us, interval)


def geometric_mean(values: Sequence[float]) -> float:
    """Of values above 0."""
    return exp(fsum(map(log, values)) / len(values))


PERCENTILES = (
    *(10_000, 25_000, 50_000, 75_000, 90_000, 95_000),
    *(97_500, 99_000, 99_500, 99_900, 99_990),
)


@dataclass(frozen=True, slots=True)
class ShiftPoint:
    """The ratio candidate / baseline at one percentile (q in 1/100,000)."""

    q: int
    interval: RatioInterval


def shift_of(
    baseline: Sequence[Timing], candidate: Sequence[Timing], *, paired: bool
) -> list[ShiftPoint]:
    """The points of all percentiles that every run supports with ten responses beyond; [] with
    fewer than three runs on a side. `paired`: both have the same blocks in the same order."""
    sides = (baseline, candidate)
    if min(map(len, sides)) < MIN_REPEATS:
        return []
    fewest = min(timing.n for side in sides for timing in side)
    known = [q for q in PERCENTILES if shown(fewest, q) is Shown.OK]
    values = [[percentiles_us(timing, known) for timing in side] for side in sides]
    points = []
    for q in known:
        first, second = ([each[q] for each in side] for side in values)
        steps = (BUCKET_SHARE * max(first), BUCKET_SHARE * max(second))
        interval = ratio_interval(first, second, paired=paired, resolutions=steps)
        if interval:
            points.append(ShiftPoint(q, interval))
    return points
