"""A machine's seconds, from two readings."""

import pytest

from workers.agent.machine import Processes, Reading, Sampler

pytestmark = pytest.mark.pure
S = 1_000_000_000


class Script:
    """Readings one after another."""

    def __init__(self, *readings: dict):
        self._readings = list(readings)

    def __call__(self, at_ns: int) -> Reading:
        given = {"counters": {}, "gauges": {}, "cores": [], **self._readings.pop(0)}
        return Reading(at_ns, **given)


class NoProcesses:
    def take(self) -> dict:
        return {}


def sampler(*readings: dict) -> Sampler:
    return Sampler(NoProcesses(), Script(*readings))


def test_counters_tell_their_growth_and_gauges_what_they_are():
    machine = sampler(
        {"counters": {"user_s": 10.0, "sent_bytes": 500}, "cores": [(10, 100), (0, 100)]},
        {
            "counters": {"user_s": 10.25, "sent_bytes": 1500},
            "gauges": {"running": 2},
            "cores": [(60, 200), (100, 200)],
        },
    )
    assert machine.take(7 * S) is None
    seen = machine.take(8 * S)
    assert seen.values == {"user_s": 0.25, "sent_bytes": 1000, "running": 2, "cores": [50, 100]}
    assert (seen.middle_ns, seen.lasted_s) == (7 * S + S // 2, 1.0)


def test_a_counter_counts_from_the_second_after_it_appeared_or_began_anew():
    counts = [{"counters": {"sent_bytes": n}} for n in (500, 20, 22)]
    machine = sampler({}, *counts)
    machine.take(0)
    assert "sent_bytes" not in machine.take(S).values
    assert [machine.take(each * S).values["sent_bytes"] for each in (2, 3)] == [0, 2]


@pytest.mark.parametrize(
    ("before", "now", "percent"),
    [
        ((900, 1000), (1000, 1095), 100),  # its waiting for disks fell by 5
        ((900, 1000), (20, 1100), 0),  # another core stands at its place
        ((900, 1000), (30, 40), 0),
    ],
)
def test_what_a_core_did_is_from_0_to_100_percent_whatever_linux_counts(before, now, percent):
    machine = sampler({"cores": [before]}, {"cores": [now]})
    machine.take(0)
    assert machine.take(S).values["cores"] == [percent]


@pytest.mark.parametrize(("took_s", "is_second"), [(0.1, False), (1.6, True), (60, False)])
def test_an_interval_that_is_no_second_is_a_gap(took_s, is_second):
    machine = sampler({}, {}, {})
    machine.take(0)
    assert (machine.take(int(took_s * S)) is not None) is is_second


def stat(name: str, ticks: int, started: int = 5) -> str:
    return f"7 ({name}) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 2 0 {started} 0 100 0"


@pytest.fixture
def proc(tmp_path):
    for pid, name in ((11, "nginx"), (12, "nginx"), (13, "redis")):
        folder = tmp_path / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "comm").write_text(f"{name}\n")
        (folder / "stat").write_text(stat(name, 100))
    return tmp_path


def test_processes_of_a_name_count_together(proc):
    processes = Processes(["nginx", "pid:13", "absent"], proc)
    processes.take()
    (proc / "11" / "stat").write_text(stat("nginx", 130))
    (proc / "12" / "stat").write_text(stat("nginx", 120))
    taken = processes.take()
    assert (taken["nginx"]["cpu_s"], taken["nginx"]["processes"]) == (0.5, 2)
    assert taken["nginx"]["threads"] == 4
    assert taken["pid:13"]["cpu_s"] == 0
    assert taken["absent"]["processes"] == 0


def test_a_process_with_the_number_of_an_earlier_one_is_another(proc):
    processes = Processes(["nginx"], proc)
    processes.take()
    (proc / "11" / "stat").write_text(stat("nginx", 900, started=8))
    assert processes.take()["nginx"]["cpu_s"] == 0
    (proc / "11" / "stat").write_text(stat("nginx", 910, started=8))
    assert processes.take()["nginx"]["cpu_s"] == 0.1


def test_a_process_that_ends_is_counted_no_more(proc):
    processes = Processes(["redis"], proc)
    assert processes.take()["redis"]["processes"] == 1
    (proc / "13" / "stat").unlink()
    assert processes.take()["redis"] == {
        "cpu_s": 0,
        "processes": 0,
        "threads": 0,
        "memory_bytes": 0,
        "open_files": pytest.approx((proc / "13" / "fd").stat().st_size, abs=4096),
    }


def test_a_port_names_the_process_that_listens(proc):
    (proc / "net").mkdir()
    row = "0: 0100007F:1F91 00000000:0000 0A 0:0 00:0 0 1000 0 4242 1"
    (proc / "net" / "tcp").write_text(f"sl local_address\n {row}\n")
    (proc / "12" / "fd" / "3").symlink_to("socket:[4242]")
    assert Processes([":8081"], proc).take()[":8081"]["processes"] == 1
