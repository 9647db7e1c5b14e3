"""What two sides of a comparison differ by: one figure of both, its ratio with an interval, the
word for it, and why there is none. From runs, of which each gives one value; what arms that took
turns differ by is in side_by_side.py, and is told by the same `PairResult`.

The cost of HTTPS over HTTP is two named percentages. increase = (HTTPS − HTTP) / HTTP: how much
longer HTTPS takes. share = (HTTPS − HTTP) / HTTPS: how much of the HTTPS time is overhead. Only
means can be split into parts; percentiles do not add up.

Method and constants: docs/measuring.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import exp, fsum, log
from statistics import fmean

from campaigns.domain.analysis.messages import MESSAGES, say
from campaigns.domain.analysis.ratio import (
    BOUNDED,
    MIN_REPEATS,
    RatioInterval,
    Word,
    more_repeats,
    ratio_interval,
    word_of,
)
from campaigns.domain.analysis.side_by_side import CONFIDENCE
from campaigns.domain.metrics.figures import SHOWN_PERCENTILES, Figures, percentiles_us
from campaigns.domain.metrics.histogram import BUCKET_SHARE
from campaigns.domain.metrics.snapshot import PARTS, Timing, Total
from campaigns.domain.percentiles import P50, WHOLE, Shown, name, shown, why_not_shown
from campaigns.domain.units import counted, figure, with_unit

SPLIT_PARTS = (*PARTS, "lateness")
FLOOR_US = 10.0  # a smaller difference of times is no practical one
_MOST = 400  # repeats that a campaign can have


class Reason(StrEnum):
    """Why a comparison has no word."""

    TOO_FEW_REPEATS = "too_few_repeats"
    ORDER_CONFOUNDED = "order_confounded"
    NOT_LIKE_FOR_LIKE = "not_like_for_like"
    ERRORS = "errors"
    UNLIKE_LOAD = "unlike_load"
    NO_ROUNDS = "no_rounds"


Blocker = tuple[Reason, str]  # why there can be no word, and its sentence


def increase(baseline: float, candidate: float) -> float | None:
    """(HTTPS − HTTP) / HTTP, 0.543 for 54.3 % more; None if HTTP is not above 0."""
    return (candidate - baseline) / baseline if baseline > 0 else None


def share(baseline: float, candidate: float) -> float | None:
    """(HTTPS − HTTP) / HTTPS, the share of the HTTPS time; None if HTTPS is not above 0."""
    return (candidate - baseline) / candidate if candidate > 0 else None


@dataclass(frozen=True, slots=True)
class PairResult:
    """One metric of two sides, by default times in µs. `why`: why a figure or the interval is
    missing; `note`: that there can be no interval although both have enough runs. `flow`: of whose
    requests it is, "" for all.

    `word` is None where nothing may be said, and of the figures that no verdict is on. `text`: why
    there is none, or what would settle one that is only bounded; `more`: about how many more
    repeats that takes, None if no number of them is known to, and `more_s` how many seconds of
    turns. `or_more`: the machine hides a part of the difference. `has_size`: else only the
    direction is known, and `text` says why.
    """

    metric: str
    baseline: float | None = None
    candidate: float | None = None
    interval: RatioInterval | None = None
    weak: bool = False
    why: str = ""
    note: str = ""
    flow: str = ""
    word: Word | None = None
    text: str = ""
    reason: Reason | None = None
    more: int | None = None
    more_s: float | None = None
    or_more: bool = False
    has_size: bool = True

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Of the interval, if it is told; (None, None) with fewer than three runs."""
        interval = self.interval
        return (
            (None, None)
            if interval is None or interval.k < MIN_REPEATS
            else (interval.low, interval.high)
        )

    @property
    def difference(self) -> float | None:
        return None if None in (self.baseline, self.candidate) else self.candidate - self.baseline

    @property
    def ratio(self) -> float | None:
        """The interval's ratio; without an interval, the ratio of the two figures."""
        if self.interval:
            return self.interval.ratio
        has_ratio = self.difference is not None and self.baseline > 0
        return self.candidate / self.baseline if has_ratio else None

    @property
    def increase(self) -> float | None:
        return None if self.ratio is None else increase(1, self.ratio)

    @property
    def share(self) -> float | None:
        return None if self.ratio is None else share(1, self.ratio)

    def of_rounds(self, ratio: RatioInterval | None) -> "PairResult":
        """With the ratio that rounds have, and the confidence of all looks together."""
        if ratio is None or self.difference is None:
            return self
        interval = ratio.around(self.baseline, self.candidate, CONFIDENCE)
        return replace(self, interval=interval, why="", note="")

    def of_flow(self, flow: str, threshold: float) -> "PairResult":
        low, high = self.ends
        word = None if low is None else word_of(low, high, threshold)
        return replace(self, flow=flow, word=word)

    def without_word(self, reason: Reason | None, text: str) -> "PairResult":
        row = {"word": None, "reason": reason, "text": text}
        return replace(self, **row, more=None, more_s=None, or_more=False, has_size=True)

    def judged(
        self, threshold: float, *, floor: float = FLOOR_US, blockers: Sequence[Blocker] = ()
    ) -> "PairResult":
        """With the word for a metric of which less is better (times).

        `threshold` is the practical one (0.05 is 5 %), `floor` the smallest difference, in the
        values' unit, that counts as faster or slower. `blockers` are reasons found elsewhere
        (order, errors, unlike arms): the first one leaves the comparison without a word.
        """
        row, interval = self.without_word(None, ""), self.interval
        if blockers:
            return row.without_word(*blockers[0])
        if interval is None or interval.k < MIN_REPEATS:
            k = interval.k if interval else 0
            text = say("too_few_repeats", have=f"; {k} can be used" if k else "")
            row = row.without_word(Reason.TOO_FEW_REPEATS, text)
            return replace(row, more=MIN_REPEATS - k)
        word = word_of(interval.low, interval.high, threshold)
        if word in BOUNDED and interval.is_of_campaigns:
            return replace(row, word=word, text=MESSAGES["not_in_turn"].remedy)
        if word in BOUNDED:
            more = more_repeats(interval, threshold)
            unit = "more blocks" if interval.is_paired else "more repeats"
            settle = say("settle", more=counted(more, unit))
            if more > _MOST:
                settle = say("settle_most", more=f"{_MOST} {unit}")
            return replace(row, word=word, text=settle, more=more)
        is_tiny = abs(interval.candidate - interval.baseline) <= floor
        return replace(row, word=Word.SAME if is_tiny else word)


