"""What the agent reads in /proc, as the site's reader of exporters understands it."""

from itertools import pairwise
from pathlib import Path

import pytest

from campaigns.domain.metrics.exporter import METRICS, did_between, offers, reading_of, samples_of
from campaigns.domain.metrics.machine import machine_of
from workers.agent import (
    LONGEST_PROCESS,
    MOST_PROCESSES,
    Processes,
    Sample,
    link_speeds,
    listening_sockets,
    machine_samples,
    process_of,
)

pytestmark = pytest.mark.pure
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


@pytest.fixture
def proc(tmp_path) -> Path:
    """Three processes of two names, on a machine."""
    (tmp_path / "net").mkdir()
    (tmp_path / "sys" / "fs").mkdir(parents=True)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for pid, name in ((11, "nginx"), (12, "nginx"), (13, "redis")):
        (tmp_path / f"{pid}" / "fd").mkdir(parents=True)
        (tmp_path / f"{pid}" / "comm").write_text(f"{name}\n")
        process(tmp_path, pid, 100)
    return tmp_path


FILES = {
    "stat": STAT,
    "meminfo": MEMINFO,
    "vmstat": "pgpgin 190\npswpin 3\npswpout 4\n",
    "net/dev": DEV,
    "net/snmp": SNMP,
    "net/netstat": NETSTAT,
    "net/sockstat": SOCKSTAT,
    "net/tcp": TCP,
    "diskstats": DISKS,
    "sys/fs/file-nr": "2091\t0\t2466170\n",
}
ZERO_BYTES = {
    "stat": STAT.replace("4120448", "0").replace("2018965", "2018865"),
    "net/dev": DEV.replace("11078695521", "11078694521").replace("185990", "180990"),
    "net/snmp": SNMP.replace("597792", "597790"),
    "net/netstat": NETSTAT.replace("0 7 9", "0 6 9"),
    "diskstats": DISKS.replace("2000 5", "1000 5").replace("1 0 2 1", "1 0 1 1"),
    "vmstat": "pswpin 1\npswpout 4\n",
}


def process(proc: Path, pid: int, ticks: int, start: int = 5) -> None:
    words = f"S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 2 0 {start} 0 100 0"
    (proc / f"{pid}" / "stat").write_text(f"{pid} (a) R 1 (b) {words}")


def text(proc: Path, processes: Processes | None = None, now_s: float = 0.0) -> str:
    per_process = processes.samples(now_s) if processes else ()
    return "".join(f"{each}\n" for each in [*machine_samples(str(proc)), *per_process])


def did(before: str, now: str) -> dict:
    return did_between(reading_of(before), reading_of(now), 1.0)


def test_each_metric_is_one_that_the_site_reads(proc):
    metrics = text(proc, Processes(["nginx"], str(proc)))
    names = {each.name for each in samples_of(metrics, METRICS)}
    assert {line.partition("{")[0].partition(" ")[0] for line in metrics.splitlines()} == names
    assert offers(reading_of(metrics)) == [
        *("CPU", "memory", "network", "loopback", "TCP", "disks", "open files", "process nginx")
    ]


def test_what_the_machine_did_in_a_second_is_what_its_kernel_counted(proc):
    """Each byte counts once: not those of bridges, VLANs and partitions."""
    now = text(proc)
    for name, earlier in ZERO_BYTES.items():
        (proc / name).write_text(earlier)
    counts = did(text(proc), now)
    assert (
        counts
        | {
            "user_s": 1.0,
            "system_s": 0,
            "received_bytes": 1000,
            "loopback_bytes": 5000,
            "retransmitted": 2,
            "listen_overflows": 1,
            "listen_drops": 0,
            "disk_read_bytes": 1001 * 512,
            "swapped_pages": 2,
            "cores": [100, 0],
            "running": 3,
            "blocked": 1,
            "memory_used_bytes": (24684084 - 22649380) * 1024,
            "swap_used_bytes": 97148 * 1024,
            "established": 42,
            "time_wait": 2005,
            "orphaned": 3,
            "open_files": 2091,
        }
        == counts
    )
    assert machine_of(counts) == f"1795315615/{24684084 * 1024}"


