"""The lines that tell what a live page costs, and whether an hour makes it dearer."""

import pytest

from benchmarks.live import lines_of

pytestmark = pytest.mark.pure


def seen(second: int, told_ms: float, page_ms: float, first_s: float = 1.0) -> dict:
    return {
        "second": second, "told_ms": told_ms, "page_ms": page_ms, "page_kb": 40.0, "kept_s": 30.0,
        "first_s": first_s,
    }  # fmt: skip


@pytest.mark.parametrize(("late_ms", "is_met"), [(120.0, True), (130.0, False)])
def test_an_hour_into_a_run_a_refresh_costs_at_most_twice_as_much(late_ms, is_met):
    *_, ratio, first = lines_of(
        "1 × 1", {"early": seen(60, 40, 30), "late": seen(3600, 20, late_ms)}
    )
    assert (ratio.measured, ratio.is_met) == (f"{(20 + late_ms) / 70:.2f}", is_met)
    assert first.measured == "1.00 s; kept by a worker, which took 30.0 s"


def test_the_goals_of_a_first_and_of_a_later_view_stand_apart():
    slow = seen(3600, 20, 151, first_s=1.6)
    early, late, _, first = lines_of("4 × 10", {"early": seen(60, 40, 30), "late": slow})
    assert [early.is_met, late.is_met, first.is_met] == [True, False, False]
