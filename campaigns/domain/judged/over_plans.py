"""One ratio of two arms over several plans: each plan counts alike, a block is one observation."""

from collections.abc import Mapping, Sequence
from math import exp, fsum, log
from statistics import fmean

from campaigns.domain.judged.overhead import OverheadRow
from campaigns.domain.judged.ratio import ratio_interval
from campaigns.domain.judged.repeats import MIN_REPEATS

Runs = Mapping[int, float]  # block → mean response time in µs

_NO_BLOCKS = "Not run in counterbalanced blocks, so the plans' differences have no joint interval."
_FEW_BLOCKS = f"An interval needs {MIN_REPEATS} blocks in which both have usable runs of all plans."


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
        why = _FEW_BLOCKS if in_blocks else _NO_BLOCKS
        return OverheadRow("mean", baseline_us, candidate_us, why=why)
    blocks = [
        [geometric_mean([arms[number][block] for arms in plans]) for block in shared]
        for number in (0, 1)
    ]
    interval = ratio_interval(*blocks, paired=True, repeats=(shared, shared))
    return OverheadRow("mean", baseline_us, candidate_us, interval)


def geometric_mean(values: Sequence[float]) -> float:
    """Of values above 0."""
    return exp(fsum(map(log, values)) / len(values))
