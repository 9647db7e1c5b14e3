import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.metrics.figures import curve, percentiles_us, usual_points
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.percentiles import (
    P90,
    P95,
    P99,
    P999,
    Shown,
    binomial_cdf,
    binomial_quantile,
    incomplete_beta,
    jump_in,
    name,
    nearest_rank,
    rank_interval,
    shown,
    t_quantile,
    t_two_sided,
    why_not_shown,
)


def test_the_ranks_of_the_interval_are_exact():
    for n, per_100k, ranks in [
        (10, 50_000, (2, 9)),
        (100, 50_000, (40, 61)),
        (100, 90_000, (84, 96)),
        (100, 95_000, (90, 100)),
        (1000, 50_000, (469, 532)),
        (1000, 90_000, (881, 919)),
        (1000, 99_000, (983, 997)),
        (5000, 99_000, (4936, 4964)),
        (10_000, 99_900, (9983, 9997)),
        (200_000, 99_900, (199_772, 199_828)),
        (200_000, 99_990, (199_971, 199_989)),
    ]:
        assert rank_interval(n, per_100k) == ranks


def test_an_interval_needs_enough_samples():
    for per_100k, two_sided, upper in [
        (50_000, 6, 5),
        (75_000, 13, 11),
        (90_000, 36, 29),
        (95_000, 72, 59),
        (99_000, 368, 299),
        (99_900, 3688, 2995),
        (99_990, 36887, 29956),
    ]:
        assert None not in rank_interval(two_sided, per_100k)
        assert None in rank_interval(two_sided - 1, per_100k)
        assert rank_interval(upper, per_100k, confidence=0.9)[1] is not None
        assert rank_interval(upper - 1, per_100k, confidence=0.9)[1] is None


