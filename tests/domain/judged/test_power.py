from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from campaigns.domain.judged.advice import smallest_shown
from campaigns.domain.judged.ratio import ratio_interval

A, B = [100, 102, 98, 101, 99], [110, 113, 108, 111, 109]


def runs_needed(cv: float, difference: float) -> int:
    """Runs in each arm from which this difference would have shown at this spread."""
    some = ratio_interval(A, B, paired=False)
    return next(
        k
        for k in range(2, 40)
        if smallest_shown(replace(some, se=cv * sqrt(2 / k), df=2.0 * k - 2)) <= difference
    )


@pytest.mark.parametrize(
    ("cv", "difference", "runs"),
    [
        (0.01, 0.01, 17),
        (0.01, 0.02, 6),
        (0.01, 0.05, 3),
        (0.02, 0.03, 9),
        (0.02, 0.05, 4),
        (0.03, 0.03, 18),
        (0.03, 0.05, 8),
        (0.03, 0.10, 3),
        (0.05, 0.05, 18),
        (0.05, 0.10, 6),
        (0.10, 0.10, 19),
        (0.10, 0.20, 6),
    ],
)
def test_it_agrees_with_the_table_of_runs_for_80_percent_power(cv, difference, runs):
    assert runs_needed(cv, difference) == runs


def test_more_spread_or_fewer_runs_show_less():
    close = smallest_shown(ratio_interval(A, B, paired=False))
    wide = smallest_shown(ratio_interval([80, *A[1:]], B, paired=False))
    few = smallest_shown(ratio_interval(A[:3], B[:3], paired=False))
    assert close < wide
    assert close < few


def test_a_difference_of_that_size_is_shown_in_about_four_of_five_cases():
    source, cv, k = np.random.default_rng(11), 0.03, 5
    known = ratio_interval(A, B, paired=False)
    size = smallest_shown(replace(known, se=1.05 * cv * sqrt(2 / k), df=2.0 * k - 2))
    shown = 0
    for _ in range(400):
        arms = 20_000 * np.exp(source.normal(0, cv, (2, k)))
        found = ratio_interval(list(arms[0]), list(arms[1] * (1 + size)), paired=False)
        shown += found.low > 1
    assert 0.74 <= shown / 400 <= 0.86
