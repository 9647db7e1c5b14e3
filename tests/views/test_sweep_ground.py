"""Under a sweep's curves: hatching where nothing is trusted, and the line of growth in step."""

from dataclasses import replace

import pytest

from campaigns.views.sweep_curve import ExpectedGrowth, guide_of, untrusted_bands
from tests.domain.shown.test_sweep_words import point

pytestmark = pytest.mark.pure


def at_x(value: float) -> float:
    return 10 * value


def at_y(value: float) -> float:
    return 100 - value


def points(*values: float, untrusted=(), to_come=()):
    return [
        replace(
            point(value, 100, is_trusted=value not in {*untrusted, *to_come}),
            why="The injector was busy." if value in untrusted else "",
        )
        for value in values
    ]


@pytest.mark.parametrize(
    ("untrusted", "bands"),
    [
        ((), []),
        ((6, 8), [(50, 50)]),
        ((2,), [(0, 30)]),
        ((4, 8), [(30, 20), (70, 30)]),
        ((2, 4, 6, 8), [(0, 100)]),
    ],
)
def test_neighbours_without_a_trusted_point_are_one_band(untrusted, bands):
    assert untrusted_bands(points(2, 4, 6, 8, untrusted=untrusted), at_x) == bands


def test_a_value_that_one_arm_is_trusted_at_is_not_hatched():
    arms = [*points(2, 4, untrusted=(4,)), *points(2, 4)]
    assert untrusted_bands(arms, at_x) == []


def test_a_value_that_was_not_measured_yet_is_not_hatched():
    assert untrusted_bands(points(2, 4, to_come=(4,)), at_x) == []


def test_growth_in_step_ends_at_the_top():
    guide = guide_of(ExpectedGrowth("in step", slope=10), points(2, 4, 8), at_x, at_y, top=50)
    assert guide.pieces == [(20, 80, 40, 60), (40, 60, 50, 50)]


def test_what_should_stay_is_level():
    guide = guide_of(ExpectedGrowth("100 %", height=100), points(2, 8), at_x, at_y, top=120)
    assert guide.pieces == [(0, 0, 100, 0)]
