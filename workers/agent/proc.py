"""What the files of /proc say: a text in, figures out. What a kernel does not have is absent."""

import os
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_SECTOR_BYTES = 512
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_CPU_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
# Their traffic is also that of a real interface, or of none.
_VIRTUAL = re.compile(r"(veth|docker|br-|virbr|cni|cali|flannel|tun|tap|wg|bond|dummy|ifb)|.*[.:@]")
_PARTS_OF_DISKS = re.compile(r"loop|ram|zram|dm-|md|sr|fd|(sd|vd|xvd|hd)[a-z]+\d|.*\dp\d")
_LISTENING = "0A"
_GAUGES = {"procs_running": "running", "procs_blocked": "blocked", "btime": "booted_s"}

Figures = dict[str, float]


class Cpu(NamedTuple):
    """`counters`: seconds of all cores by state. `cores`: (busy, all) ticks of each."""

    counters: Figures
    cores: list[tuple[int, int]]
    gauges: Figures


def cpu_of(stat: str) -> Cpu:
    """/proc/stat."""
    counters: Figures = {}
    cores, gauges = [], {}
    for line in stat.splitlines():
        name, *words = line.split()
        if name.startswith("cpu"):
            ticks = dict.fromkeys(_CPU_STATES, 0)
            ticks |= {state: int(n) for state, n in zip(_CPU_STATES, words, strict=False)}
            if name == "cpu":
                found = {
                    "user_s": ticks["user"] + ticks["nice"],
                    "system_s": ticks["system"],
                    "interrupts_s": ticks["irq"] + ticks["softirq"],
                    "stolen_s": ticks["steal"],
                    "waiting_s": ticks["iowait"],
                    "idle_s": ticks["idle"],
                }
                counters = {name: n / _TICKS_PER_S for name, n in found.items()}
            else:
                waiting = ticks["idle"] + ticks["iowait"]
                cores.append((sum(ticks.values()) - waiting, sum(ticks.values())))
        elif name in _GAUGES:
            gauges[_GAUGES[name]] = int(words[0])
    return Cpu(counters, cores, gauges)


def memory_of(meminfo: str) -> Figures:
    """/proc/meminfo: what is used cannot be had by other programs."""
    lines = (line.split() for line in meminfo.splitlines())
    kb = {words[0].rstrip(":"): int(words[1]) for words in lines if len(words) > 1}
    if "MemTotal" not in kb:
        return {}
    free = kb.get("MemAvailable", kb.get("MemFree", 0))
    return {
        "memory_bytes": 1024 * kb["MemTotal"],
        "memory_used_bytes": 1024 * (kb["MemTotal"] - free),
        "swap_used_bytes": 1024 * (kb.get("SwapTotal", 0) - kb.get("SwapFree", 0)),
    }


def network_of(dev: str) -> Figures:
    """/proc/net/dev: real interfaces together, and the loopback, where all sent is received."""
    total: Figures = defaultdict(int)
    for line in dev.splitlines()[2:]:
        name, _, rest = line.rpartition(":")
        words = [int(word) for word in rest.split()]
        if name.strip() == "lo":
            total["loopback_bytes"] += words[8]
            total["loopback_packets"] += words[9]
        elif not _VIRTUAL.match(name.strip()):
            total["received_bytes"] += words[0]
            total["sent_bytes"] += words[8]
            total["received_packets"] += words[1]
            total["sent_packets"] += words[9]
            total["dropped_packets"] += words[3] + words[11]
    return dict(total)


def link_of(folder: str = "/sys/class/net") -> Figures:
    """The speed of the network link, where there is one real interface and it tells its speed: of
    several, the bytes are told together."""
    try:
        names = [name for name in os.listdir(folder) if name != "lo" and not _VIRTUAL.match(name)]
    except OSError:
        return {}
    speed = text_of(f"{folder}/{names[0]}/speed").strip() if len(names) == 1 else ""
    is_known = speed.isdecimal() and int(speed) > 0
    return {"link_bytes_per_s": int(speed) * 125_000} if is_known else {}


