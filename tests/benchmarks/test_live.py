"""The lines that tell what a live page costs, and whether an hour makes it dearer."""

import pytest

from benchmarks.live import lines_of

pytestmark = pytest.mark.pure


def seen(second: int, told_ms: float, page_ms: float) -> dict:
    return {
        "second": second, "told_ms": told_ms, "page_ms": page_ms, "page_kb": 40.0, "fold_s": 4.0,
    }  # fmt: skip


@pytest.mark.parametrize(("late_ms", "is_met"), [(120.0, True), (130.0, False)])
def test_an_hour_into_a_run_a_refresh_costs_at_most_twice_as_much(late_ms, is_met):
    *_, ratio, first = lines_of(
        "1 × 1", {"early": seen(60, 40, 30), "late": seen(3600, 20, late_ms)}
    )
    assert (ratio.measured, ratio.is_met) == (f"{(20 + late_ms) / 70:.2f}", is_met)
    assert first.measured == "4.0 s, once"
