"""The presets of the local tests and of several injectors, from the button to the study's rows."""

import pytest

from tests.browser.presets.reading import (
    PATHS_OF_THE_STEPS,
    check_rows,
    number,
    open_last_run,
    requests_by_file,
)


def test_l2_has_a_row_for_each_run_and_takes_its_files_in_blocks(measure):
    n = 250
    found = measure("l2", {"requests": f"{n}", "block_repeat": "50"}, {"repeats": "2"})
    check_rows(found.table("l2, in the browser"), n)
    assert requests_by_file(open_last_run(found)) == [n / 5] * 5


def test_r99_has_a_row_for_each_phase(measure):
    # The replies take so long that the first injector still sends when the second one begins.
    slow = dict.fromkeys(PATHS_OF_THE_STEPS, "/index.html?delay_ms=5")
    run = open_last_run(measure("r99-1", {"requests": "300", **slow}))
    phases = run.table("Phases")
    labels = [row[""] for row in phases]
    assert labels[:2] == ["I: 1", "II: 1 + 2"]
    assert labels[-1] == "All phases"
    assert number(phases[-1]["n"]) == 900
    assert sum(number(row["n"]) for row in phases[:-1]) == 900
    assert number(phases[0]["time"]) == pytest.approx(1.0, abs=0.02)


def test_the_sweep_has_a_row_for_each_number_of_injectors(measure):
    found = measure("r99-2", {"requests": "100"}, {"injectors": "1, 2, 12"})
    rows = found.table("r99-2, in the browser")
    assert [row[""] for row in rows] == [
        "1 injector process",
        "2 injector processes",
        "12 injector processes",
    ]
    assert [number(row["n"]) for row in rows] == [100, 200, 1200]
    for row in rows:
        rate, between_ms = number(row["ok requests/s"]), number(row["between ends"])
        assert between_ms == pytest.approx(1000 / rate, rel=0.02)
        assert row["errors"] == "0"
        assert row["measurement"] in {"trusted", "doubtful", "not usable"}
    assert found.page.locator(".sweep-dot").count() >= 6