# The usable runs of baseline and candidate, by block; of sides without common blocks by any number.
Sides = Sequence[Mapping[int, Figures]]


def overhead_rows(sides: Sides, *, paired: bool, totals: Sequence[Total] = ()) -> list[PairResult]:
    """Average, min, percentiles and max of two sets of usable runs, whose `totals` these are.

    Average and percentiles are means of run-level values with an interval; min and max are over
    all requests and have none. Paired: the interval is over the blocks that both sides have.
    """
    percentiles = (
        percentile_row(name(q), sides, paired=paired, totals=totals) for q in SHOWN_PERCENTILES
    )
    return [
        metric_row("mean", sides, paired=paired),
        _extreme_row("min", min, sides),
        *percentiles,
        _extreme_row("max", max, sides),
    ]


def metric_row(
    metric: str, sides: Sides, *, paired: bool, weak: bool = False, why: str = ""
) -> PairResult:
    """The row of one metric of `Figures.time_us`, without the work for the others."""
    values = [{block: run.time_us(metric) for block, run in side.items()} for side in sides]
    return times_row(metric, values, paired=paired, weak=weak, why=why)


def times_row(
    metric: str,
    sides: Sequence[Mapping[int, float | None]],
    *,
    paired: bool,
    weak: bool = False,
    why: str = "",
) -> PairResult:
    """Of a time of each run in µs, None where it has none. The means are of all runs."""
    times = [{block: us for block, us in side.items() if us is not None} for side in sides]
    if not all(times):
        return PairResult(metric, why=why or say("no_runs"))
    means = [fmean(side.values()) for side in times]
    arms = _values_in_order(
        [{block: us for block, us in side.items() if us} for side in times], paired
    )
    steps = [max(1.0, fmean(arm) * BUCKET_SHARE) if arm else 1.0 for arm in arms]
    interval = ratio_interval(*arms, paired=paired, resolutions=steps)
    if interval is None:
        why = why or say("interval_of_runs")
    return PairResult(metric, *means, interval, weak, why)


