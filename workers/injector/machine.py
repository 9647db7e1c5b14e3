"""What Linux reports about this process and its machine, from /proc; zeros without a file."""

import os
import resource
import time
from typing import Self

_CHUNK_BYTES = 16 * 1024


class ProcFiles:
    """Reads the current content of such files; "" for a file that cannot be opened."""

    def __init__(self) -> None:
        self._descriptors: dict[str, int | None] = {}

    def first_line(self, path: str) -> str:
        return self._read(path, 0).partition("\n")[0]

    def lines(self, path: str) -> list[str]:
        """All lines; the kernel returns long files page by page."""
        text, length = [], 0
        while part := self._read(path, length):
            text.append(part)
            length += len(part)
        return "".join(text).splitlines()

    def _read(self, path: str, at: int) -> str:
        if path not in self._descriptors:
            try:
                self._descriptors[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                self._descriptors[path] = None
        descriptor = self._descriptors[path]
        if descriptor is None:
            return ""
        try:
            return os.pread(descriptor, _CHUNK_BYTES, at).decode("latin-1")
        except OSError:
            return ""

    def close(self) -> None:
        for descriptor in self._descriptors.values():
            if descriptor is not None:
                os.close(descriptor)
        self._descriptors.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_QUICK_NS = 100_000
_TRIES = 5
_CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_PORT_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"


def cpu_times_s(files: ProcFiles) -> tuple[float, float, float]:
    """(CPU time of all cores, of it used here, of it stolen by a hypervisor) since boot, s."""
    user, nice, system, idle, iowait, irq, softirq, steal = _numbers(files, "/proc/stat", 8)
    busy = user + nice + system + irq + softirq
    return (busy + idle + iowait + steal) / 100, busy / 100, steal / 100


def run_delay_ns(files: ProcFiles) -> int:
    """How long this process was ready to run but had no core."""
    return _numbers(files, "/proc/self/schedstat", 3)[1]


def memory_bytes(files: ProcFiles) -> tuple[int, int]:
    """(resident, what counts against RLIMIT_DATA) of this process."""
    pages = _numbers(files, "/proc/self/statm", 6)
    return pages[1] * resource.getpagesize(), pages[5] * resource.getpagesize()


def count_open_files() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


def count_swapped_pages(files: ProcFiles) -> int:
    """Pages moved to and from the swap space since boot."""
    lines = [line for line in files.lines("/proc/vmstat") if line.startswith("pswp")]
    return sum(int(line.split()[1]) for line in lines)


def wall_offset_ns() -> int:
    """How far the wall clock is ahead of the monotonic clock, which is never stepped.

    Reads again if the process was interrupted between the two readings.
    """
    for _ in range(_TRIES):
        before = time.monotonic_ns()
        wall = time.time_ns()
        took = time.monotonic_ns() - before
        if took < _QUICK_NS:
            break
    return wall - before - took // 2


def clock_source() -> str:
    """The kernel's clock source; "" if unknown."""
    try:
        with open(_CLOCK_SOURCE) as file:
            return file.read().strip()
    except OSError:
        return ""


def count_ephemeral_ports() -> int:
    """How many local ports there are for connections to one address; 0 if unknown."""
    with ProcFiles() as files:
        low, high = _numbers(files, _PORT_RANGE, 2)
    return high - low + 1 if high else 0


def time_wait_reuse() -> int:
    """Whether a port in TIME_WAIT can be reused soon: 0 no, 1 yes, 2 on loopback only."""
    with ProcFiles() as files:
        return _numbers(files, "/proc/sys/net/ipv4/tcp_tw_reuse", 1)[0]


def count_ports_taken(files: ProcFiles) -> int:
    """TCP sockets in use or in TIME_WAIT, of all programs; an upper bound of used ports."""
    lines = files.lines("/proc/net/sockstat")
    words = next((line.split() for line in lines if line.startswith("TCP:")), [])
    return sum(int(words[words.index(name) + 1]) for name in ("inuse", "tw") if name in words)


def _numbers(files: ProcFiles, path: str, count: int) -> list[int]:
    """The first numbers of a file's first line, filled up with zeros."""
    words = [word for word in files.first_line(path).split() if word.lstrip("-").isdigit()]
    return [*map(int, words[:count]), *[0] * (count - len(words))]
