"""Names at the ends of lines: none covers another, none is below the axis."""

from itertools import pairwise

import pytest

from campaigns.views.sweep_curve import HEIGHT_PX, MOST_NAMED, end_names

pytestmark = pytest.mark.pure


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