def test_what_a_kernel_does_not_have_is_absent(tmp_path):
    assert list(machine_samples(str(tmp_path))) == []
    (tmp_path / "stat").write_text("cpu  10 0 20 300 5\ncpu0 10 0 20 300 5\n")
    modes = [each.labels["mode"] for each in machine_samples(str(tmp_path))]
    assert modes == ["user", "nice", "system", "idle", "iowait"]


def test_the_speed_of_a_real_interface_is_told(tmp_path):
    for name, speed in {"eth0": "1000\n", "eth1": "-1\n", "lo": "", "docker0": "10000\n"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "speed").write_text(speed)
    for name in ("eth0", "eth1"):
        (tmp_path / name / "device").mkdir()
    (found,) = link_speeds(str(tmp_path))
    assert found == ("node_network_speed_bytes", {"device": "eth0"}, 125_000_000)


def test_processes_of_a_name_count_together(proc):
    processes = Processes(["nginx", "pid:13", "absent"], str(proc))
    before = text(proc, processes)
    process(proc, 11, 130)
    process(proc, 12, 120)
    counts = did(before, text(proc, processes, 1.0))["processes"]
    assert (counts["nginx"]["cpu_s"], counts["nginx"]["processes"]) == (0.5, 2)
    assert (counts["nginx"]["threads"], counts["nginx"]["memory_bytes"]) == (4, 200 * 4096)
    assert counts["pid:13"]["cpu_s"] == 0
    assert counts["absent"]["processes"] == 0


def test_what_ended_stays_in_the_cpu_time_and_its_number_is_another_process(proc):
    processes = Processes(["nginx"], str(proc))
    texts = [text(proc, processes)]
    process(proc, 11, 130)
    texts.append(text(proc, processes, 1.0))
    process(proc, 11, 900, start=8)
    texts.append(text(proc, processes, 2.0))
    process(proc, 11, 910, start=8)
    (proc / "12" / "stat").unlink()
    texts.append(text(proc, processes, 3.0))
    counts = [did(*pair)["processes"]["nginx"] for pair in pairwise(texts)]
    assert [each["cpu_s"] for each in counts] == [0.3, 0, 0.1]
    assert [each["processes"] for each in counts] == [2, 2, 1]


def test_a_process_that_came_is_found_within_five_seconds(proc):
    processes = Processes(["redis"], str(proc))
    text(proc, processes)
    (proc / "14" / "fd").mkdir(parents=True)
    (proc / "14" / "comm").write_text("redis\n")
    process(proc, 14, 7)
    n = [did(text(proc), text(proc, processes, at_s))["processes"]["redis"] for at_s in (4.0, 5.0)]
    assert [each["processes"] for each in n] == [1, 2]


def test_a_port_names_the_process_that_listens(proc):
    (proc / "12" / "fd" / "3").symlink_to("socket:[81818]")
    (proc / "13" / "fd" / "3").symlink_to("socket:[91919]")  # a connection to that port
    processes = Processes([":8081"], str(proc))
    list(processes.samples(0.0))
    assert processes.pids == {"12"}
    assert listening_sockets(TCP, 80) == {"70707"}


def test_a_process_that_has_ended_is_none():
    assert process_of("") is None
    assert process_of("7 (old) Z " + "0 " * 40) is None


def test_a_label_is_read_as_it_was_written():
    name = 'a "quoted" \\ name'
    line = str(Sample("namedprocess_namegroup_cpu_seconds_total", {"groupname": name}, 0.25))
    assert list(reading_of(line).processes) == [name]


def test_the_site_reads_as_many_processes_as_the_agent_takes():
    names = [f"{n:0{LONGEST_PROCESS}}" for n in range(MOST_PROCESSES)]
    assert list(reading_of(text(Path("/absent"), Processes(names))).processes) == names
