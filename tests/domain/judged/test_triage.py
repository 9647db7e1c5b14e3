"""Which sightings of a change are the same change."""

import pytest

from campaigns.domain.judged.triage import Sighting, same_changes


def at(index: int, earliest: int | None = None, latest: int | None = None, *, is_higher=True):
    ends = (index if end is None else end for end in (earliest, latest))
    return Sighting(index, *ends, is_higher)


@pytest.mark.parametrize("moved_to", [6, 7, 8, 9, 10])
def test_a_change_that_moves_by_one_or_two_campaigns_stays_the_same(moved_to):
    assert same_changes([at(moved_to)], [at(8)]) == {0: 0}


@pytest.mark.parametrize("moved_to", [5, 11])
def test_a_change_three_campaigns_away_is_another_one(moved_to):
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
