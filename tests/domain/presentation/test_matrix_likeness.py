"""Whether targets were measured alike, in a line for each thing that should be."""

import pytest

from campaigns.domain.analysis.likeness import Likeness
from campaigns.domain.presentation.target_matrix import RowLikeness, like_lines

pytestmark = pytest.mark.pure


def plan(name: str, *values: str, is_alike: bool) -> RowLikeness:
    return RowLikeness(name, ("apache", "nginx"), (Likeness("reply", values, is_alike),))


def line_of(*rows: RowLikeness) -> tuple[str, bool]:
    (line,) = like_lines(rows)
    return line.text, line.is_alike


def test_what_differs_from_plan_to_plan_and_not_between_targets_is_alike():
    rows = [plan(name, size, size, is_alike=True) for name, size in zip("abc", "123", strict=True)]
    assert line_of(*rows[:2]) == ("1, 2", True)
    assert line_of(*rows) == ("alike at each plan, such as 1", True)


def test_who_has_what_is_said_where_they_differ():
    rows = [plan("L1", "43 B", "43 B", is_alike=True), plan("L2", "43 B", "57 B", is_alike=False)]
    assert line_of(*rows) == ("L2: apache 43 B, nginx 57 B", False)


def test_of_many_targets_those_that_differ_from_most_are_named():
    names, sizes = tuple("abcdefg"), ("9 B", *["1 B"] * 3, "8 B", "7 B", "1 B")
    row = RowLikeness("L1", names, (Likeness("reply", sizes, is_alike=False),))
    assert line_of(row) == ("L1: 4 have 1 B, a 9 B, e 8 B, and 1 more differ", False)
