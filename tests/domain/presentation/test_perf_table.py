from campaigns.domain.metrics.machine import MachineUse
from campaigns.domain.metrics.profiles import USER_ONLY, PerfOf, PerfUse
from campaigns.domain.presentation.perf_table import figures_of_perf, perf_table

RATES = {
    "task-clock": (500.0, 100.0),
    "context-switches": (1200.0, 100.0),
    "cycles": (1.6e9, 83.25),
    "instructions": (0.8e9, 100.0),
}
LACKS = {"branches": "not supported", "branch-misses": "not counted"}


def table_of(rate_per_s: float | None = 200.0, told_s: float = 8.0, **fields):
    perf = PerfUse(**{"of": PerfOf.PROCESSES, "lasted_s": 8.0, "rates": RATES, **fields})
    return perf_table(MachineUse("shop-1", 10, told_s, 2, perf=perf), rate_per_s, 10)


def cells(table) -> dict[str, list[str]]:
    return {row.label: [cell.text for cell in row.cells] for row in table.rows}


def notes(table) -> dict[str, str]:
    return {row.label: row.note.replace("\u202f", " ") for row in table.rows}


def test_a_count_has_its_total_its_rate_and_its_share_of_1000_requests():
    shown = cells(table_of())
    assert shown["task-clock, ms"] == ["5,000", "500", "2,500"]
    assert shown["context-switches"] == ["12,000", "1,200", "6,000"]
    assert shown["cycles, millions"] == ["16,000", "1,600", "8,000"]


def test_what_follows_from_two_counts_is_there_where_both_were_counted():
    shown = cells(table_of(lacks=LACKS))
    assert shown["instructions per cycle"] == ["0.500", "–", "–"]
    assert shown["CPUs utilized"][0] == "0.500"
    assert not any("misses per" in label for label in shown)
    both = RATES | {"branches": (1e8, 100.0), "branch-misses": (2e6, 100.0)}
    assert cells(table_of(rates=both))["misses per 1,000 branches"][0] == "20.0"


def test_cycles_in_user_space_do_not_meet_all_instructions():
    shown = cells(table_of(rates={"cycles:u": (1e9, 100.0), "instructions": (8e8, 100.0)}))
    assert not any("instructions per cycle" in label for label in shown)


def test_every_event_is_there_and_what_was_not_counted_says_why():
    table = table_of(lacks=LACKS)
    assert cells(table)["branches, millions"] == ["–", "–", "–"]
    assert "83.3 %" in notes(table)["cycles, millions"]
    assert all(notes(table)[each] for each in ("branch-misses, millions", "page-faults"))


def test_counts_in_user_space_alone_say_so():
    table = table_of(
        rates={"task-clock:u": (500.0, 100.0), "cycles:u": (1e9, 100.0)},
        lacks={"context-switches:u": USER_ONLY},
    )
    shown = cells(table)
    assert shown["cycles:u, millions"][0] == "10,000"
    assert shown["clock rate:u, GHz"][0] == "2.00"


def test_a_run_under_way_has_no_share_of_requests_yet():
    (total, per_s, per_1000) = table_of(rate_per_s=None).rows[0].cells
    assert (total.value, per_s.value, per_1000.value) == (5000, 500, None)


def test_the_figures_of_a_campaign_are_counts_per_1000_requests_and_their_ratios():
    figures = figures_of_perf(PerfUse(PerfOf.PROCESSES, 8.0, RATES), 200.0)
    assert figures["cycles per 1,000 requests, millions"] == 8000
    assert figures["task-clock per 1,000 requests, ms"] == 2500
    assert figures["instructions per cycle"] == 0.5
    assert figures["clock rate, GHz"] == 3.2
