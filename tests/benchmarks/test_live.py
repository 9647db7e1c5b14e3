"""The lines that tell what a live page costs, and whether an hour makes it dearer."""

import pytest

from benchmarks.live import lines_of

pytestmark = pytest.mark.pure


def seen(minute: int, told_ms: float, page_ms: float, **more: float) -> dict[str, float]:
    told = {"minute": minute, "told_ms": told_ms, "page_ms": page_ms, "page_p95_ms": page_ms}
    return {**told, "page_kb": 40.0, "kept_s": 30.0, "first_s": 1.0, **more}


@pytest.mark.parametrize(("late_ms", "is_met"), [(120.0, True), (130.0, False)])
def test_an_hour_into_a_run_a_refresh_costs_at_most_twice_as_much(late_ms, is_met):
    *_, ratio = lines_of("1 × 1", [seen(1, 40, 30), seen(10, 500, 500), seen(60, 20, late_ms)])
    assert (ratio.measured, ratio.is_met) == (f"{(20 + late_ms) / 70:.2f}", is_met)


def test_at_each_minute_the_slow_views_and_the_first_one_have_their_goals():
    at_ten = seen(10, 20, 90, page_p95_ms=151.0)
    at_sixty = seen(60, 20, 30, first_s=1.6)
    pages = list(lines_of("4 × 10", [seen(1, 40, 30), at_ten, at_sixty]))[:-1]
    assert [line.is_met for line in pages] == [True, True, False, True, True, False]
    assert pages[2].name == "4 × 10, minute 10, page"
    assert pages[2].measured == "90 ms, p95 151 (40 kB); stream 20"
    assert pages[5].measured == "1.60 s; kept by a worker, which took 30.0 s"
