"""How many more repeats would settle a comparison, and what so many could have shown."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from campaigns.domain.analysis.advice import (
    CHANCE,
    Advice,
    advice,
    difference_words,
    smallest_shown,
)
from campaigns.domain.analysis.comparison import Word, word_of
from campaigns.domain.analysis.ratio import ratio_interval


def noisy(cv: float, k: int, effect: float = 1.0, seed: int = 1):
    source = np.random.default_rng(seed)
    ratios = source.normal(0, cv * np.sqrt(2), k)
    ratios += np.log(effect) - ratios.mean()
    return ratio_interval([20_000.0] * k, list(20_000 * np.exp(ratios)), paired=True)


def test_it_is_given_for_equal_arms_and_for_clearly_different_ones():
    equal, different = advice(noisy(0.08, 5), 0.05)
    assert equal.difference == 0
    assert abs(different.difference) == pytest.approx(0.1, abs=0.01)
    assert equal.more > different.more > 0
    assert CHANCE <= min(equal.chance, different.chance) <= 1


@pytest.mark.parametrize(
    ("difference", "words"),
    [(0.1, "10 %"), (-0.0909, "9 %"), (0.015, "1.5 %"), (0.004, "0.40 %"), (-0.004, "0.40 %")],
)
def test_a_small_difference_is_not_said_to_be_none(difference, words):
    assert difference_words(Advice(difference, 8, 0.8)).replace("\u202f", " ") == words


def test_what_the_interval_leaves_out_is_not_advised_on():
    interval = ratio_interval([100] * 5, [103.2, 103.5, 104.1, 103.9, 103.6], paired=True)
    assert advice(interval, 0.01) == ()


def test_noisier_runs_need_more_repeats_and_some_too_many():
    needed = [advice(noisy(cv, 5), 0.05)[0].more for cv in (0.03, 0.05, 0.5)]
    assert needed[0] < needed[1]
    assert needed[2] is None


def test_who_follows_it_has_a_word_about_as_often_as_it_says():
    source = np.random.default_rng(2)
    settled = []
    for seed in range(40):
        interval = noisy(0.05, 5, effect=source.normal(1, 0.03), seed=seed)
        if word_of(interval, 0.05)[0] is not Word.INCONCLUSIVE:
            continue
        equal = next((each for each in advice(interval, 0.05) if not each.difference), None)
        if equal is None or equal.more is None:
            continue
        come = source.normal(0, 0.05 * np.sqrt(2), equal.more)
        ratios = np.exp([*interval.logs[0], *come])
        after = ratio_interval([20_000.0] * len(ratios), list(20_000 * ratios), paired=True)
        settled.append(word_of(after, 0.05)[0] is not Word.INCONCLUSIVE)
    assert len(settled) > 20
    assert 0.7 <= np.mean(settled) < 1


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
