"""Why values of a sweep are not trusted, as a table of what was beyond its limit there."""

from dataclasses import replace

import pytest

from campaigns.domain.judged.trust import CODES, UNSENT
from campaigns.domain.shown.sweep_doubts import FIGURES, doubts_table, unfigured
from campaigns.domain.shown.sweep_points import Doubt, SweepPoint
from tests.domain.shown.test_sweep_words import point

pytestmark = pytest.mark.pure
BUSY, LATE = Doubt("cpu", 0.97, 0.6), Doubt("lateness_p99", 5_900, 1_000)


def doubted(value: float, *doubts: Doubt, why="The injector was busy.") -> SweepPoint:
    return replace(point(value, 100, is_trusted=False), doubts=doubts, why=why)


def trusted(value: float, **vitals: float) -> SweepPoint:
    return replace(point(value, 100), vitals=vitals)


def rows_of(*arms) -> dict[str, list[str]]:
    table = doubts_table("sweep-1", "injectors", arms)
    return {row.label: [cell.text for cell in row.cells] for row in table.rows}


def test_what_can_make_a_measurement_doubtful_has_a_name():
    assert FIGURES.keys() == CODES | UNSENT


def test_each_figure_beyond_its_limit_stands_beside_that_of_the_last_trusted_value():
    arm = [trusted(4, cpu=0.3), trusted(6, cpu=0.46), doubted(9, BUSY, LATE), doubted(12, BUSY)]
    table = doubts_table("sweep-1", "injectors", [arm])
    assert table.title == "Why 9 and 12 are not trusted"
    assert [column.title for column in table.columns] == ["6", "9", "12", "doubtful beyond"]
    assert rows_of(arm) == {
        FIGURES["cpu"]: ["46.0\u202f%", "97.0\u202f%", "97.0\u202f%", "60.0\u202f%"],
        FIGURES["lateness_p99"]: ["–", "5.90\u202fms", "–", "1.00\u202fms"],
    }
    tones = [cell.tone for cell in table.rows[0].cells]
    assert tones == ["", "bad", "bad", ""]


def test_of_several_arms_and_repeats_the_worst_is_said():
    sent_less = [Doubt("sent_share", share, 0.999) for share in (0.95, 0.9)]
    arms = [doubted(9, *sent_less), doubted(9, replace(sent_less[0], value=0.97))]
    assert rows_of(*([arm] for arm in arms)) == {
        FIGURES["sent_share"]: ["90.0\u202f%", "99.9\u202f%"]
    }


def test_a_value_that_only_one_arm_is_trusted_at_is_not_the_last_trusted_one():
    arms = [trusted(2), trusted(4), doubted(9, BUSY)], [trusted(2), doubted(4, why="It failed.")]
    table = doubts_table("sweep-1", "injectors", arms)
    assert [column.title for column in table.columns] == ["2", "9", "doubtful beyond"]


def test_many_values_are_counted_and_a_reason_without_a_figure_is_told_apart():
    many = [doubted(value, BUSY) for value in range(1, 7)]
    assert doubts_table("s", "injectors", [many]).title == "Why 6 values are not trusted"
    arm = [trusted(1), doubted(2, why="Stopped after 3 s.")]
    assert doubts_table("s", "injectors", [arm]) is None
    assert unfigured([("nginx", arm)]) == [("2, nginx", "Stopped after 3 s.")]
    assert unfigured([("", many)]) == []
