"""The curves of a sweep: hatching where nothing is trusted, growth in step, names at line ends."""

from dataclasses import replace
from itertools import pairwise

import pytest

from campaigns.views.sweep_curve import (
    HEIGHT_PX,
    MOST_NAMED,
    ExpectedGrowth,
    end_names,
    guide_of,
    untrusted_bands,
)
from tests.domain.presentation.test_sweep_words import point

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


def heights(*ys: float) -> list[float]:
    """Where names of lines that end at these heights stand, in px from above."""
    named = end_names([(f"server {n}", 50, y, False) for n, y in enumerate(ys)])
    return [round(each.y * HEIGHT_PX / 100 + each.down_px, 1) for each in named]


def test_a_name_stands_beside_its_end_where_there_is_room():
    assert heights(10, 50) == [22, 110]


@pytest.mark.parametrize(
    "ys", [(40, 40), (40, 41, 42), (86, 87, 88), (10,) * 8, (88,) * MOST_NAMED]
)
def test_names_move_apart_and_stay_above_the_axis(ys):
    stand = heights(*ys)
    assert all(lower - upper > 12.8 for upper, lower in pairwise(stand))
    assert max(stand) <= 0.88 * HEIGHT_PX
    assert min(stand) > 0


def test_a_single_line_has_no_name_and_a_long_one_is_cut():
    assert end_names([("", 50, 50, False)]) == []
    (name,) = end_names([("checkout-api behind the second proxy", 50, 50, True)])
    assert (name.text, name.is_second) == ("checkout-api behi…", True)


def test_of_very_many_lines_some_are_named():
    assert len(end_names([(str(n), 50, 50, False) for n in range(40)])) == MOST_NAMED
