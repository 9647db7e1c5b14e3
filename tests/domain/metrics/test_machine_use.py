import pytest

from campaigns.domain.metrics.machine import (
    MachinePoint,
    busy_s,
    cpu_s_per_1000,
    is_inner,
    machine_use,
    watched_s,
)


def point(second: int = 0, lasted_s: float = 1.0, **did) -> MachinePoint:
    cpu = {"user_s": 0.5, "system_s": 0.3, "interrupts_s": 0.2, "stolen_s": 0, "idle_s": 3.0}
    return MachinePoint(second, lasted_s, {**cpu, "cores": [40, 0, 0, 10], **did})


def test_shares_are_of_all_cores():
    assert point().share("user_s", "system_s", "interrupts_s") == 0.25
    assert MachinePoint(0, 1.0, {}).share("user_s") is None


def test_each_figure_has_its_mean_and_its_highest_second():
    use = machine_use("shop-1", [point(0, sent_bytes=100, running=1), point(1, sent_bytes=300)])
    assert use.figures["sent_bytes"] == (200, 300)
    assert use.figures["running"] == (1, 1)
    assert use.figures["cpu"] == (0.25, 0.25)
    assert use.figures["busiest_core"] == (40, 40)
    assert (use.cores, use.seconds, use.busy_s) == (4, 2, 2.0)
    assert "received_bytes" not in use.figures


def test_what_is_counted_is_told_per_second_whatever_the_seconds_length():
    use = machine_use("shop-1", [point(lasted_s=2.0, sent_bytes=100)])
    assert use.figures["sent_bytes"] == (50, 50)


def test_processes_have_figures_of_their_own():
    first = {"nginx": {"cpu_s": 0.4, "threads": 4}}
    points = [point(processes=first), point(1, processes={"nginx": {"cpu_s": 0.6, "threads": 6}})]
    use = machine_use("shop-1", points)
    assert use.processes == {"nginx": {"cpu_s": (0.5, 0.6), "threads": (5, 6)}}
    assert use.watched_s == 1.0


def test_a_second_without_cpu_time_makes_its_sum_unknown():
    assert machine_use("shop-1", [point(), MachinePoint(1, 1.0, {"running": 1})]).busy_s is None


def test_cpu_time_is_of_the_seconds_that_lie_within_the_measurement():
    points = [point(0, user_s=0), *(point(second) for second in range(1, 9)), point(9, user_s=3)]
    use = machine_use("shop-1", points, 10)
    assert (use.seconds, use.lasted_s, use.busy_s) == (10, 8, 8.0)
    assert [second for second in range(6) if is_inner(second, 6)] == [1, 2, 3, 4]
    assert all(is_inner(second, 3) for second in range(3))


def test_the_cpu_time_of_1000_requests():
    for cpu_s, lasted_s, rate, cost in [
        (20, 10, 200, 10.0),  # two cores for 200 requests/s
        (10, 5, 200, 10.0),  # half of the seconds were not told
        (None, 10, 200, None),
        (20, 10, None, None),
        (20, 0, 200, None),
    ]:
        assert cpu_s_per_1000(cpu_s, lasted_s, rate) == cost


def test_cpu_time_is_the_machines_own_work_and_that_of_the_chosen_processes():
    did = {"user_s": 0.5, "system_s": 0.25, "interrupts_s": 0.1, "idle_s": 1, "stolen_s": 1}
    assert busy_s(did) == pytest.approx(0.85)
    assert busy_s({"user_s": 0.5}) is None
    assert watched_s(did) is None
    assert watched_s({"processes": {"a": {"cpu_s": 0.5}, "b": {"cpu_s": 0.25}}}) == 0.75
    assert watched_s({"processes": {"a": {"cpu_s": 0.5}, "b": {"memory_bytes": 1}}}) is None