def test_a_percentile_is_shown_with_ten_samples_beyond_it():
    for per_100k, least in [
        (50_000, 20),
        (75_000, 40),
        (90_000, 100),
        (95_000, 200),
        (99_000, 1000),
        (99_990, 100_000),
    ]:
        assert shown(least, per_100k) is Shown.OK
        assert shown(least - 1, per_100k) is Shown.WEAK
        assert shown(-(-least // 2), per_100k) is Shown.WEAK
        assert shown(least // 2 - 1, per_100k) is Shown.NO


def test_a_hundred_requests_show_p90_and_a_weak_p95_and_no_p99():
    assert [shown(100, q) for q in (P90, P95, P99)] == [Shown.OK, Shown.WEAK, Shown.NO]


def test_the_reason_says_how_many_requests_it_takes():
    assert why_not_shown(1000, P99) == ""
    assert "1,000 requests" in why_not_shown(300, P99)
    assert why_not_shown(0, P99)


def test_percentiles_are_named_as_people_write_them():
    assert [name(q) for q in (50_000, P99, P999, 99_990)] == ["p50", "p99", "p99.9", "p99.99"]


def test_the_nearest_rank_is_computed_in_integers():
    assert nearest_rank(100, P90) == 90
    assert nearest_rank(10, 10_000) == 1
    assert nearest_rank(7, 50_000) == 4


def test_the_curve_reaches_from_p10_to_the_last_sample():
    points = curve(Timing.of(np.arange(1, 1001) * 1000))
    assert points[0]["q"] == 0.1
    assert points[-1]["beyond"] == 1
    by_q = {point["q"]: point for point in points}
    assert by_q[0.99]["ms"] == pytest.approx(990, rel=1e-3)
    assert by_q[0.99]["x"] == pytest.approx(100)
    assert by_q[0.99]["beyond"] == 10
    assert 0.9999 not in by_q


def test_nothing_has_no_curve():
    assert curve(Timing()) == []


@given(st.lists(st.integers(0, 10_000_000), min_size=1, max_size=300))
def test_percentiles_never_fall(values):
    grid = [*range(1000, 100_000, 1000), 99_900]
    by_rank = percentiles_us(Timing.of(values), grid)
    in_order = [by_rank[q] for q in grid]
    assert in_order == sorted(in_order)
    assert min(values) <= in_order[0]
    assert in_order[-1] <= max(values)


def test_the_percentile_of_a_union_is_not_the_average_of_percentiles():
    first = Timing.of([10] * 990 + [100] * 10)
    second = Timing.of([10] * 9 + [1000])
    assert (first.percentile_us(P99), second.percentile_us(P99)) == (10, 1000)
    union = first.merged(second)
    assert union.percentile_us(P99) == 100
    assert union.mean_us == pytest.approx(11.871, abs=5e-4)


def test_the_interval_holds_where_the_percentile_lies_in_a_gap():
    """99 % within 10 to 11 and 1 % from 100 on: anything from 11 to 100 is a p99."""
    for n in [500, 1000, 5000]:
        for truth in [11, 55, 100]:
            source = np.random.default_rng(n)
            is_slow = source.random((1000, n)) < 0.01
            values = np.where(is_slow, 100, 10) + source.random((1000, n))
            values.sort(axis=1)
            low, high = rank_interval(n, P99)
            is_within = (values[:, low - 1] <= truth) & (truth <= values[:, high - 1])
            assert is_within.mean() >= 0.94


def test_a_gap_that_is_most_of_what_a_percentile_may_be_is_a_jump():
    assert jump_in([10.0, 10.4, 11.0, 100.0, 104.0]) == (11, 100)
    assert jump_in([10, 10.5, 11, 11.5]) is None
    assert jump_in([10, 14, 20, 28, 40]) is None
    assert jump_in([10]) is None


def test_a_heavy_tail_is_no_jump():
    source = np.random.default_rng(4)
    low, high = rank_interval(2000, P99)
    tails = np.sort(source.pareto(1.5, (200, 2000)) + 1, axis=1)[:, low - 1 : high]
    assert np.mean([jump_in(tail) is not None for tail in tails]) < 0.02


def test_a_curve_among_very_many_has_the_usual_percentiles_and_its_end():
    points = curve(Timing.of(range(1, 5001)))
    usual = [each["label"] for each in usual_points(points)]
    assert usual[:-1] == ["p10", "p50", "p90", "p95", "p99", "p99.9"]
    assert usual_points(points)[-1] == points[-1]
    assert usual_points([]) == []


def test_a_curve_that_is_not_smooth_has_the_usual_points_alone():
    for n in [1, 30, 5000]:
        timing = Timing.of(range(1, n + 1))
        assert curve(timing, is_smooth=False) == usual_points(curve(timing))


def test_t_quantiles_are_those_of_the_tables():
    for df, t in [
        (1, 12.706205),
        (2, 4.302653),
        (3, 3.182446),
        (4, 2.776445),
        (5, 2.570582),
        (7.9230, 2.30991),
        (8, 2.306004),
        (9, 2.262157),
        (18, 2.100922),
    ]:
        assert t_quantile(0.975, df) == pytest.approx(t, abs=5e-6)


def test_the_t_quantile_undoes_the_tail():
    assert t_two_sided(t_quantile(0.975, 6.5), 6.5) == pytest.approx(0.05, rel=1e-9)


def test_the_beta_function_is_symmetric_and_bounded():
    assert incomplete_beta(2, 3, 0) == 0
    assert incomplete_beta(2, 3, 1) == 1
    assert incomplete_beta(2, 3, 0.3) == pytest.approx(1 - incomplete_beta(3, 2, 0.7))
    assert incomplete_beta(1, 1, 0.25) == pytest.approx(0.25)


@given(n=st.integers(1, 60), p=st.floats(0.01, 0.99), probability=st.floats(0.001, 0.999))
def test_the_binomial_quantile_is_the_first_count_that_reaches_the_probability(n, p, probability):
    k = binomial_quantile(probability, n, p)
    assert binomial_cdf(k, n, p) >= probability
    assert binomial_cdf(k - 1, n, p) < probability


def test_the_binomial_distribution_of_three_coins():
    assert [binomial_cdf(k, 3, 0.5) for k in (-1, 0, 1, 2, 3)] == pytest.approx(
        [0, 0.125, 0.5, 0.875, 1]
    )