def tcp_of(snmp: str, netstat: str) -> tuple[Figures, Figures]:
    """/proc/net/snmp and /proc/net/netstat: (counters, gauges)."""
    tcp, more = _named_pairs(snmp, "Tcp:"), _named_pairs(netstat, "TcpExt:")
    counters = {
        "segments_sent": tcp.get("OutSegs"),
        "retransmitted": tcp.get("RetransSegs"),
        "listen_overflows": more.get("ListenOverflows"),
        "listen_drops": more.get("ListenDrops"),
    }
    return known(counters), known({"established": tcp.get("CurrEstab")})


def sockets_of(sockstat: str) -> Figures:
    """/proc/net/sockstat: TCP connections that are not established any more."""
    words = next((line.split() for line in sockstat.splitlines() if line.startswith("TCP:")), [])
    found = dict(zip(words[1::2], words[2::2], strict=False))
    names = {"tw": "time_wait", "orphan": "orphaned"}
    return {name: int(found[short]) for short, name in names.items() if short in found}


def disks_of(diskstats: str) -> Figures:
    """/proc/diskstats: whole disks together."""
    total: Figures = defaultdict(float)
    for words in (line.split() for line in diskstats.splitlines()):
        if not _PARTS_OF_DISKS.match(words[2]):
            total["disk_read_bytes"] += int(words[5]) * _SECTOR_BYTES
            total["disk_written_bytes"] += int(words[9]) * _SECTOR_BYTES
            total["disk_busy_s"] += int(words[12]) / 1000
    return dict(total)


def swapped_of(vmstat: str) -> Figures:
    """/proc/vmstat: pages moved to and from the swap space."""
    lines = [line.split() for line in vmstat.splitlines() if line.startswith("pswp")]
    return {"swapped_pages": sum(int(words[1]) for words in lines)} if lines else {}


class Process(NamedTuple):
    cpu_s: float
    threads: int
    started: int  # in ticks since boot: tells a process from a later one with its number
    memory_bytes: int
    parent: int
    children_s: float  # CPU time of its children that have ended

    @property
    def started_ns(self) -> int:
        """Since boot."""
        return self.started * 1_000_000_000 // _TICKS_PER_S


def process_of(stat: str) -> Process | None:
    """/proc/PID/stat; None for a process that has ended."""
    words = stat.rpartition(")")[2].split()
    if len(words) < 22 or words[0] in {"Z", "X"}:
        return None
    ticks = int(words[11]) + int(words[12])
    return Process(
        cpu_s=ticks / _TICKS_PER_S,
        threads=int(words[17]),
        started=int(words[19]),
        memory_bytes=int(words[21]) * _PAGE_BYTES,
        parent=int(words[1]),
        children_s=(int(words[13]) + int(words[14])) / _TICKS_PER_S,
    )


def listening_sockets(tcp: str, port: int) -> set[str]:
    """/proc/net/tcp or tcp6: the inodes of the sockets that listen at the port."""
    rows = (line.split() for line in tcp.splitlines()[1:] if f" {_LISTENING} " in line)
    listening = [row for row in rows if len(row) > 9 and row[3] == _LISTENING]
    return {row[9] for row in listening if int(row[1].rpartition(":")[2], 16) == port}


def _named_pairs(text: str, head: str) -> dict[str, int]:
    """Of two lines with the same head, one of names and one of numbers."""
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith(head)]
    return {name: int(n) for name, n in zip(*lines, strict=False)} if len(lines) == 2 else {}


def known(figures: Mapping[str, float | None]) -> Figures:
    return {name: value for name, value in figures.items() if value is not None}


def open_files_of(file_nr: str) -> Figures:
    """/proc/sys/fs/file-nr."""
    return {"open_files": int(file_nr.split()[0])} if file_nr else {}


def text_of(path: str | Path) -> str:
    """The file's text; "" where it is not there, or not ours to read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read().decode("latin-1")
    except OSError:
        return ""
