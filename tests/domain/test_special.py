import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.percentiles import (
    binomial_cdf,
    binomial_quantile,
    incomplete_beta,
    t_quantile,
    t_two_sided,
)


def test_t_quantiles_are_those_of_the_tables():
    for df, expected in [
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
        assert t_quantile(0.975, df) == pytest.approx(expected, abs=5e-6)


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
