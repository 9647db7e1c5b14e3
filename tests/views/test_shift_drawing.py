"""The drawing of the shift: in percent, nothing outside of its box."""

import pytest

from campaigns.domain.analysis.overhead import shift_of
from campaigns.views.comparisons import shift_drawing
from tests.domain.analysis.test_shift import side


def places(points: str) -> list[list[float]]:
    return [[float(each) for each in point.split(",")] for point in points.split()]


def test_all_of_it_is_within_the_box():
    drawing = shift_drawing(shift_of(side(), side(tail=3), paired=False), 0.05, 2000)
    for x, y in places(drawing.band) + places(drawing.line):
        assert 0 <= x <= 100
        assert 0 <= y <= 100


def test_longer_is_above_the_line_of_no_change():
    drawing = shift_drawing(shift_of(side(), side(1.1), paired=False), 0.05, 2000)
    assert all(mark.y < drawing.zero for mark in drawing.marks)
    assert [mark.name for mark in drawing.marks] == ["p50", "p90", "p95", "p99"]
    assert [float(mark.text) for mark in drawing.marks] == pytest.approx([10] * 4, abs=1)


def test_without_points_there_is_nothing_to_draw():
    assert shift_drawing([], 0.05, 2000) is None
