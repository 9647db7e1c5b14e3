"""What a trial of retention says of what it saw."""

import pytest

from benchmarks.retention_trial import GOAL_MS, Found, lines_of

pytestmark = pytest.mark.pure


def said(**seen) -> dict:
    given = {"deletions": [5.0, 7.0], "before": [2.0], "during": [3.0], **seen}
    return {row.name: row for row in lines_of(Found(**given))}


def test_it_says_how_much_was_thinned_at_which_cost():
    assert said(n_rows=9000, took_s=20.0, cpu_s=10.0)["thinned"].measured == (
        "9,000 rows in 20 s, 900 for a second of CPU"
    )


@pytest.mark.parametrize(
    ("seen", "name"),
    [
        ({"deletions": [5.0, GOAL_MS + 1]}, "a statement that deletes"),
        ({"transaction": (GOAL_MS + 1, "COMMIT")}, "its transactions"),
        ({"wait": (GOAL_MS + 1, "ShareLock relation")}, "a wait for a lock"),
    ],
)
def test_whatever_lasts_too_long_misses_the_goal(seen, name):
    assert said()[name].is_met
    assert not said(**seen)[name].is_met


def test_writes_are_told_before_and_meanwhile():
    rows = said(before=[2.0, 4.0], during=[3.0, 90.0])
    assert rows["a second stored before"].measured.endswith("max 4.0 ms (2)")
    assert rows["  meanwhile"].measured.endswith("max 90.0 ms (2)")


def test_what_was_going_on_in_the_longest_is_told():
    rows = said(transaction=(558.0, "COMMIT, active, IO WalSync"))
    assert rows["  then"].measured == "COMMIT, active, IO WalSync"
