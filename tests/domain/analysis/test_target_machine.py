"""When a target's machine is called full: its CPU, its network link, its listen queue."""

from campaigns.domain.analysis.judgement import judge
from campaigns.domain.analysis.limit import observed_machines
from campaigns.domain.lifecycle import TargetState
from campaigns.domain.metrics.machine import MachinePoint
from campaigns.domain.metrics.snapshot import Timing

THIN = "\u202f"


def cpu(second: int, share: float, **did) -> MachinePoint:
    times = {"user_s": 4 * share, "idle_s": 4 * (1 - share)}
    return MachinePoint(second, 1.0, {**times, **did})


def busy(*shares: float, first: int = 0) -> list[MachinePoint]:
    return [cpu(second, share) for second, share in enumerate(shares, first)]


def texts(machines: dict[str, list[MachinePoint]], attempts: int = 5000, **values) -> list[str]:
    """What is said of the target by these seconds of its machines."""
    observations = {**values, **observed_machines(machines, attempts)}
    finding = judge(observations, Timing.of([10_000] * 2000)).target
    assert (finding.state == TargetState.OVERLOADED) is bool(finding.reasons)
    return [reason.text.replace(THIN, " ") for reason in finding.reasons]


def test_a_cpu_is_full_if_it_was_for_five_seconds_in_a_row():
    for shares, words in [
        ([0.5] * 42 + [1.0] * 20, ["The target's CPU was at 100 % from 0:42 on."]),
        ([1.0] * 60, ["The target's CPU was at 100 % from 0:00 on."]),
        ([0.5] * 10 + [0.99] * 12 + [0.9], ["The target's CPU was at 100 % for 12 s from 0:10."]),
        ([0.5, 1.0, 1.0, 1.0, 1.0, 0.5], []),  # four seconds are ordinary
        ([1.0, 1.0, 1.0, 0.97] * 15, []),
        ([0.97] * 60, []),
    ]:
        assert texts({"shop-1": busy(*shares)}) == words


def test_seconds_that_nobody_told_end_a_row():
    seconds = [*busy(1.0, 1.0, 1.0), *busy(1.0, 1.0, 1.0, first=4)]
    assert texts({"shop-1": seconds}) == []


def test_time_stolen_by_other_guests_leaves_nothing_either():
    full = [cpu(second, 0.75, idle_s=0.0, stolen_s=1.0) for second in range(6)]
    assert texts({"shop-1": full}) == ["The target's CPU was at 100 % from 0:00 on."]


def test_waiting_for_a_disk_is_not_work():
    waiting = [cpu(second, 0.25, idle_s=0.0, waiting_s=3.0) for second in range(6)]
    assert texts({"shop-1": waiting}) == []


def test_beside_the_injector_only_chosen_processes_tell_whose_cpu_it_was():
    full = {"web-1": [cpu(second, 1.0) for second in range(6)]}
    assert "target_cpu" in observed_machines(full, 5000)
    assert "target_cpu" not in observed_machines(full, 5000, is_co_located=True)
    nginx = [cpu(second, 1.0, processes={"nginx": {"cpu_s": 3.9}}) for second in range(6)]
    assert observed_machines({"web-1": nginx}, 5000, is_co_located=True)["target_cpu"].value == 6


def test_a_machine_that_other_programs_fill_overloads_no_chosen_processes():
    """nginx and its workers, of four cores; the rest is an injector's on the same machine."""
    for cores, is_full in [(0.4, False), (3.0, False), (3.7, True)]:
        processes = {"nginx": {"cpu_s": cores / 2}, "nginx: worker": {"cpu_s": cores / 2}}
        full = [cpu(second, 1.0, processes=processes) for second in range(6)]
        words = ["The target's CPU was at 100 % from 0:00 on."] if is_full else []
        assert texts({"shop-1": full}) == words


def test_a_link_is_full_in_its_busier_direction_if_its_speed_is_known():
    for fields, is_full in [
        ({"sent_bytes": 118e6, "received_bytes": 2e6}, True),
        ({"sent_bytes": 100e6, "received_bytes": 100e6}, False),
        ({"sent_bytes": 118e6, "received_bytes": 2e6, "link_bytes_per_s": None}, False),
    ]:
        did = {"link_bytes_per_s": 125e6, **fields}
        points = [cpu(second, 0.3, **did) for second in range(6)]
        words = ["The target's network link was full from 0:00 on."]
        assert texts({"shop-1": points}) == (words if is_full else [])


def test_overflows_are_told_from_one_in_a_thousand_requests_on():
    for overflows, attempts, ending in [
        ([0, 0, 1000, 938], 5000, "1,938 times, first at 0:02."),
        ([0, 5, 0, 0], 5000, ""),
        ([1], 3, ""),
    ]:
        points = [cpu(second, 0.3, listen_overflows=n) for second, n in enumerate(overflows)]
        words = [f"The target's listen queue overflowed {ending}"]
        assert texts({"shop-1": points}, attempts) == (words if ending else [])


def test_of_several_machines_the_one_that_was_full_is_named():
    machines = {"shop-1": busy(*[0.4] * 9), "shop-2": busy(0.4, *[1.0] * 8)}
    assert texts(machines) == ["The target's CPU was at 100 % on shop-2 from 0:01 on."]
