from campaigns.domain.metrics.machine import MachinePoint, machine_use
from campaigns.domain.presentation.machine_table import machine_columns, machine_table

CPU = {"user_s": 0.5, "system_s": 0.25, "interrupts_s": 0.25, "stolen_s": 0.0, "idle_s": 1.0}


def point(second: int = 0, **did) -> MachinePoint:
    return MachinePoint(second, 1.0, {**CPU, "cores": [50, 50], **did})


def cells(table) -> dict[str, list[str]]:
    return {row.label: [cell.text for cell in row.cells] for row in table.rows}


def test_the_table_names_what_cpu_and_memory_are_a_share_of():
    did = {"memory_bytes": 8e9, "memory_used_bytes": 2e9, "sent_packets": 2700}
    shown = cells(machine_table(machine_use("shop-1", [point(**did)]), None))
    assert shown["CPU, % of 2 cores"] == ["50.0", "50.0"]
    assert shown["memory, GB of 8.00"] == ["2.00", "2.00"]
    assert shown["packets sent/s"] == ["2,700", "2,700"]


def test_a_machine_that_does_not_tell_its_size_has_neither_0_cores_nor_no_memory():
    told = MachinePoint(0, 1.0, {**CPU, "memory_used_bytes": 2e9})
    shown = cells(machine_table(machine_use("shop-1", [told]), None))
    assert shown["CPU, % of all cores"] == ["50.0", "50.0"]
    assert shown["memory, GB"] == ["2.00", "2.00"]


def test_what_other_programs_used_is_told_beside_the_cost_of_the_chosen_processes():
    busy = {"processes": {"nginx": {"cpu_s": 0.25}, "php": {"cpu_s": 0.15}}}
    shown = cells(machine_table(machine_use("shop-1", [point(**busy)]), 100))
    assert shown["CPU beside the chosen processes, % of a core"] == ["60.0", "–"]
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
