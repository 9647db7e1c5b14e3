"""A history's points, what changed between them, its causes, and which sightings are one change."""

from datetime import UTC, datetime, timedelta

import pytest

from campaigns.domain.analysis.histories import CampaignPoint, Sighting, TestHistory, same_changes

SLOWER = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 110.0, 111.0, 109.0, 110.0, 112.0, 108.0]


def point(number: int, value_us: float | None, **fields) -> CampaignPoint:
    usual = {
        "campaign": number,
        "campaign_name": f"night {number}",
        "test": number,
        "at": datetime(2026, 11, 1, tzinfo=UTC) + timedelta(days=number),
        "plan_version": 1,
        "values_us": () if value_us is None else (value_us - 1, value_us, value_us + 1),
        "n": 1000,
        "errors": 0,
        "trust": "trusted",
        "target_state": "healthy",
    }
    return CampaignPoint(**usual | fields)


def history(values=SLOWER, **later) -> TestHistory:
    """`changed`: fields of the points from index 6 on."""
    fields = [later if number >= 6 else {} for number in range(len(values))]
    return TestHistory(
        [point(n, v, **f) for n, (v, f) in enumerate(zip(values, fields, strict=True))]
    )


def test_the_interval_is_the_t_interval_between_runs():
    low, high = point(0, 100.0).interval_us  # t(2, 97.5 %) = 4.3027
    assert (low, high) == pytest.approx((100 - 4.3027 / 3**0.5, 100 + 4.3027 / 3**0.5), rel=1e-4)
    assert point(0, 100.0, values_us=(100.0,)).interval_us is None
    assert point(0, 100.0, values_us=(50.0, 100.0, 300.0)).interval_us[0] > 0


def test_a_fact_is_compared_with_what_was_told_last_and_not_with_a_target_that_was_down():
    servers = [{"Server": "a"}, {}, {"Server": "b"}, {}, {"Server": "b"}]
    points = [point(number, 1.0, facts=facts) for number, facts in enumerate(servers)]
    (mark,) = TestHistory(points).marks
    assert (mark.index, mark.differences) == (2, (("Server", "a", "b"),))
    down = point(6, None, target_state="failing")
    slower = history(facts={"Server": "b"}).points[6:]
    before = [point(n, v, facts={"Server": "a"}) for n, v in enumerate(SLOWER[:6])]
    nights = TestHistory([*before, down, *slower])
    (change,) = nights.course.changes
    assert nights.causes(change) == (("Server", "a", "b"),)


def test_what_was_changed_elsewhere_is_no_cause():
    values = [*SLOWER, 110.0, 111.0, 109.0]
    points = [point(n, v, plan_version=1 + (n >= 12)) for n, v in enumerate(values)]
    nights = TestHistory(points)
    (change,) = nights.course.changes
    assert nights.causes(change) == ()


def at(index: int, earliest: int | None = None, latest: int | None = None, *, is_higher=True):
    ends = (index if end is None else end for end in (earliest, latest))
    return Sighting(index, *ends, is_higher)


def test_a_change_that_moves_by_one_or_two_campaigns_stays_the_same():
    for moved_to in [6, 7, 8, 9, 10]:
        assert same_changes([at(moved_to)], [at(8)]) == {0: 0}


def test_a_change_three_campaigns_away_is_another_one():
    for moved_to in [5, 11]:
        assert same_changes([at(moved_to)], [at(8)]) == {}


def test_it_is_the_same_as_long_as_it_may_have_begun_where_it_was():
    assert same_changes([at(14, 7, 15)], [at(8)]) == {0: 0}


def test_another_direction_is_another_change():
    assert same_changes([at(9, is_higher=False)], [at(8)]) == {}


def test_one_test_has_one_change_per_campaign_whatever_its_direction():
    assert same_changes([at(8, is_higher=False)], [at(8)]) == {0: 0}


def test_the_nearest_is_taken_and_each_only_once():
    assert same_changes([at(8), at(10)], [at(9), at(10)]) == {1: 1, 0: 0}
    assert same_changes([at(8), at(10)], [at(9)]) == {0: 0}
