"""One capacity against another."""

from math import exp, log, sqrt

import pytest

from campaigns.domain.judged.capacity import CapacityWord, capacity_ratio
from campaigns.domain.judged.capacity_interval import CapacityInterval

pytestmark = pytest.mark.pure


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


@pytest.mark.parametrize(
    ("rate_per_s", "factor", "word"),
    [
        (1200, 1.03, CapacityWord.MORE),
        (800, 1.03, CapacityWord.LESS),
        (1010, 1.01, CapacityWord.SAME),
        (1060, 1.10, CapacityWord.INCONCLUSIVE),
    ],
)
def test_the_word_needs_an_interval_that_says_it(rate_per_s, factor, word):
    found = capacity_ratio(interval(1000, 1.01), interval(rate_per_s, factor))
    assert found.word(0.05) == word


def test_without_an_interval_there_is_no_ratio():
    assert capacity_ratio(CapacityInterval(1000, None, None, 1), interval(1000, 1.01)) is None
