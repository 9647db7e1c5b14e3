"""The shift of percentiles: does the whole distribution move, or only its tail?"""

import pytest

from campaigns.domain.analysis.pair import shift_of
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.percentiles import P50, P99

RUNS = (1.0, 1.01, 0.99, 1.005)


def run(scale: float = 1.0, tail: float = 1.0, n: int = 2000) -> Timing:
    """Evenly spread responses of 1 to 2 ms, the slowest 4 % `tail` times as long."""
    values = [1000 + 1000 * index / n for index in range(n)]
    slow = round(n * 0.96)
    return Timing.of([round(scale * (v if i < slow else v * tail)) for i, v in enumerate(values)])


def side(scale: float = 1.0, tail: float = 1.0, runs=RUNS, n: int = 2000) -> list[Timing]:
    return [run(scale * each, tail, n) for each in runs]


def test_a_distribution_that_moves_as_a_whole_moves_at_every_percentile():
    points = shift_of(side(), side(1.1), paired=False)
    assert [each.ratio for each in points.values()] == pytest.approx([1.1] * len(points), rel=0.01)
    assert all(each.low > 1 for each in points.values())


def test_only_the_tail_may_move():
    points = shift_of(side(), side(tail=1.5), paired=False)
    assert points[P50].ratio == pytest.approx(1.0, abs=0.01)
    assert points[P99].ratio == pytest.approx(1.5, abs=0.02)
    assert points[P50].low < 1 < points[P50].high < points[P99].low


def test_a_percentile_takes_ten_responses_beyond_it_in_every_run():
    points = shift_of(side(n=2000), side(n=900), paired=False)
    assert [*points][-1] == 97_500


def test_fewer_than_three_runs_tell_nothing():
    for runs in [(), (1.0,), (1.0, 1.01)]:
        assert shift_of(side(), side(runs=runs), paired=False) == {}
