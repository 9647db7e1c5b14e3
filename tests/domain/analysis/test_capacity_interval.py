"""The interval of a capacity, its trend, and one capacity against another."""

from math import exp, log, sqrt

import pytest

from campaigns.domain.analysis.capacity import (
    CapacityInterval,
    CapacityWord,
    SearchResult,
    capacity_of,
    capacity_ratio,
    capacity_word,
    trend_of,
)
from campaigns.domain.percentiles import t_quantile


def searches(*rates: float, step: float = 1.02) -> list[SearchResult]:
    half = sqrt(step)
    return [SearchResult(r / half, r * half, 10.0 + 5 * n) for n, r in enumerate(rates)]


def test_it_is_the_geometric_mean():
    assert capacity_of(searches(1000, 2000, 4000)).rate_per_s == pytest.approx(2000)


def test_fewer_than_three_searches_have_no_interval():
    assert capacity_of([]) is None
    found = capacity_of(searches(1890, 1810))
    assert (found.low, found.high) == (None, None)


def test_the_interval_is_t_on_logarithms_plus_half_a_step():
    """Neighbours that differ most are not alike, so nothing widens it."""
    found = capacity_of(searches(1000, 1100, 1000, 1100, 1000))
    logs = [log(each) for each in (1000, 1100, 1000, 1100, 1000)]
    centre = sum(logs) / 5
    sd = sqrt(sum((each - centre) ** 2 for each in logs) / 4)
    half = t_quantile(0.975, 4) * sd / sqrt(5) + log(1.02) / 2
    assert (found.low, found.high) == pytest.approx((exp(centre - half), exp(centre + half)))


def test_results_that_resemble_their_neighbours_widen_it():
    mixed = capacity_of(searches(1000, 1080, 1010, 1090, 1020))
    alike = capacity_of(searches(1000, 1010, 1020, 1080, 1090))
    assert alike.width > 1.4 * mixed.width


def test_a_trend_is_said_of_a_straight_line_and_not_of_noise():
    assert trend_of(searches(1000, 1021, 1039, 1061, 1080)).is_sure
    assert not trend_of(searches(1000, 1080, 1010, 1090, 1020)).is_suspected


def test_its_drift_is_from_the_first_search_to_the_last():
    assert trend_of(searches(1000, 1020, 1040, 1060, 1080)).drift == pytest.approx(0.08, abs=0.002)


def test_a_trend_of_less_than_five_percent_is_none():
    assert not trend_of(searches(1000, 1010, 1020, 1030, 1040)).is_suspected


def test_fewer_than_five_searches_have_no_trend():
    assert trend_of(searches(1000, 1100, 1200, 1300)).drift == 0


def interval(rate_per_s: float, factor: float) -> CapacityInterval:
    return CapacityInterval(rate_per_s, rate_per_s / factor, rate_per_s * factor, 5)


def test_the_interval_is_of_the_logarithms_of_both():
    found = capacity_ratio(interval(1000, 1.03), interval(1100, 1.04))
    half = sqrt(log(1.03) ** 2 + log(1.04) ** 2)
    assert found.ratio == pytest.approx(1.1)
    assert (found.low, found.high) == pytest.approx((1.1 * exp(-half), 1.1 * exp(half)))


def test_the_other_way_round_it_is_the_inverse():
    one, other = interval(1000, 1.03), interval(1300, 1.06)
    found, inverse = capacity_ratio(one, other), capacity_ratio(other, one)
    assert (1 / inverse.high, 1 / inverse.ratio) == pytest.approx((found.low, found.ratio))


def test_the_word_needs_an_interval_that_says_it():
    for rate_per_s, factor, word in [
        (1200, 1.03, CapacityWord.MORE),
        (800, 1.03, CapacityWord.LESS),
        (1010, 1.01, CapacityWord.SAME),
        (1060, 1.10, CapacityWord.NOT_LESS),
    ]:
        found = capacity_ratio(interval(1000, 1.01), interval(rate_per_s, factor))
        assert capacity_word(found, 0.05) == word


def test_without_an_interval_there_is_no_ratio():
    assert capacity_ratio(CapacityInterval(1000, None, None, 1), interval(1000, 1.01)) is None
