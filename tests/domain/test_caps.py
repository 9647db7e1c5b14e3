"""What is said of a cap: figures in its unit, and a sentence when it is reached."""

from campaigns.domain.caps import (
    LOAD_HOURS,
    NO_CEILING,
    PLANS,
    RUNS,
    SLOTS,
    STORED_GB,
    Ceiling,
    Use,
    most_of,
    share_of,
    tighter,
)


def test_a_small_use_is_never_shown_as_none():
    for cap, value, text in [
        (PLANS, 1000, "1,000"),
        (LOAD_HOURS, 5400, "1.50"),
        (STORED_GB, 0, "0"),
        (STORED_GB, 10_500, "< 0.001"),
        (STORED_GB, 1_000_000, "0.001"),
    ]:
        assert cap.figure(value) == text


def test_a_projects_own_cap_comes_before_the_installations_and_0_is_none():
    assert most_of(LOAD_HOURS, {"LOAD_HOURS": 2}, {}) == 7200
    assert most_of(LOAD_HOURS, {"LOAD_HOURS": 2}, {"LOAD_HOURS": 3}) == 10_800
    assert most_of(LOAD_HOURS, {"LOAD_HOURS": 2}, {"LOAD_HOURS": 0}) is None


def test_what_fits_exactly_is_not_refused():
    assert not Use(RUNS, 7, ceiling=Ceiling(8)).refusal("Shop", 1)
    assert Use(RUNS, 8, ceiling=Ceiling(8)).refusal("Shop", 1)
    assert not Use(RUNS, 10**6).refusal("Shop", 1)


def test_a_share_is_rounded_down_and_leaves_every_project_one():
    for slots, most in [(12, 9), (3, 2), (2, 1), (1, 1), (0, 0)]:
        assert share_of(slots, 75).most == most


def test_what_is_beyond_a_share_is_refused():
    share = share_of(12, 75)
    assert Use(SLOTS, 8, ceiling=share).refusal("Shop", 2)
    assert not Use(SLOTS, 8, ceiling=share).refusal("Shop", 1)
    assert share.refusal(SLOTS, "Shop", 10)
    assert not share.refusal(SLOTS, "Shop", 9)


def test_the_tighter_of_two_ceilings_counts_and_none_is_the_widest():
    assert tighter(Ceiling(8), share_of(12, 50)).most == 6
    assert tighter(Ceiling(8), share_of(100, 50)) == Ceiling(8)
    assert tighter(Ceiling(8), NO_CEILING) == tighter(NO_CEILING, Ceiling(8)) == Ceiling(8)
