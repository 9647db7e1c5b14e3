"""The curves of a sweep: hatched where nothing is trusted."""

from dataclasses import replace

import pytest

from campaigns.domain.presentation.charts import Axis
from campaigns.sweep.views import untrusted_bands
from tests.domain.presentation.test_sweep_words import point

pytestmark = pytest.mark.pure
AXIS = Axis(low=0, high=10)


def points(*values: float, doubtful=(), to_come=()):
    return [
        replace(
            point(value, 100, is_trusted=value not in {*doubtful, *to_come}),
            why="The injector was busy." if value in doubtful else "",
        )
        for value in values
    ]


def test_neighbours_without_a_trusted_point_are_one_band():
    for doubtful, bands in [
        ((), []),
        ((6, 8), [(5, 10)]),
        ((2,), [(0, 3)]),
        ((4, 8), [(3, 5), (7, 10)]),
        ((2, 4, 6, 8), [(0, 10)]),
    ]:
        hatches = untrusted_bands(points(2, 4, 6, 8, doubtful=doubtful), AXIS)
        assert [(band.low, band.high) for band in hatches] == bands


def test_a_value_that_one_arm_is_trusted_at_is_not_hatched():
    arms = [*points(2, 4, doubtful=(4,)), *points(2, 4)]
    assert untrusted_bands(arms, AXIS) == []


def test_a_value_that_was_not_measured_yet_is_not_hatched():
    assert untrusted_bands(points(2, 4, to_come=(4,)), AXIS) == []
