"""The lines that tell what the largest pages cost, and what ends a campaign."""

import pytest

from benchmarks.pages import ACTS, PAGES, lines_of

pytestmark = pytest.mark.pure


def page(name: str, first_ms: float, warm_ms: float) -> dict:
    costs = {"made_ms": 317.2, "first_ms": first_ms, "warm_ms": warm_ms, "best_ms": 13.0}
    return {"name": name, **costs, "kb": 92.4, "statements": 18}


def act(few: int, statements: int) -> dict:
    costs = {"cpu_ms": 1300.0, "best_ms": 1250.0}
    return {"name": "changes", **costs, "few": few, "statements": statements}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("over_ms", "is_met"), [((0, 0), True), ((1, 0), False), ((0, 1), False)])
def test_a_page_meets_its_goal_by_its_first_view_and_by_its_later_ones(name, over_ms, is_met):
    title, goal_ms = PAGES[name]
    seen = page(name, *(goal_ms + over for over in over_ms))
    (line,) = lines_of({"pages": [seen], "acts": []})
    assert (line.name, line.goal, line.is_met) == (title, f"≤ {goal_ms} ms", is_met)
    assert line.measured.startswith(f"first {seen['first_ms']} ms, later {seen['warm_ms']} (13); ")
    assert line.measured.endswith("made in 317; 92 kB, 18 statements")


@pytest.mark.parametrize(("few", "statements", "is_met"), [(9, 9, True), (9, 10, False)])
def test_the_end_of_a_large_campaign_takes_no_more_statements(few, statements, is_met):
    cost, counted = lines_of({"pages": [], "acts": [act(few, statements)]})
    assert (cost.name, cost.measured) == (ACTS["changes"], "1300 ms (1250)")
    assert (counted.measured, counted.is_met) == (f"{statements}, with 20 tests {few}", is_met)
