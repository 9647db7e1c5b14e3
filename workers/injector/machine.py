"""What Linux reports about this process and its machine, from /proc; zeros without a file.

The CPU quota of this process (cgroup v2 or v1), and how long it was kept from running by it.

The machine's network interfaces: how full they are, and whether they lose packets."""

import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
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


_NS_OF_US = 1_000


@dataclass(frozen=True, slots=True)
class _Group:
    """A control group: its folder, and whether it is one of version 1."""

    folder: str
    is_old: bool


def read_cores() -> float | None:
    """How many cores' worth of time this process may use; None if there is no quota."""
    with ProcFiles() as files:
        return CpuQuota(files).cores


class CpuQuota:
    """Of the process's control group and those around it; all of them count."""

    def __init__(self, files: ProcFiles, proc: str = "/proc/self"):
        self._files = files
        self._groups = _groups(files.lines(f"{proc}/cgroup"), files.lines(f"{proc}/mountinfo"))

    @property
    def cores(self) -> float | None:
        """How many cores' worth of time the process may use; None if there is no quota."""
        quotas = [self._cores_of(group) for group in self._groups]
        return min((cores for cores in quotas if cores is not None), default=None)

    def throttled_ns(self) -> int:
        """How long it was over its quota so far; of several groups, the one that waited most."""
        return max((self._throttled_ns_of(group) for group in self._groups), default=0)

    def _cores_of(self, group: _Group) -> float | None:
        if group.is_old:
            files = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            words = [self._files.first_line(f"{group.folder}/{name}") for name in files]
        else:
            words = self._files.first_line(f"{group.folder}/cpu.max").split()
        # "max" and -1 mean: no quota.
        if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
            return None
        return int(words[0]) / int(words[1])

    def _throttled_ns_of(self, group: _Group) -> int:
        stat = dict(
            pair
            for line in self._files.lines(f"{group.folder}/cpu.stat")
            if len(pair := line.split()) == 2
        )
        if group.is_old:
            return int(stat.get("throttled_time", 0))
        return int(stat.get("throttled_usec", 0)) * _NS_OF_US


def _groups(cgroup: list[str], mountinfo: list[str]) -> list[_Group]:
    """The process's group in each hierarchy that can limit CPU time, and all groups around it."""
    mounts = [mount for line in mountinfo if (mount := _mount(line))]
    groups = []
    for line in cgroup:
        number, controllers, path = line.split(":", 2)
        is_old = number != "0"
        if is_old and "cpu" not in controllers.split(","):
            continue
        for is_old_mount, root, folder in mounts:
            if is_old_mount != is_old:
                continue
            # In a container the mounted group is often the process's own, its path the host's.
            group = PurePosixPath(path)
            inside = group.relative_to(root) if group.is_relative_to(root) else PurePosixPath()
            own = Path(folder) / inside
            folders = (each for each in (own, *own.parents) if each.is_relative_to(folder))
            groups += [_Group(str(each), is_old) for each in folders]
    return groups


def _mount(line: str) -> tuple[bool, str, str] | None:
    """(is version 1, the group that is mounted, where) of a line of mountinfo."""
    before, _, after = line.partition(" - ")
    words, kind = before.split(), after.split()
    if len(words) < 5 or len(kind) < 3 or kind[0] not in {"cgroup", "cgroup2"}:
        return None
    is_old = kind[0] == "cgroup"
    if is_old and "cpu" not in kind[2].split(","):
        return None
    return is_old, words[3], words[4]


_COUNTS = "/proc/net/dev"
_SPEED = "/sys/class/net/{}/speed"
_LOOPBACK = "lo"
# With fewer packets per second, a single stray packet would be a large share.
_FEW_PACKETS = 1000
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Traffic:
    """Counters of one interface since boot; `lost` packets were dropped or had errors."""

    received_bytes: int
    sent_bytes: int
    packets: int
    lost: int


def read_traffic(files: ProcFiles) -> dict[str, Traffic]:
    """Every interface except loopback; {} if the kernel does not list them."""
    traffic = {}
    for line in files.lines(_COUNTS)[2:]:
        name, _, text = line.partition(":")
        numbers = [int(word) for word in text.split()]
        if name.strip() != _LOOPBACK and len(numbers) >= 12:
            traffic[name.strip()] = Traffic(
                received_bytes=numbers[0],
                sent_bytes=numbers[8],
                packets=numbers[1] + numbers[9],
                lost=sum(numbers[2:4]) + sum(numbers[10:12]),
            )
    return traffic


def bits_per_s_of(name: str) -> int:
    """The speed of an interface's link; 0 where it is not known, as of most virtual ones."""
    try:
        with open(_SPEED.format(name)) as file:
            return max(0, int(file.read())) * 1_000_000
    except (OSError, ValueError):
        return 0


class Links:
    """What happened on the interfaces from one call to the next."""

    def __init__(
        self, read: Callable[[], dict[str, Traffic]], speed_of: Callable[[str], int] = bits_per_s_of
    ):
        self._read = read
        self._before = read()
        self._speeds = {name: speed for name in self._before if (speed := speed_of(name))}

    def take(self, elapsed_ns: int) -> dict[str, float]:
        """`link_share` of the fullest link in its busier direction, where a speed is known;
        `packets_lost_share` of all interfaces."""
        before, now = self._before, self._read()
        self._before = now
        pairs = [(name, before[name], each) for name, each in now.items() if name in before]
        lost = sum(each.lost - old.lost for _, old, each in pairs)
        packets = sum(each.packets - old.packets for _, old, each in pairs)
        figures = {"packets_lost_share": round(max(0, lost) / max(packets + lost, _FEW_PACKETS), 6)}
        shares = [
            self._bits(old, each) * _NS / elapsed_ns / self._speeds[name]
            for name, old, each in pairs
            if name in self._speeds
        ]
        return {"link_share": round(max(shares), 4), **figures} if shares else figures

    @staticmethod
    def _bits(before: Traffic, now: Traffic) -> int:
        received = now.received_bytes - before.received_bytes
        return 8 * max(0, received, now.sent_bytes - before.sent_bytes)
