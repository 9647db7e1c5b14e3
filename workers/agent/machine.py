"""What the machine did between two readings of /proc."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from workers.agent.proc import (
    Figures,
    cpu_of,
    disks_of,
    link_of,
    memory_of,
    network_of,
    open_files_of,
    sockets_of,
    swapped_of,
    tcp_of,
    text_of,
)
from workers.agent.processes import Processes

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
