from campaigns.domain.metrics.machine import MachinePoint, MachineUse, machine_use
from campaigns.domain.metrics.profiles import USER_ONLY, PerfOf, PerfUse
from campaigns.domain.presentation.host_use import BusyProgram, HostUse, busiest
from campaigns.domain.presentation.machine_table import machine_columns, machine_table
from campaigns.domain.presentation.target_cost_tables import figures_of_perf, perf_table

CPU = {"user_s": 0.5, "system_s": 0.25, "interrupts_s": 0.25, "stolen_s": 0.0, "idle_s": 1.0}


def point(second: int = 0, **did) -> MachinePoint:
    return MachinePoint(second, 1.0, {**CPU, "cores": [50, 50], **did})


def cells(table) -> dict[str, list[str]]:
    return {row.label: [cell.text for cell in row.cells] for row in table.rows}


def test_the_table_names_what_cpu_and_memory_are_a_share_of():
    did = {"memory_bytes": 8e9, "memory_used_bytes": 2e9, "sent_packets": 2700}
    texts = cells(machine_table(machine_use("shop-1", [point(**did)]), None))
    assert texts["CPU, % of 2 cores"] == ["50.0", "50.0"]
    assert texts["memory, GB of 8.00"] == ["2.00", "2.00"]
    assert texts["packets sent/s"] == ["2,700", "2,700"]


def test_a_machine_that_does_not_tell_its_size_has_neither_0_cores_nor_no_memory():
    bare = MachinePoint(0, 1.0, {**CPU, "memory_used_bytes": 2e9})
    texts = cells(machine_table(machine_use("shop-1", [bare]), None))
    assert texts["CPU, % of all cores"] == ["50.0", "50.0"]
    assert texts["memory, GB"] == ["2.00", "2.00"]


def test_what_other_programs_used_is_told_beside_the_cost_of_the_chosen_processes():
    busy = {"processes": {"nginx": {"cpu_s": 0.25}, "php": {"cpu_s": 0.15}}}
    texts = cells(machine_table(machine_use("shop-1", [point(**busy)]), 100))
    assert texts["CPU beside the chosen processes, % of a core"] == ["60.0", "–"]
    assert "CPU beside" not in " ".join(cells(machine_table(machine_use("shop-1", [point()]), 9)))


def test_a_second_is_told_in_numbers_and_in_text():
    did = {"memory_bytes": 8e9, "memory_used_bytes": 2e9, "sent_bytes": 2_500_000}
    did |= {"retransmitted": 3, "processes": {"nginx": {"cpu_s": 0.5}}}
    columns = {key: values[0] for key, values in machine_columns([point(42, **did)]).items()}
    assert (columns["busy"], columns["user"], columns["system"]) == (50, 25, 12.5)
    assert (columns["memory"], columns["sent"], columns["received"]) == (25, 2.5, None)
    assert columns["processes"] == {"nginx": 25}
    assert columns["at"] == "42 s"
    texts = {key: columns[f"{key}_text"].replace("\u202f", " ") for key in ("cpu", "network")}
    assert texts["cpu"] == "50.0 %: user 25.0 %, system 12.5 %, interrupts 12.5 %"
    assert texts["network"] == "sent 2.50 MB"
    assert columns["trouble_text"] == "sent again 3"
    assert columns["processes_text"] == "nginx 25.0 %"


def test_a_process_on_an_unknown_number_of_cores_is_told_as_a_share_of_one():
    did = {"processes": {"shop": {"cpu_s": 1.5}, "old": {"memory_bytes": 1}}}
    columns = machine_columns([MachinePoint(0, 1.0, did)])
    assert (columns["cores"], columns["processes"]) == ([0], [{"shop": 150}])


def test_a_missing_second_is_a_gap():
    assert machine_columns([point(0), point(1), point(4)])["gap"] == [False, False, True]


QUIET = HostUse("this machine's", others_share=0.5, steal_share=0.05, throttled_share=0.05)
REPORT = BusyProgram("python3 report.py", 0.45)


def words(**use) -> str:
    return HostUse("this machine's", **use).words().replace("\u202f", " ")


