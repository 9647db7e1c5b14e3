"""A machine's seconds, from two readings. Texts of real machines, and what the agent reads in
them."""

import pytest

from workers.agent.machine import Processes, Reading, Sampler
from workers.agent.proc import (
    cpu_of,
    disks_of,
    link_of,
    listening_sockets,
    memory_of,
    network_of,
    open_files_of,
    process_of,
    sockets_of,
    swapped_of,
    tcp_of,
)

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


def test_what_a_core_did_is_from_0_to_100_percent_whatever_linux_counts():
    for before, now, percent in [
        ((900, 1000), (1000, 1095), 100),  # its waiting for disks fell by 5
        ((900, 1000), (20, 1100), 0),  # another core stands at its place
        ((900, 1000), (30, 40), 0),
    ]:
        machine = sampler({"cores": [before]}, {"cores": [now]})
        machine.take(0)
        assert machine.take(S).values["cores"] == [percent]


def test_an_interval_that_is_no_second_is_a_gap():
    for took_s, is_second in [(0.1, False), (1.6, True), (60, False)]:
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


STAT = """\
cpu  4120448 3914883 1611847 3816808 29697 10 77817 37282 0 0
cpu0 2018965 1950897 772770 2000317 5778 10 34961 18559 0 0
cpu1 2101482 1963985 839076 1816491 23918 0 42856 18722 0 0
intr 94286044 0 0 0 1
ctxt 308626699
btime 1795315615
procs_running 3
procs_blocked 1
softirq 156172969 0 7225437
"""
MEMINFO = """\
MemTotal:       24684084 kB
MemFree:        21934872 kB
MemAvailable:   22649380 kB
Buffers:            4864 kB
SwapTotal:       2097148 kB
SwapFree:        2000000 kB
HugePages_Total:       0
"""
DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo: 185990 151 0 0 0 0 0 0 185990 151 0 0 0 0 0 0
  ifb0:       9       9    0    9    0     0          0         0        9       9    0    9    0
  eth0: 11078695521  483749    0    2    0     0     0   0 38175548  378626    0    3    0
  eth1:1000 10 0 0 0 0 0 0 2000 20 0 0 0
docker0: 500 5 0 0 0 0 0 0 500 5 0 0 0
eth0.100: 700 7 0 0 0 0 0 0 700 7 0 0 0
"""
SNMP = """\
Ip: Forwarding DefaultTTL
Ip: 2 64
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn CurrEstab InSegs OutSegs RetransSegs InErrs
Tcp: 1 200 120000 -1 42 152216570 151520897 597792 18
"""
NETSTAT = """\
TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPHPHits
TcpExt: 0 7 9 12
IpExt: InNoRoutes
IpExt: 0
"""
SOCKSTAT = """\
sockets: used 78
TCP: inuse 4 orphan 3 tw 2005 alloc 4 mem 0
UDP: inuse 0 mem 0
"""
DISKS = """\
   7       0 loop0 9 9 9 9 9 9 9 9 9 9 9
 259       0 nvme0n1 100 0 2000 5 50 0 400 7 0 1500 12 0 0 0 0 0 0
 259       1 nvme0n1p1 90 0 1800 5 50 0 400 7 0 1500 12
   8       0 sda 1 0 8 1 1 0 16 1 0 500 2
   8       1 sda1 1 0 8 1 1 0 16 1 0 500 2
 254       0 vda 1 0 2 1 1 0 4 1 0 1000 2
 253       0 dm-0 9 9 9 9 9 9 9 9 9 9 9
"""
TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 81818 1
   1: 0100007F:1F91 0100007F:A2C4 01 00000000:00000000 00:00000000 00000000  1000        0 91919 1
   2: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 70707 1
"""


