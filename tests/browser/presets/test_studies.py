"""The presets of earlier studies, from the button to their rows and the reports of their tools."""

import pytest

from tests.browser.presets.reading import (
    PATHS_OF_THE_STEPS,
    number,
    open_last_run,
    opened_report,
)


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


def report(page, style: str) -> dict[str, str]:
    """The lines of the disclosed report, by what stands before their colon."""
    text = opened_report(page, style)
    disclosure = page.locator(f"details[data-style={style}]")
    address = disclosure.get_by_role("link", name="Download as text").get_attribute("href")
    assert page.request.get(address).text().strip() == text.strip()
    lines = [line.partition(":") for line in text.splitlines() if ":" in line]
    return {name.strip(): rest.strip() for name, _, rest in lines}


def test_ab_over_https_counts_what_was_sent(measure):
    run = open_last_run(measure("ab", {"requests": "300"}))
    lines = report(run.page, "ab")
    transferred = int(lines["HTML transferred"].split()[0])
    assert transferred == 300 * int(lines["Document Length"].split()[0])
    assert transferred < int(lines["Total transferred"].split()[0])
    assert lines["Concurrency Level"] == "50"
    assert lines["Complete requests"] == "300"
    assert lines["Failed requests"] == "0"
    assert lines["SSL/TLS Protocol"].startswith("TLSv1.")
    for row in ("Requests per second", "Time per request", "Mean time between ends"):
        assert number(lines[row]) > 0, row
    for row in ("Connect", "TLS", "Processing", "Waiting", "Total"):
        low, mean, deviation, median, high = map(float, lines[row].split())
        assert low <= mean <= high, row
        assert low <= median <= high, row
        assert deviation >= 0


def test_wsperf_has_its_table_of_handshakes(measure):
    run = open_last_run(measure("wsperf", {"requests": "300"}))
    lines = report(run.page, "wsperf")
    assert (lines["Total"], lines["Success"], lines["Fail"]) == ("1200", "1200", "0")
    assert lines["Fail %"] == "0.00"
    assert number(lines["Handshakes/sec"]) > 0
    for row in ("Min", "SD", "Avg", "Median", "q90", "q95", "q99", "Max"):
        assert len(lines[row].split()) == 4, f"{row}: TCP, opening, closing, whole"
    assert lines["q99.99"].split() == ["–"] * 4, "1,200 are too few for it"
    assert "Marks per injector process" in lines