def percentile_row(
    metric: str, sides: Sides, *, paired: bool, totals: Sequence[Total]
) -> PairResult:
    """The row of "p95" or another percentile. At a jump in any of the `totals` it has no interval:
    a run's is now on one side, now on the other."""
    q = next(q for q in SHOWN_PERCENTILES if name(q) == metric)
    fewest = min((run.n for side in sides for run in side.values()), default=0)
    visible, why = shown(fewest, q), why_not_shown(fewest, q)
    if visible is Shown.NO:
        return PairResult(metric, why=why)
    row = metric_row(metric, sides, paired=paired, weak=visible is Shown.WEAK, why=why)
    jumps_us = (total.timing("response").jump_us(q) for total in totals)
    if row.interval is None or not (jump := next(filter(None, jumps_us), None)):
        return row
    low, high = (figure(us / 1000) for us in jump)
    why = say("at_a_jump", metric=metric, low=low, high=with_unit(high, "ms"))
    return replace(row, interval=None, why=f"{row.why} {why}".strip(), note=why)


def _values_in_order(sides: Sequence[Mapping[int, float]], paired: bool) -> list[list[float]]:
    """The values of both sides; paired, of the blocks that both have."""
    if not paired:
        return [[*side.values()] for side in sides]
    both = [block for block in sides[0] if block in sides[1]]
    return [[side[block] for block in both] for side in sides]


def _extreme_row(metric: str, pick, sides: Sides) -> PairResult:
    values = [
        [each for run in side.values() if (each := getattr(run, f"{metric}_us")) is not None]
        for side in sides
    ]
    if not all(values):
        return PairResult(metric, why=say("no_runs"))
    baseline, candidate = (float(pick(each)) for each in values)
    return PairResult(metric, baseline, candidate, why=say("one_request", metric=metric))


def widened(row: PairResult, failures: Sequence[tuple[float, Timing]]) -> PairResult:
    """A row of medians, whose interval holds whatever the failed requests would have taken.
    `failures`: of baseline and candidate the share e that failed, below a half, and the response
    times of the others, whose median then lies between their quantiles 0.5 − e and 0.5 + e."""
    if row.interval is None:
        return row
    (low_a, high_a), (low_b, high_b) = (
        [
            max(timing.percentile_us(P50 + sign * round(share * WHOLE)), 1.0)
            / max(timing.percentile_us(P50), 1.0)
            for sign in (-1, 1)
        ]
        for share, timing in failures
    )
    interval = row.interval
    low, high = interval.low * low_b / high_a, interval.high * high_b / low_a
    return replace(row, interval=replace(interval, low=low, high=high))


def amount_row(
    metric: str,
    baseline: Mapping[int, float],
    candidate: Mapping[int, float],
    *,
    paired: bool,
    steps: Sequence[float] = (0.0, 0.0),
) -> PairResult:
    """Of an amount that each run has, by block. `steps`: the least that what was counted can tell
    apart, of both sides."""
    sides = _values_in_order([baseline, candidate], paired)
    means = (fmean(each) if each else None for each in sides)
    return PairResult(metric, *means, ratio_interval(*sides, paired=paired, resolutions=steps))