def test_cpu_time_is_read_by_state_and_per_core():
    cpu = cpu_of(STAT)
    assert cpu.counters == {
        "user_s": 80353.31,
        "system_s": 16118.47,
        "interrupts_s": 778.27,
        "stolen_s": 372.82,
        "waiting_s": 296.97,
        "idle_s": 38168.08,
    }
    assert [whole - busy for busy, whole in cpu.cores] == [2006095, 1840409]
    assert cpu.gauges == {"booted_s": 1795315615, "running": 3, "blocked": 1}


def test_an_old_kernel_without_steal_has_no_stolen_time():
    cpu = cpu_of("cpu  10 0 20 300 5\ncpu0 10 0 20 300 5\n")
    assert cpu.counters["stolen_s"] == 0
    assert cpu.cores == [(30, 335)]


def test_used_memory_is_what_others_cannot_have():
    assert memory_of(MEMINFO) == {
        "memory_bytes": 24684084 * 1024,
        "memory_used_bytes": (24684084 - 22649380) * 1024,
        "swap_used_bytes": 97148 * 1024,
    }


def test_each_byte_of_the_network_counts_once():
    """Bridges and VLANs carry what their interface carries; a loopback receives what it sends."""
    assert network_of(DEV) == {
        "loopback_bytes": 185990,
        "loopback_packets": 151,
        "received_bytes": 11078696521,
        "sent_bytes": 38177548,
        "received_packets": 483759,
        "sent_packets": 378646,
        "dropped_packets": 5,
    }


def test_tcp_has_what_was_sent_again_and_what_the_listen_queue_lost():
    counters, gauges = tcp_of(SNMP, NETSTAT)
    assert counters == {
        "segments_sent": 151520897,
        "retransmitted": 597792,
        "listen_overflows": 7,
        "listen_drops": 9,
    }
    assert gauges == {"established": 42}
    assert sockets_of(SOCKSTAT) == {"time_wait": 2005, "orphaned": 3}


def test_disks_count_without_their_partitions():
    assert disks_of(DISKS) == {
        "disk_read_bytes": 2010 * 512,
        "disk_written_bytes": 420 * 512,
        "disk_busy_s": 3.0,
    }


def test_swapped_pages_and_open_files():
    assert swapped_of("pgpgin 190\npswpin 3\npswpout 4\n") == {"swapped_pages": 7}
    assert open_files_of("2091\t0\t2466170\n") == {"open_files": 2091}


def test_what_a_machine_does_not_have_is_absent():
    readers = (memory_of, network_of, sockets_of, disks_of, swapped_of, open_files_of)
    assert [read("") for read in readers] == [{}] * len(readers)
    assert tcp_of("", "") == ({}, {})
    assert cpu_of("") == ({}, [], {})


def test_a_process_is_read_whatever_its_name():
    for name in ["head", "a) R 1 (b", "tmux: server"]:
        rest = "S 1 1 1 0 -1 4194304 107 0 0 0 250 50 0 0 20 0 14 0 6832279 2998272 418 184467"
        process = process_of(f"18602 ({name}) {rest}")
        assert (process.cpu_s, process.threads, process.started) == (3.0, 14, 6832279)
        assert process.memory_bytes == 418 * 4096


def test_a_process_that_has_ended_is_none():
    assert process_of("") is None
    assert process_of("7 (old) Z " + "0 " * 40) is None


def test_only_listening_sockets_of_the_port_are_found():
    assert listening_sockets(TCP, 8081) == {"81818"}
    assert listening_sockets(TCP, 80) == {"70707"}
    assert listening_sockets(TCP, 443) == set()


@pytest.mark.parametrize(
    ("speeds", "told"),
    [
        ({"eth0": "1000\n", "lo": "", "docker0": "10000\n"}, {"link_bytes_per_s": 125_000_000}),
        ({"eth0": "1000\n", "eth1": "1000\n"}, {}),
        ({"eth0": "-1\n"}, {}),
        ({}, {}),
    ],
)
def test_the_speed_of_the_link_is_told_where_there_is_one(tmp_path, speeds, told):
    for name, speed in speeds.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "speed").write_text(speed)
    assert link_of(str(tmp_path)) == told
