"""By how much each percentile moved: does the whole distribution shift, or only its tail?

At every percentile the ratio of run-level values, with the interval that averages have
(`judged.ratio`): resampling runs would give intervals that are too narrow with so few of them.
Pointwise: each interval is for its percentile alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.judged.ratio import RatioInterval, ratio_interval
from campaigns.domain.judged.repeats import MIN_REPEATS
from campaigns.domain.measured.figures import percentiles_us
from campaigns.domain.measured.histogram import BUCKET_SHARE
from campaigns.domain.measured.snapshot import Timing
from campaigns.domain.percentiles import Shown, shown

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