@dataclass(frozen=True, slots=True)
class RunCost:
    """What a run cost: CPU seconds per 1,000 requests, or bytes per request. `step`: the least that
    what was counted can tell apart, in the same unit."""

    amount: float
    step: float


TICK_S = 0.01  # the kernel counts CPU time in hundredths of a second


def cost_difference(
    baseline: Mapping[int, RunCost],
    candidate: Mapping[int, RunCost],
    *,
    paired: bool,
    threshold: float,
    blocker: str = "",
) -> PairResult:
    """Of the costs by block. `threshold`: the practical one, 0.05 for 5 %. `blocker`: why no word
    may be said whatever the figures are, such as too many errors."""
    sides = (baseline, candidate)
    amounts = [{block: cost.amount for block, cost in side.items()} for side in sides]
    steps = [max((cost.step for cost in side.values()), default=0.0) for side in sides]
    row = amount_row("cost", *amounts, paired=paired, steps=steps)
    low, high = row.ends
    if low is None:
        return row.without_word(Reason.TOO_FEW_REPEATS, say("too_few_repeats", have=""))
    if blocker:
        return row.without_word(None, blocker)
    word = word_of(low, high, threshold)
    return replace(row, word=word, text=say("too_varied") if word in BOUNDED else "")


Runs = Mapping[int, float]  # block → mean response time in µs


def ratio_over_plans(plans: Sequence[tuple[Runs, Runs]], *, in_blocks: bool) -> PairResult:
    """Geometric means over the plans of both arms, and their ratio, candidate / baseline.

    `plans`: the runs of baseline and candidate at each plan, none empty. The interval is Student's
    t over the blocks: of each block that both have at all plans, the mean over the plans of the
    logarithms of the paired ratios. Plans of one block share its conditions, so they are not
    counted as independent. Without enough such blocks there is a ratio and no interval.
    """
    blocks_of_both = sorted(set.intersection(*(set(runs) for arms in plans for runs in arms)))
    means_us = [
        geometric_mean([fmean(arms[number].values()) for arms in plans]) for number in (0, 1)
    ]
    if not in_blocks or len(blocks_of_both) < MIN_REPEATS:
        why = say("interval_of_blocks", where=" of all plans") if in_blocks else say("no_blocks")
        return PairResult("mean", *means_us, why=why)
    block_means = [
        [geometric_mean([arms[number][block] for arms in plans]) for block in blocks_of_both]
        for number in (0, 1)
    ]
    return PairResult("mean", *means_us, ratio_interval(*block_means, paired=True))


def geometric_mean(values: Sequence[float]) -> float:
    """Of values above 0."""
    return exp(fsum(map(log, values)) / len(values))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values corrected for multiple comparisons (Holm's step-down), in the same order."""
    corrections, worst = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    for rank, index in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrections[index] = worst
    return corrections


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


PERCENTILES = (
    *(10_000, 25_000, 50_000, 75_000, 90_000, 95_000),
    *(97_500, 99_000, 99_500, 99_900, 99_990),
)


def shift_of(
    baseline: Sequence[Timing], candidate: Sequence[Timing], *, paired: bool
) -> dict[int, RatioInterval]:
    """By how much each percentile moved, in 1/100,000: does the whole distribution shift, or only
    its tail? All percentiles that every run supports with ten responses beyond; {} with fewer than
    three runs on a side. `paired`: both have the same blocks in the same order."""
    sides = (baseline, candidate)
    if min(map(len, sides)) < MIN_REPEATS:
        return {}
    fewest = min(timing.n for side in sides for timing in side)
    ranks = [q for q in PERCENTILES if shown(fewest, q) is Shown.OK]
    values = [[percentiles_us(timing, ranks) for timing in side] for side in sides]
    intervals = {}
    for q in ranks:
        first, second = ([each[q] for each in side] for side in values)
        steps = (BUCKET_SHARE * max(first), BUCKET_SHARE * max(second))
        if interval := ratio_interval(first, second, paired=paired, resolutions=steps):
            intervals[q] = interval
    return intervals
