"""The presets of the local tests and of several injectors, from the button to the study's rows."""

import re

import pytest

from tests.browser.presets.reading import number, open_last_run

PATHS_OF_THE_STEPS = ("path", "step2_path", "step3_path", "step4_path", "step5_path")


@pytest.mark.parametrize(
    ("preset", "plan"),
    [("l1", {}), ("l2", {"block_repeat": "50"}), ("l3", {})],
)
def test_the_local_tests_have_a_row_for_each_run_and_their_mean(measure, preset, plan):
    repeats, n = 2, 250
    found = measure(preset, {"requests": f"{n}", **plan}, {"repeats": f"{repeats}"})
    rows = found.table(f"{preset}, in the browser")
    assert [row[""].split("\n")[0] for row in rows[:repeats]] == ["Repeat 1", "Repeat 2"]
    # Of runs that a crowded machine spoilt there may be fewer than were made.
    n_counted = int(re.match(r"Mean of (\d)", rows[repeats][""])[1])
    for row in rows[:repeats]:
        assert number(row["n"]) == n
        total_s, mean_ms = number(row["time"]), number(row["average"])
        assert total_s * 1000 / n >= mean_ms * 0.99, "one after another"
        assert number(row["min"]) <= mean_ms <= number(row["max"])
    assert number(rows[repeats + 1]["n"]) == n_counted * n
    if preset != "l1":
        steps = open_last_run(found).table("Steps")
        files = [number(row["n"]) for row in steps[1:]]
        assert len(files) == 5
        assert sum(files) == n
        assert preset == "l3" or files == [n / 5] * 5


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
