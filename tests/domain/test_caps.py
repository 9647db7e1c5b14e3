"""What is said of a cap: figures in its unit, and a sentence when it is reached."""

import pytest

from campaigns.domain.caps import LOAD_HOURS, PLANS, RUNS, STORED_GB, Use, most_of


@pytest.mark.parametrize(
    ("cap", "value", "text"),
    [
        (PLANS, 1000, "1,000"),
        (LOAD_HOURS, 5400, "1.50"),
        (STORED_GB, 0, "0"),
        (STORED_GB, 10_500, "< 0.001"),
        (STORED_GB, 1_000_000, "0.001"),
    ],
)
def test_a_small_use_is_never_shown_as_none(cap, value, text):
    assert cap.figure(value) == text


def test_a_projects_own_cap_comes_before_the_installations_and_0_is_none():
    assert most_of(LOAD_HOURS, {"LOAD_HOURS": 2}, {}) == 7200
    assert most_of(LOAD_HOURS, {"LOAD_HOURS": 2}, {"LOAD_HOURS": 3}) == 10_800
    assert most_of(LOAD_HOURS, {"LOAD_HOURS": 2}, {"LOAD_HOURS": 0}) is None


def test_what_fits_exactly_is_not_refused():
    assert not Use(RUNS, 7, most=8).refusal("Shop", 1)
    assert Use(RUNS, 8, most=8).refusal("Shop", 1)
    assert not Use(RUNS, 10**6).refusal("Shop", 1)
