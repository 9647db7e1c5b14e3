"""The tables of one run."""

from campaigns.domain.measured.snapshot import Timing, Total
from campaigns.domain.shown.report_tables import parts_table

THOUSAND = {"response": Timing.of([20_400] * 1000), "service": Timing.of([20_300] * 1000)}


def rows_of(**timings):
    table = parts_table(Total(timings=THOUSAND | timings))
    keys = [column.key for column in table.columns]
    return {
        row.label: dict(zip(keys, (cell.text for cell in row.cells), strict=True))
        for row in table.rows
    }


def test_a_run_shows_its_times_without_what_the_injector_added_beside_those_as_measured():
    rows = rows_of(undelayed=Timing.of([20_000] * 500))
    assert [*rows] == ["response", "service", "without the injector's part"]
    assert (rows["response"]["p50"], rows["response"]["n"]) == ("20.4", "1,000")
    left = rows["without the injector's part"]
    assert (left["mean"], left["p50"]) == ("20.0", "20.0")
    assert left["n"] == "500", "of so many it is known"


def test_where_no_reading_was_timed_nothing_is_said_of_the_injectors_part():
    assert [*rows_of()] == ["response", "service"]
