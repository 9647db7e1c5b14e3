"""What the machine did between two readings of /proc. The watched processes: which they are, and
what they use."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from workers.agent.proc import (
    Figures,
    cpu_of,
    disks_of,
    known,
    link_of,
    listening_sockets,
    memory_of,
    network_of,
    open_files_of,
    process_of,
    sockets_of,
    swapped_of,
    tcp_of,
    text_of,
)

# Takes from one look for processes that came or went to the next.
_LOOK_EVERY, _LOOK_ANEW_EVERY = 5, 60
_LONGEST_COMM = 15  # the kernel cuts names off


class Processes:
    """The watched processes, by what somebody named: nginx, :8080 (a port), pid:1234, or several of
    these with commas between. A process that fits two names counts with the first."""

    def __init__(self, watched: Sequence[str], proc: Path = Path("/proc")):
        self._watched, self._proc = watched, str(proc)
        self._ports = {int(each[1:]) for each in _parts_of(watched) if each.startswith(":")}
        self._sockets: dict[int, set[str]] = {}
        self._seen: set[str] = set()
        self._pids: dict[str, set[str]] = {}
        self._open_files: dict[str, int | None] = {}
        self._cpu_s: dict[tuple[str, int], float] = {}
        self._takes = 0

    @property
    def names(self) -> Sequence[str]:
        """What somebody named."""
        return self._watched

    @property
    def pids(self) -> frozenset[str]:
        """The numbers of those that count now."""
        return frozenset().union(*self._pids.values())

    def take(self) -> dict[str, Figures]:
        """What each used since the last call; of one that came since then, nothing yet."""
        if self._takes % _LOOK_EVERY == 0:
            self._look()
        self._takes += 1
        before, self._cpu_s = self._cpu_s, {}
        return {name: self._figures(name, before) for name in self._watched}

    def _figures(self, name: str, before: Mapping[tuple[str, int], float]) -> Figures:
        total: Figures = {"cpu_s": 0.0, "processes": 0, "threads": 0, "memory_bytes": 0}
        for pid in self._pids[name]:
            if process := process_of(text_of(f"{self._proc}/{pid}/stat")):
                key = pid, process.started
                self._cpu_s[key] = process.cpu_s
                total["cpu_s"] += process.cpu_s - before.get(key, process.cpu_s)
                total["processes"] += 1
                total["threads"] += process.threads
                total["memory_bytes"] += process.memory_bytes
        total["cpu_s"] = round(total["cpu_s"], 4)
        return total | known({"open_files": self._open_files[name]})

    def _look(self) -> None:
        """To look at each process costs the most, so it is done once for each; now and then, and
        when a port changes hands, anew."""
        pids = {entry for entry in os.listdir(self._proc) if entry.isdigit()} - {str(os.getpid())}
        sockets = {port: self._listening(port) for port in self._ports}
        if self._takes % _LOOK_ANEW_EVERY == 0 or sockets != self._sockets:
            self._seen, self._pids = set(), {}
        fresh, self._seen, self._sockets = pids - self._seen, pids, sockets
        for name in self._watched:
            found = {pid for pid in fresh if self._fits(name, pid)}
            fresh -= found
            self._pids[name] = found | self._pids.get(name, set()) & pids
            counts = [_count_files(f"{self._proc}/{pid}/fd") for pid in self._pids[name]]
            self._open_files[name] = sum(counts) if None not in counts else None

    def _listening(self, port: int) -> set[str]:
        files = [text_of(f"{self._proc}/net/{each}") for each in ("tcp", "tcp6")]
        return {f"socket:[{inode}]" for each in files for inode in listening_sockets(each, port)}

    def _fits(self, name: str, pid: str) -> bool:
        return any(self._fits_one(each, pid) for each in name.split(","))

    def _fits_one(self, name: str, pid: str) -> bool:
        if name.startswith("pid:"):
            return name == f"pid:{pid}"
        if name.startswith(":"):
            sockets = self._sockets[int(name[1:])]
            return bool(sockets and sockets & _links(f"{self._proc}/{pid}/fd"))
        return text_of(f"{self._proc}/{pid}/comm").strip() == name[:_LONGEST_COMM]


def _parts_of(watched: Sequence[str]) -> Iterator[str]:
    for name in watched:
        yield from name.split(",")


def _count_files(folder: str) -> int | None:
    try:
        return os.stat(folder).st_size or len(os.listdir(folder))
    except OSError:
        return None


def _links(folder: str) -> set[str]:
    try:
        return {os.readlink(f"{folder}/{name}") for name in os.listdir(folder)}
    except OSError:
        return set()


# An interval shorter than this is too coarse a reading; a longer one is a gap, not a second.
SHORTEST_S, LONGEST_S = 0.25, 2.5
_NS = 1_000_000_000


class Reading(NamedTuple):
    at_ns: int
    counters: Figures
    gauges: Figures
    cores: list[tuple[int, int]]


def read_machine(at_ns: int, proc: Path = Path("/proc")) -> Reading:
    def file(name: str) -> str:
        return text_of(proc / name)

    cpu = cpu_of(file("stat"))
    tcp_counters, tcp_gauges = tcp_of(file("net/snmp"), file("net/netstat"))
    return Reading(
        at_ns,
        {
            **cpu.counters,
            **network_of(file("net/dev")),
            **tcp_counters,
            **disks_of(file("diskstats")),
            **swapped_of(file("vmstat")),
        },
        {
            **cpu.gauges,
            **memory_of(file("meminfo")),
            **tcp_gauges,
            **sockets_of(file("net/sockstat")),
            **open_files_of(file("sys/fs/file-nr")),
            **_link(),
        },
        cpu.cores,
    )


@cache
def _link() -> Figures:
    """Read once: it is another file for every interface."""
    return link_of()


class Interval(NamedTuple):
    """What the machine did in an interval around `middle_ns`."""

    middle_ns: int
    lasted_s: float
    values: dict[str, Any]


class Sampler:
    """What the machine did between two calls."""

    def __init__(self, processes: Processes, read: Callable[[int], Reading] = read_machine):
        self._processes, self._read = processes, read
        self._before: Reading | None = None

    def take(self, now_ns: int) -> Interval | None:
        """None for the first call, and where too much time has passed to call it a second."""
        before, self._before = self._before, self._read(now_ns)
        watched = self._processes.take()
        if before is None:
            return None
        lasted_s = (now_ns - before.at_ns) / _NS
        if not SHORTEST_S <= lasted_s <= LONGEST_S:
            return None
        values = {**_between(before, self._before), **self._before.gauges}
        if watched:
            values["processes"] = watched
        return Interval((before.at_ns + now_ns) // 2, lasted_s, values)


def _between(before: Reading, now: Reading) -> dict[str, Any]:
    """The growth of the counters; of one that began anew, nothing."""
    grown = {
        name: round(max(0, value - before.counters[name]), 4)
        for name, value in now.counters.items()
        if name in before.counters
    }
    pairs = zip(before.cores, now.cores, strict=False)
    shares = [(busy - old_busy, whole - old) for (old_busy, old), (busy, whole) in pairs]
    return {**grown, "cores": [_percent(busy, whole) for busy, whole in shares]}


def _percent(busy: int, whole: int) -> int:
    """Linux counts the waiting for disks backwards now and then, and a core may go or come."""
    return max(0, min(100, round(100 * busy / whole))) if whole > 0 else 0