def test_one_program_that_uses_most_is_the_cause():
    assert words(others_share=0.53, programs=(REPORT, BusyProgram("sshd", 0.03))) == (
        "python3 report.py uses 45 % of this machine's CPU."
    )


def test_several_programs_are_named_with_their_shares():
    programs = (REPORT, BusyProgram("chromium", 0.31), BusyProgram("postgres", 0.12))
    assert words(others_share=0.91, programs=programs) == (
        "Other programs use 91 % of this machine's CPU: "
        "python3 report.py 45 %, chromium 31 %, postgres 12 %."
    )


def test_without_names_their_sum_is_told():
    use = HostUse("lab-2's", others_share=0.9, programs=(REPORT,)).without_names()
    assert use.words() == "Other programs use 90\u202f% of lab-2's CPU."
    assert "report.py" not in " ".join(use.facts())


def test_hypervisor_and_quota_are_blamed_for_what_they_take():
    assert words(steal_share=0.12) == (
        "The hypervisor gives 12 % of this machine's CPU to other machines."
    )
    assert words(throttled_share=0.3, steal_share=0.12) == (
        "Injectors use up this machine's CPU quota 30 % of the time."
    )


def test_the_busiest_host_is_told_and_a_quiet_one_never():
    one = HostUse("a's", others_share=0.6)
    other = HostUse("b's", others_share=0.9)
    assert busiest([QUIET, one, other]) is other
    assert busiest([QUIET]) is None


def test_an_announcement_is_read_with_shares_of_the_machine():
    use = HostUse.of(
        "a's",
        {
            "cores": 2,
            "load_1min": 5.25,
            "others_share": 0.93,
            "steal_share": 0.01,
            "throttled_share": 0.0,
            "programs": [{"name": "python3 report.py", "cores": 0.9}],
        },
    )
    assert use.programs == (REPORT,)
    assert [each.replace("\u202f", " ") for each in use.facts()] == [
        "load average 5.25",
        "steal 1 %",
        "other programs 93 % of the CPU (python3 report.py 45 %)",
    ]


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


def notes(table) -> dict[str, str]:
    return {row.label: row.note.replace("\u202f", " ") for row in table.rows}


def test_a_count_has_its_total_its_rate_and_its_share_of_1000_requests():
    texts = cells(table_of())
    assert texts["task-clock, ms"] == ["5,000", "500", "2,500"]
    assert texts["context-switches"] == ["12,000", "1,200", "6,000"]
    assert texts["cycles, millions"] == ["16,000", "1,600", "8,000"]


def test_what_follows_from_two_counts_is_there_where_both_were_counted():
    texts = cells(table_of(lacks=LACKS))
    assert texts["instructions per cycle"] == ["0.500", "–", "–"]
    assert texts["CPUs utilized"][0] == "0.500"
    assert not any("misses per" in label for label in texts)
    both = RATES | {"branches": (1e8, 100.0), "branch-misses": (2e6, 100.0)}
    assert cells(table_of(rates=both))["misses per 1,000 branches"][0] == "20.0"


def test_cycles_in_user_space_do_not_meet_all_instructions():
    texts = cells(table_of(rates={"cycles:u": (1e9, 100.0), "instructions": (8e8, 100.0)}))
    assert not any("instructions per cycle" in label for label in texts)


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
    texts = cells(table)
    assert texts["cycles:u, millions"][0] == "10,000"
    assert texts["clock rate:u, GHz"][0] == "2.00"


def test_a_run_under_way_has_no_share_of_requests_yet():
    (total, per_s, per_1000) = table_of(rate_per_s=None).rows[0].cells
    assert (total.value, per_s.value, per_1000.value) == (5000, 500, None)


def test_the_figures_of_a_campaign_are_counts_per_1000_requests_and_their_ratios():
    figures = figures_of_perf(PerfUse(PerfOf.PROCESSES, 8.0, RATES), 200.0)
    assert figures["cycles per 1,000 requests, millions"] == 8000
    assert figures["task-clock per 1,000 requests, ms"] == 2500
    assert figures["instructions per cycle"] == 0.5
    assert figures["clock rate, GHz"] == 3.2
