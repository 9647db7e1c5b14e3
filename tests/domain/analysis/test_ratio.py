from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.analysis.ratio import ratio_interval, smallest_shown

A = [100, 102, 98, 101, 99]
B = [110, 113, 108, 111, 109]


def test_the_unpaired_interval_is_the_golden_one_but_for_logarithms_and_neighbours():
    interval = ratio_interval(A, B, paired=False)
    assert interval.ratio == pytest.approx(1.102, abs=1e-4)
    assert interval.se / 1.07 == pytest.approx(0.010533, rel=0.005)
    assert interval.df == pytest.approx(7.9230, abs=0.01)
    assert (interval.low, interval.high) == pytest.approx((1.075513, 1.129140), abs=0.002)


def test_an_arm_without_spread_leaves_the_other_ones_degrees_of_freedom():
    assert ratio_interval([100] * 3, B, paired=False).df == pytest.approx(4)


def test_the_paired_interval_is_the_golden_one_but_for_logarithms_and_neighbours():
    interval = ratio_interval(A, B, paired=True)
    assert (interval.low, interval.high) == pytest.approx((1.097636, 1.106381), abs=3e-4)
    # Student's t of four degrees of freedom.
    assert log(interval.high / interval.low) / 2 == pytest.approx(2.776445 * interval.se)


def test_the_share_s_interval_follows_from_the_ratio_s():
    interval = ratio_interval(A, B, paired=False)
    shares = [100 * (1 - 1 / ratio) for ratio in (interval.ratio, interval.low, interval.high)]
    assert shares == pytest.approx([9.2559, 7.0211, 11.4370], abs=0.2)


def test_a_coarse_clock_widens_the_interval_as_the_golden_one():
    for apache, uniserve, low, high in [
        ([12, 13, 12, 12, 12], [17.428, 17.467, 17.493, 17.468, 17.484], 1.3563, 1.5115),
        ([2] * 5, [3.51, 3.527, 3.518, 3.498, 3.506], 1.4678, 2.1005),
    ]:
        interval = ratio_interval(apache, uniserve, paired=False, resolutions=(1, 0))
        assert (interval.low, interval.high) == pytest.approx((low, high), rel=0.015)
        assert interval.high / interval.low > 1.02 * high / low or interval.low < low


def test_no_spread_at_all_is_widened_to_the_resolution():
    interval = ratio_interval([100] * 3, [100] * 3, paired=True, resolutions=(1, 1))
    assert interval.low < 1 < interval.high


def test_equal_values_without_a_resolution_have_no_width():
    interval = ratio_interval([100] * 3, [100] * 3, paired=False)
    assert (interval.low, interval.high, interval.p_value) == (1, 1, 1)


def test_an_arm_without_time_has_no_ratio():
    assert ratio_interval([0, 0, 0], [1, 2, 3], paired=False) is None
    assert ratio_interval([1], [1, 2], paired=False) is None


def test_a_run_that_hung_widens_the_interval_to_both_sides():
    for k in [3, 5]:
        for is_paired in [True, False]:
            interval = ratio_interval(A[:k], [B[0] * 64, *B[1:k]], paired=is_paired)
            assert interval.low < 1 < interval.high


def runs_needed(cv: float, difference: float) -> int:
    """Runs in each arm from which this difference would have shown at this spread."""
    some = ratio_interval(A, B, paired=False)
    return next(
        k
        for k in range(2, 40)
        if smallest_shown(replace(some, se=cv * sqrt(2 / k), df=2.0 * k - 2)) <= difference
    )


def test_it_agrees_with_the_table_of_runs_for_80_percent_power():
    for cv, difference, runs in [
        (0.01, 0.01, 17),
        (0.01, 0.05, 3),
        (0.02, 0.03, 9),
        (0.03, 0.03, 18),
        (0.03, 0.10, 3),
        (0.05, 0.05, 18),
        (0.05, 0.10, 6),
        (0.10, 0.10, 19),
        (0.10, 0.20, 6),
    ]:
        assert runs_needed(cv, difference) == runs


def test_a_difference_of_that_size_is_shown_in_about_four_of_five_cases():
    source, cv, k = np.random.default_rng(11), 0.03, 5
    some = ratio_interval(A, B, paired=False)
    size = smallest_shown(replace(some, se=1.05 * cv * sqrt(2 / k), df=2.0 * k - 2))
    n_shown = 0
    for _ in range(400):
        arms = 20_000 * np.exp(source.normal(0, cv, (2, k)))
        interval = ratio_interval(list(arms[0]), list(arms[1] * (1 + size)), paired=False)
        n_shown += interval.low > 1
    assert 0.74 <= n_shown / 400 <= 0.86


runs = st.lists(st.floats(1, 1e6), min_size=3, max_size=8)
blocks_of_two = st.lists(st.tuples(st.floats(1, 1e6), st.floats(1, 1e6)), min_size=3, max_size=8)


def figures(interval) -> tuple:
    return interval.ratio, interval.low, interval.high, interval.p_value


@given(runs, runs, st.randoms())
def test_the_order_of_unpaired_runs_does_not_matter(baseline, candidate, random):
    other_order = random.sample(baseline, len(baseline))
    first = ratio_interval(baseline, candidate, paired=False)
    assert figures(ratio_interval(other_order, candidate, paired=False)) == figures(first)


@given(blocks_of_two, st.randoms())
def test_the_order_of_the_blocks_does_not_matter(blocks, random):
    def interval(pairs):
        return figures(ratio_interval([a for a, _ in pairs], [b for _, b in pairs], paired=True))

    assert interval(random.sample(blocks, len(blocks))) == interval(blocks)


@given(runs, runs)
def test_exchanging_the_arms_inverts_the_ratio(baseline, candidate):
    there = ratio_interval(baseline, candidate, paired=False)
    back = ratio_interval(candidate, baseline, paired=False)
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert log(back.low) == pytest.approx(-log(there.high), abs=1e-9)


@given(blocks_of_two, st.floats(0.1, 10))
def test_another_unit_changes_no_ratio(blocks, factor):
    there = ratio_interval(*zip(*blocks, strict=True), paired=True)
    elsewhere = ratio_interval(
        *([x * factor for x in arm] for arm in zip(*blocks, strict=True)), paired=True
    )
    assert elsewhere.ratio == pytest.approx(there.ratio, rel=1e-6)


@given(st.integers(3, 10), st.floats(1.5, 1000), st.integers(0, 2**32))
def test_one_wild_run_among_equals_never_leaves_one_out(k, times, seed):
    """Where all others are alike to a thousandth, whatever one run took."""
    source = np.random.default_rng(seed)
    baseline, candidate = 1000 * np.exp(source.normal(0, 0.001, (2, k)))
    candidate[0] *= times
    interval = ratio_interval(list(baseline), list(candidate), paired=True)
    assert interval.low < 1.01
    assert interval.high > 0.99
