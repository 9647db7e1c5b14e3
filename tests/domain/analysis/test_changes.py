"""The changes of a history, on the golden series and on simulated ones of 2 % of noise."""

import json
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pytest

from campaigns.domain.analysis.changes import campaign_noise, course_of
from campaigns.domain.percentiles import t_quantile

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/change_points.json").read_text())["series"]
TEN = [100, 101, 99, 100, 102, 98, 100, 101, 99, 100]
SEEDS = range(20)


def history(levels, seed: int = 0) -> list[float]:
    noise = np.random.default_rng(seed).normal(0, 0.02, len(levels))
    return list(np.asarray(levels) * np.exp(noise))


def indices(values) -> list[int]:
    return [change.index for change in course_of(values).changes]


def test_the_golden_series_have_their_changes():
    for golden in GOLDEN:
        assert indices(golden["values"]) == golden["change_points"]


def test_a_change_has_its_size_and_evidence():
    (change,) = course_of(GOLDEN[0]["values"]).changes
    assert change.p_value == pytest.approx(1.680e-13, rel=1e-3)
    assert change.ratio == pytest.approx(1.1, rel=1e-3)
    assert change.before == pytest.approx(100, rel=1e-3)
    assert change.after == pytest.approx(110, rel=1e-3)
    assert (change.earliest, change.latest) == (10, 10)
    assert 1.08 < change.low < change.ratio < change.high < 1.12


def test_a_lone_value_far_off_is_odd_and_no_change():
    assert course_of(GOLDEN[2]["values"]).outliers == {12}


def test_a_short_or_empty_history_has_no_course():
    for values in [[], [100], [100, 130], TEN[:4], [None] * 30, [0.0] * 30]:
        course = course_of(values)
        assert (course.changes, course.outliers, course.expected) == ((), frozenset(), None)


def test_equal_values_have_no_change_and_expect_themselves():
    course = course_of([100] * 30)
    assert (course.changes, course.outliers) == ((), frozenset())
    assert course.expected.low == course.expected.high == pytest.approx(100)
    assert not course.expected.is_outlier


def test_noise_alone_has_a_change_in_few_histories():
    """In about 4 of 100 with 5 % of noise, although each has its best of many cuts."""
    noise = np.random.default_rng(1).normal(0, 0.05, (300, 20))
    assert sum(bool(indices(list(row))) for row in 100 * np.exp(noise)) <= 20


def test_a_step_between_equal_values_is_certain():
    (change,) = course_of([100] * 8 + [120] * 8).changes
    assert (change.index, change.p_value) == (8, 0)
    assert change.low == change.ratio == change.high


def test_campaigns_without_a_value_keep_the_places_of_the_others():
    values = [None, *GOLDEN[0]["values"]]
    values.insert(6, None)
    assert indices(values) == [12]


def test_a_small_step_is_found_near_its_place_and_inside_its_range():
    for seed in SEEDS:
        (change,) = course_of(history([100.0] * 40 + [106.0] * 40, seed)).changes
        assert abs(change.index - 40) <= 4
        assert change.earliest <= change.index <= change.latest
        assert change.low < 1.06 < change.high or abs(change.ratio - 1.06) < 0.02


def test_the_range_of_a_change_contains_its_place_in_nearly_all_histories():
    ranges = [
        (change.earliest, change.latest)
        for seed in range(200)
        for change in course_of(history([100.0] * 30 + [106.0] * 30, seed)).changes
        if abs(change.index - 30) < 10
    ]
    assert len(ranges) > 180
    assert sum(first <= 30 <= last for first, last in ranges) >= 0.9 * len(ranges)


def test_levels_are_three_campaigns_long_at_least():
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        cuts = indices(history(np.repeat(random.uniform(50, 200, 20), 4), seed))
        assert all(later - cut >= 3 for cut, later in pairwise([0, *cuts, 80]))


def test_a_short_level_in_a_long_history_is_found():
    cuts = indices(history([100.0] * 90 + [108.0] * 20 + [100.0] * 90))
    assert [abs(cut - true) <= 2 for cut, true in zip(cuts, (90, 110), strict=True)] == [True] * 2


@pytest.mark.parametrize("lengths", [(8, 6, 8), (20, 6, 20), (5, 3, 5), (8, 6, 8, 6, 8)])
def test_a_level_from_which_a_test_came_back_is_found(lengths):
    levels = [130.0 if number % 2 else 100.0 for number in range(len(lengths))]
    places = list(accumulate(lengths[:-1]))
    rows = [indices(history(np.repeat(levels, lengths), seed)) for seed in SEEDS]
    assert rows.count(places) >= 0.9 * len(rows)


def test_campaigns_of_a_level_differ_by_their_noise():
    """Whatever level they are on, and without what is off by itself."""
    values = history([100.0] * 200 + [130.0] * 200)
    noise = campaign_noise((*values[:50], 300.0, None, *values[50:]))
    assert noise.sd == pytest.approx(0.02, rel=0.1)
    assert 390 <= noise.df <= 398
    assert campaign_noise((100.0, 101.0, 99.0, 100.0)) is None


def test_the_newest_value_is_held_against_the_last_ten_before_it():
    forecast = course_of([*TEN, 104.5]).expected
    mean, spread = np.log(TEN).mean(), np.log(TEN).std(ddof=1)
    reach = t_quantile(0.995, 9) * spread * np.sqrt(1.1)
    assert (forecast.n, forecast.level) == (10, pytest.approx(np.exp(mean)))
    assert (forecast.low, forecast.high) == pytest.approx(
        tuple(np.exp([mean - reach, mean + reach]))
    )
    assert forecast.high < 104.5
    assert not forecast.is_outlier  # outside, but by less than 5 %
    assert course_of([*TEN, 106]).expected.is_outlier
    assert course_of([*TEN, 94]).expected.is_outlier


def test_the_expected_range_of_an_unsteady_level_ends_above_0():
    forecast = course_of([100, 180, 40, 150, 60, 100]).expected
    assert (forecast.n, forecast.is_outlier) == (5, False)
    assert 0 < forecast.low < 40
    assert forecast.high > 180


def test_what_may_begin_a_new_level_does_not_say_what_to_expect():
    first, second = (course_of([*TEN, *more]).expected for more in ([130], [130, 131]))
    assert first.is_outlier
    assert second == replace(first, is_outlier=True)


def test_the_newest_value_is_held_against_its_own_level_only():
    values = GOLDEN[0]["values"]
    assert not course_of([*values, 111]).expected.is_outlier
    assert course_of([*values, 100]).expected.is_outlier


def test_after_a_change_five_values_must_come_before_one_is_held_against_them():
    values = GOLDEN[0]["values"]
    assert course_of(values[:15]).expected is None
    assert course_of(values[:16]).expected.n == 5
