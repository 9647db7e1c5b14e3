"""The agent: answers /metrics with what its machine does, in Prometheus' text format.

    python3 agent.py --listen 10.0.0.5:9800 --process nginx :8080

It is one file, which the site hands out, and needs Linux, Python 3.8 or later and nothing else. It
reads /proc when it is asked, stores nothing and calls nobody. Its metrics have the names that
node_exporter and process-exporter give them. With --perf, a request may have `perf stat` count
(`Benchsite-Perf: machine` or `processes`) or `perf record` sample (`Benchsite-Profile`, with a key
by which /profile then answers). Both are headers, which no page of another site can make a browser
send.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import hmac
import ipaddress
import json
import os
import re
import signal
import ssl
import sys
import time
from collections import Counter, deque
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Sequence

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SECTOR_BYTES = 512
CPU_MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Sample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float

    def __str__(self) -> str:
        labels = ",".join(
            f'{key}="{text.translate(_ESCAPES)}"' for key, text in self.labels.items()
        )
        value = int(self.value) if self.value == int(self.value) else round(self.value, 6)
        return f"{self.name}{{{labels}}} {value}" if labels else f"{self.name} {value}"


def text_of(path: str | Path) -> str:
    """The file's text; "" where it is not there, or not ours to read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read().decode("latin-1")
    except OSError:
        return ""


# --- the machine -------------------------------------------------------------------------------
def machine_samples(proc: str = "/proc") -> Iterator[Sample]:
    """What a kernel does not have is absent."""
    stat = text_of(f"{proc}/stat")
    for core, modes in cpu_seconds(stat).items():
        for mode, seconds in modes.items():
            yield Sample("node_cpu_seconds_total", {"cpu": core, "mode": mode}, seconds)
    for name, *words in (line.split() for line in stat.splitlines()):
        if name in _STAT:
            yield Sample(_STAT[name], {}, int(words[0]))
    yield from _named(text_of(f"{proc}/meminfo"), "node_memory_{}_bytes", _MEMORY, 1024)
    yield from _named(text_of(f"{proc}/vmstat"), "node_vmstat_{}", {"pswpin", "pswpout"})
    for line in text_of(f"{proc}/net/dev").splitlines()[2:]:
        device, _, rest = line.rpartition(":")
        words = rest.split()
        for name, column in _NETDEV.items():
            label = {"device": device.strip()}
            yield Sample(f"node_network_{name}_total", label, int(words[column]))
    for file in ("snmp", "netstat"):
        # Two lines with the same head, of names and of numbers.
        lines = [line.split() for line in text_of(f"{proc}/net/{file}").splitlines()]
        for (head, *names), (_, *numbers) in zip(lines[::2], lines[1::2]):
            for name, number in zip(names, numbers):
                if name in _NETSTAT.get(head[:-1], ()):
                    yield Sample(f"node_netstat_{head[:-1]}_{name}", {}, int(number))
    for label, *words in (line.split() for line in text_of(f"{proc}/net/sockstat").splitlines()):
        for name, number in zip(words[::2], words[1::2]):
            if label == "TCP:" and name in ("tw", "orphan"):
                yield Sample(f"node_sockstat_TCP_{name}", {}, int(number))
    for words in (line.split() for line in text_of(f"{proc}/diskstats").splitlines()):
        for name, (column, unit) in _DISKSTATS.items():
            yield Sample(name, {"device": words[2]}, unit * int(words[column]))
    files = text_of(f"{proc}/sys/fs/file-nr").split()
    if files:
        yield Sample("node_filefd_allocated", {}, int(files[0]))


_MEMORY = {"MemTotal", "MemFree", "MemAvailable", "SwapTotal", "SwapFree"}
_STAT = {
    "procs_running": "node_procs_running",
    "procs_blocked": "node_procs_blocked",
    "btime": "node_boot_time_seconds",
}
_NETSTAT = {
    "Tcp": ("OutSegs", "RetransSegs", "CurrEstab"),
    "TcpExt": ("ListenOverflows", "ListenDrops"),
}
# The columns of /proc/net/dev, and those of /proc/diskstats with what one of them stands for.
_NETDEV = {
    "receive_bytes": 0, "receive_packets": 1, "receive_drop": 3,
    "transmit_bytes": 8, "transmit_packets": 9, "transmit_drop": 11,
}  # fmt: skip
_DISKSTATS = {
    "node_disk_read_bytes_total": (5, SECTOR_BYTES),
    "node_disk_written_bytes_total": (9, SECTOR_BYTES),
    "node_disk_io_time_seconds_total": (12, 0.001),
}


def cpu_seconds(stat: str) -> dict[str, dict[str, float]]:
    """/proc/stat: by core, such as "0", and mode."""
    lines = (line.split() for line in stat.splitlines() if re.match(r"cpu\d", line))
    return {
        core[3:]: {mode: int(n) / TICKS_PER_S for mode, n in zip(CPU_MODES, words)}
        for core, *words in lines
    }


def _named(text: str, metric: str, names: Iterable[str], unit: int = 1) -> Iterator[Sample]:
    """/proc/meminfo and vmstat: a name and a number a line."""
    for words in (line.split() for line in text.splitlines()):
        if words[0].rstrip(":") in names:
            yield Sample(metric.format(words[0].rstrip(":")), {}, unit * int(words[1]))


def link_speeds(folder: str = "/sys/class/net") -> list[Sample]:
    """Of real interfaces that tell it. It is another file for each, so it is read once."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    speed_by_name = {name: text_of(f"{folder}/{name}/speed").strip() for name in names}
    return [
        Sample("node_network_speed_bytes", {"device": name}, int(mbit_per_s) * 125_000)
        for name, mbit_per_s in speed_by_name.items()
        if os.path.exists(f"{folder}/{name}/device") and mbit_per_s.isdecimal()
    ]


# --- the chosen processes ----------------------------------------------------------------------
class Process(NamedTuple):
    """`children_s`: CPU time of its children that have ended."""

    cpu_s: float
    threads: int
    start_ticks: int  # since boot: tells a process from a later one with its number
    memory_bytes: int
    parent: int
    children_s: float

    @property
    def started_ns(self) -> int:
        """Since boot."""
        return self.start_ticks * 1_000_000_000 // TICKS_PER_S


def process_of(stat: str) -> Process | None:
    """/proc/PID/stat; None for a process that has ended."""
    words = stat.rpartition(")")[2].split()
    if len(words) < 22 or words[0] in ("Z", "X"):
        return None
    return Process(
        cpu_s=(int(words[11]) + int(words[12])) / TICKS_PER_S,
        threads=int(words[17]),
        start_ticks=int(words[19]),
        memory_bytes=int(words[21]) * PAGE_BYTES,
        parent=int(words[1]),
        children_s=(int(words[13]) + int(words[14])) / TICKS_PER_S,
    )


def listening_sockets(tcp: str, port: int) -> set[str]:
    """/proc/net/tcp or tcp6: the inodes of the sockets that listen at the port."""
    rows = (line.split() for line in tcp.splitlines()[1:] if " 0A " in line)
    listening = [row for row in rows if len(row) > 9 and row[3] == "0A"]
    return {row[9] for row in listening if int(row[1].rpartition(":")[2], 16) == port}


# To look at each process costs the most, so a new one is looked at once; now and then, and when a
# port changes hands, all are.
LOOK_EVERY_S, LOOK_ANEW_EVERY_S = 5, 60
LONGEST_COMM = 15  # the kernel cuts names off


class Processes:
    """The chosen processes, by what somebody named: nginx, :8080 (a port), pid:1234, or several of
    these with commas between. A process that fits two names counts with the first. The CPU time of
    a name only grows: what has ended stays in it."""

    def __init__(self, names: Sequence[str], proc: str = "/proc"):
        self.names, self._proc = names, proc
        parts = [part for name in names for part in name.split(",")]
        self._ports = {int(part[1:]) for part in parts if part.startswith(":")}
        self._sockets: dict[int, set[str]] = {}
        self._known_pids: set[str] = set()
        self._pids: dict[str, set[str]] = {name: set() for name in names}
        self._open_files: dict[str, int | None] = {}
        self._cpu_s: dict[tuple[str, int], float] = {}
        self._totals_s = dict.fromkeys(names, 0.0)
        self._looked_s = self._looked_anew_s = -1e9

    @property
    def pids(self) -> frozenset[str]:
        """The numbers of those that count now."""
        return frozenset().union(*self._pids.values())

    def samples(self, now_s: float) -> Iterator[Sample]:
        """Of one that came since the last call, no CPU time yet."""
        if now_s - self._looked_s >= LOOK_EVERY_S:
            self._look(now_s)
        before, self._cpu_s = self._cpu_s, {}
        for name in self.names:
            yield from self._samples_of(name, before)

    def _samples_of(self, name: str, before: dict[tuple[str, int], float]) -> Iterator[Sample]:
        n = threads = memory_bytes = 0
        for pid in self._pids[name]:
            process = process_of(text_of(f"{self._proc}/{pid}/stat"))
            if process:
                key = pid, process.start_ticks
                self._cpu_s[key] = process.cpu_s
                self._totals_s[name] += process.cpu_s - before.get(key, process.cpu_s)
                n, threads = n + 1, threads + process.threads
                memory_bytes += process.memory_bytes
        group = {"groupname": name}
        yield Sample("namedprocess_namegroup_cpu_seconds_total", group, self._totals_s[name])
        yield Sample("namedprocess_namegroup_num_procs", group, n)
        yield Sample("namedprocess_namegroup_num_threads", group, threads)
        resident = {**group, "memtype": "resident"}
        yield Sample("namedprocess_namegroup_memory_bytes", resident, memory_bytes)
        open_files = self._open_files[name]
        if open_files is not None:
            yield Sample("namedprocess_namegroup_open_filedesc", group, open_files)

    def _look(self, now_s: float) -> None:
        pids = {entry for entry in os.listdir(self._proc) if entry.isdigit()} - {str(os.getpid())}
        tables = [text_of(f"{self._proc}/net/{file}") for file in ("tcp", "tcp6")]
        sockets = {
            port: {inode for table in tables for inode in listening_sockets(table, port)}
            for port in self._ports
        }
        self._looked_s = now_s
        if now_s - self._looked_anew_s >= LOOK_ANEW_EVERY_S or sockets != self._sockets:
            self._looked_anew_s, self._known_pids = now_s, set()
            self._pids = {name: set() for name in self.names}
        fresh, self._known_pids, self._sockets = pids - self._known_pids, pids, sockets
        for name in self.names:
            parts = name.split(",")
            matches = {pid for pid in fresh if any(self._fits(part, pid) for part in parts)}
            fresh -= matches
            self._pids[name] = matches | self._pids[name] & pids
            counts = [_count_files(f"{self._proc}/{pid}/fd") for pid in self._pids[name]]
            self._open_files[name] = None if None in counts else sum(counts)

    def _fits(self, part: str, pid: str) -> bool:
        if part.startswith("pid:"):
            return part == f"pid:{pid}"
        if part.startswith(":"):
            sockets = self._sockets[int(part[1:])]
            links = _links(f"{self._proc}/{pid}/fd") if sockets else set()
            return any(f"socket:[{inode}]" in links for inode in sockets)
        return text_of(f"{self._proc}/{pid}/comm").strip() == part[:LONGEST_COMM]


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


# --- perf --------------------------------------------------------------------------------------
PROCESSES, MACHINE = "processes", "machine"
# Of the whole machine, perf's task-clock is the time of all cores, busy or not: no count of work.
_OF_MACHINE = (
    *("context-switches", "cpu-migrations", "page-faults"),
    *("cycles", "instructions", "branches", "branch-misses"),
)
EVENTS = {PROCESSES: ("task-clock", *_OF_MACHINE), MACHINE: _OF_MACHINE}
# These happen in the kernel: who may count in user space alone is told 0, which is no count.
_OF_KERNEL = ("context-switches:u", "cpu-migrations:u")
INTERVAL_MS = 250  # counts are at most so old when they are asked for
ORDER_S = 5  # an order that no request renews ends after that
RETRY_S = 10
NOT_ALLOWED = "The agent was started without --perf. Add it, if perf may run there."
NO_PROCESSES = "The agent has no --process. Start it with one, or ask for the whole machine."
NOT_THERE = "None of the chosen processes runs."
NOT_INSTALLED = (
    "perf is not installed on this machine. Install linux-perf (Debian), linux-tools (Ubuntu) or "
    "perf (Fedora)."
)
PER_S = 199  # samples of a profile; no divisor of what a server does in a regular beat
MOST_PROFILE_MB, END_PROFILE_S, READ_PROFILE_S = 64, 10, 60
MOST_FUNCTIONS, MOST_CHARACTERS = 30, 200
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def boot_ns() -> int:
    """Unlike CLOCK_MONOTONIC it goes on in a suspend, and the kernel says when processes began."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def dying_with(parent: int) -> Callable[[], None]:
    """For the child: the kernel ends it if the thread that started it has ended."""

    def ask_kernel() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return ask_kernel


async def start_perf(*words: str, **streams: int) -> asyncio.subprocess.Process:
    usual = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.DEVNULL)
    return await asyncio.create_subprocess_exec(
        *words,
        **{**usual, **streams},
        env={**os.environ, "LC_ALL": "C"},
        start_new_session=True,
        preexec_fn=dying_with(os.getpid()),
    )


async def kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), 1)


def whom(of: str, pids: Iterable[str]) -> list[str]:
    return ["-p", ",".join(sorted(pids, key=int))] if of == PROCESSES else ["-a"]


def why_not_started(error: OSError) -> str:
    is_absent = isinstance(error, FileNotFoundError)
    return NOT_INSTALLED if is_absent else f"perf does not start: {error.strerror}."


def why_not(lines: Sequence[str], of: str, command: str) -> str:
    """In words, from what perf said before it ended."""
    words = " ".join(lines)
    if not ("paranoid" in words or "ermission" in words or "ot permitted" in words):
        first = next((line for line in lines if not line.endswith(":")), "it said nothing")
        return f"perf {command} ended at once: {first[:200]}"
    level = text_of("/proc/sys/kernel/perf_event_paranoid").strip() or "not readable"
    if of == MACHINE:
        what, do = "the whole machine", "Set it to 0 or lower, or ask for the chosen processes."
    else:
        what, do = "these processes", "Start the agent as their user, with 2 or lower there."
    return (
        f"The agent's user may not count {what} (kernel.perf_event_paranoid is {level}). {do} In a "
        "container it takes CAP_PERFMON."
    )


def perf_fault(of: str, why: str) -> Sample:
    return Sample("benchsite_perf_fault", {"of": of, "reason": why}, 1)


class PerfLine(NamedTuple):
    """A line of `perf stat -x ';' -I`. `until_s`: the end of its interval, since perf began.
    `count` is None where `lack` says why; `share`: of the interval, how long perf had a counter for
    the event. Below 1 the count is extrapolated."""

    until_s: float
    event: str
    count: float | None
    share: float
    lack: str = ""

    @classmethod
    def read(cls, text: str) -> PerfLine | None:
        """None for what is no count."""
        fields = text.strip().split(";")
        try:
            until_s, value, event, share = float(fields[0]), fields[1], fields[3], float(fields[5])
            share /= 100
            if event in _OF_KERNEL:
                return cls(until_s, event, None, share, "user space only")
            if value == "<not counted>" and share == 1:  # it did not run, nothing was missed
                return cls(until_s, event, 0.0, share)
            if value.startswith("<"):
                return cls(until_s, event, None, share, value.strip("<>"))
            return cls(until_s, event, float(value), share)
        except (IndexError, ValueError):
            return None


class PerfStat:
    """Counts while requests order it. Its totals only grow; where it cannot count, `fault` says
    why. It has the rights of the agent's user and no others."""

    def __init__(self, processes: Processes, program: str = "perf", proc: str = "/proc"):
        self._processes, self._program, self._proc = processes, program, proc
        self._order, self._order_ends_s = "", 0.0
        self._of, self._fault, self._retry_s = "", "", 0.0
        self._child: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task | None = None
        self._pids: set[str] = set()
        self._began_ns: int | None = None
        self._messages: deque[str] = deque(maxlen=20)  # beside counts
        # By whom and event: the count, and for how many seconds it was counted, by a counter.
        self._totals: dict[tuple[str, str], list[float]] = {}
        self._lacks: dict[tuple[str, str], str] = {}

    def order(self, of: str, now_s: float) -> None:
        self._order, self._order_ends_s = of, now_s + ORDER_S

    def samples(self) -> Iterator[Sample]:
        for (of, event), totals in self._totals.items():
            names = ("events_total", "seconds_total", "running_seconds_total")
            for name, total in zip(names, totals):
                yield Sample(f"benchsite_perf_{name}", {"of": of, "event": event}, total)
        for (of, event), why in self._lacks.items():
            yield Sample("benchsite_perf_lack", {"of": of, "event": event, "reason": why}, 1)
        if self._of and self._fault:
            yield perf_fault(self._of, self._fault)

    async def keep(self, now_s: float) -> None:
        """Begin, go on, begin anew, or end."""
        of = self._order if now_s < self._order_ends_s else ""
        pids = self._processes.pids if of == PROCESSES else frozenset()
        if self._child and self._child.returncode is not None:
            await self._reading
            self._fault = "" if self._began_ns else why_not(self._messages, self._of, "stat")
            self._retry_s = now_s + (RETRY_S if self._fault else 0)
            self._child = None
        if of != self._of or not self._covers(pids):
            await self.end()
        if of != self._of:
            self._of, self._fault, self._retry_s = of, "", 0.0
        if of == PROCESSES and not pids:
            await self.end()
            self._fault = NOT_THERE if self._processes.names else NO_PROCESSES
        elif of and not self._child and now_s >= self._retry_s:
            await self._begin(of, pids, now_s)

    async def end(self) -> None:
        """It has nothing to store."""
        child, self._child = self._child, None
        if child:
            self._reading.cancel()
            await kill(child)

    async def _begin(self, of: str, pids: Iterable[str], now_s: float) -> None:
        self._pids, self._began_ns = set(pids), None
        self._messages.clear()
        form = ("-x", ";", "-I", str(INTERVAL_MS), "--log-fd", "1", "-e", ",".join(EVENTS[of]))
        pipes = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
        try:
            self._child = await start_perf(self._program, "stat", *form, *whom(of, pids), **pipes)
        except OSError as error:
            self._fault = why_not_started(error)
            self._retry_s = now_s + RETRY_S
            return
        self._reading = asyncio.ensure_future(self._read(self._child, of))

    async def _read(self, child: asyncio.subprocess.Process, of: str) -> None:
        """perf writes an interval at once: who asks meanwhile does not get half of its events."""
        until_s: dict[str, float] = {}  # by event, where its last interval ended
        rest = ""
        while True:
            chunk = await child.stdout.read(64 * 1024)
            if not chunk:
                break
            *lines, rest = (rest + chunk.decode("utf-8", "replace")).split("\n")
            for text in filter(None, map(str.strip, lines)):
                line = PerfLine.read(text)
                if line is None:
                    self._messages.append(text)
                    continue
                self._began_ns = self._began_ns or boot_ns() - round(line.until_s * 1e9)
                self._fault = ""
                lasted_s = line.until_s - until_s.get(line.event, 0.0)
                until_s[line.event] = line.until_s
                key = of, line.event
                if line.count is None:
                    self._lacks[key] = line.lack
                    continue
                more = (line.count, lasted_s, lasted_s * line.share)
                before = self._totals.get(key, (0.0, 0.0, 0.0))
                self._totals[key] = [total + each for total, each in zip(before, more)]
        await child.wait()

    def _covers(self, pids: frozenset[str]) -> bool:
        """Whether it counts all these: perf follows what its processes have started since."""
        if self._child is None or self._began_ns is None:
            return True
        for pid in sorted(pids - self._pids, key=int):
            process = process_of(text_of(f"{self._proc}/{pid}/stat"))
            is_later = process and process.started_ns > self._began_ns
            if is_later and str(process.parent) in self._pids:
                self._pids.add(pid)
        return pids <= self._pids


class PerfRecord:
    """Records from the first request with a key on, until /profile is asked for it. It samples by
    cpu-clock, which needs no counters of the hardware."""

    def __init__(self, processes: Processes, program: str = "perf"):
        self._processes, self._program = processes, program
        self._of, self._key, self._order_ends_s = "", "", 0.0
        self._began_s = 0.0
        self._fault = ""
        self._folder: TemporaryDirectory | None = None
        self._child: asyncio.subprocess.Process | None = None

    async def order(self, of: str, key: str, now_s: float) -> None:
        self._order_ends_s = now_s + ORDER_S
        if key == self._key:
            return
        await self.end()
        self._of, self._key, self._began_s, self._fault = of, key, now_s, ""
        pids = self._processes.pids if of == PROCESSES else frozenset()
        if of == PROCESSES and not pids:
            self._fault = NOT_THERE if self._processes.names else NO_PROCESSES
            return
        self._folder = TemporaryDirectory(prefix="benchsite-perf-")
        how = ("-q", "-e", "cpu-clock", "-F", str(PER_S), f"--max-size={MOST_PROFILE_MB}M")
        words = ("record", *how, "-o", f"{self._folder.name}/perf.data", *whom(of, pids))
        try:
            self._child = await start_perf(self._program, *words, stderr=asyncio.subprocess.PIPE)
        except OSError as error:
            self._fault = why_not_started(error)
            self._folder.cleanup()
            self._folder = None

    async def keep(self, now_s: float) -> None:
        if self._key and now_s >= self._order_ends_s:
            await self.end()

    async def end(self) -> None:
        """What is under way is not read any more."""
        child, folder = self._leave()
        if child:
            await kill(child)
        if folder:
            folder.cleanup()

    def _leave(self) -> tuple[asyncio.subprocess.Process | None, TemporaryDirectory | None]:
        child, folder = self._child, self._folder
        self._child = self._folder = None
        self._key = ""
        return child, folder

    async def take(self, key: str, now_s: float) -> dict[str, Any] | None:
        """End the recording and read it; None for a key that nothing was recorded by."""
        if not key or key != self._key:
            return None
        about = {"of": self._of, "lasted_s": round(now_s - self._began_s, 3)}
        # What is ordered next does not end the reading.
        child, folder = self._leave()
        if child is None:
            return {**about, "fault": self._fault}
        try:
            return {**about, **await self._read(child, folder.name, about["of"])}
        except (OSError, asyncio.TimeoutError) as error:
            return {**about, "fault": f"perf did not end, or its file was not read: {error!r}."}
        finally:
            await kill(child)
            folder.cleanup()

    async def _read(self, child: asyncio.subprocess.Process, folder: str, of: str):
        if child.returncode is None:
            child.send_signal(signal.SIGINT)
        _, errors = await asyncio.wait_for(child.communicate(), END_PROFILE_S)
        columns = ("-F", "sample,comm,dso,sym", "-t", "\t")
        words = ("report", "-i", f"{folder}/perf.data", "--stdio", "--no-children", *columns)
        pipes = dict.fromkeys(("stdout", "stderr"), asyncio.subprocess.PIPE)
        reader = await start_perf(self._program, *words, **pipes)
        try:
            report, more = await asyncio.wait_for(reader.communicate(), READ_PROFILE_S)
        finally:
            await kill(reader)
        n_samples, functions = functions_of(report.decode("utf-8", "replace"))
        if n_samples:
            return {"samples": n_samples, "functions": functions}
        lines = (errors or more).decode("utf-8", "replace").splitlines()
        return {"fault": why_not([line.strip() for line in lines if line.strip()], of, "record")}


# [.] user space, [k] the kernel, and others of guests and hypervisors.
_LEVEL = re.compile(r"^\[[.kguH]\]\s+")


def functions_of(text: str) -> tuple[int, list[list[Any]]]:
    """(all samples, [[samples, command, object, symbol], …]), those with most first.

    From `perf report --stdio -F sample,comm,dso,sym -t TAB`. Where perf knows no name, the symbol
    is an address: all addresses of an object are one line, [unknown].
    """
    counts: Counter = Counter()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 4 or not cells[0].isdecimal():
            continue
        command, place, symbol = (cell[:MOST_CHARACTERS] for cell in cells[1:])
        symbol = _LEVEL.sub("", symbol)
        symbol = "[unknown]" if symbol.startswith("0x") else symbol
        counts[command, place, symbol] += int(cells[0])
    most = [[count, *names] for names, count in counts.most_common(MOST_FUNCTIONS)]
    return sum(counts.values()), most


# --- what is asked, and the answers ------------------------------------------------------------
SAME_S = 0.05  # who asks sooner gets the same answer: many who ask cost no more than 20 a second
FIRST_REQUEST_S, NEXT_REQUEST_S, WRITE_S = 3, 60, 10
MOST_HEAD_BYTES, MOST_CONNECTIONS = 16 * 1024, 64
_REASONS = {
    200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found",
    405: "Method Not Allowed", 500: "Internal Server Error",
}  # fmt: skip
# The other end went away, is too slow, or sends too much.
_GONE = (EOFError, asyncio.LimitOverrunError, asyncio.TimeoutError, OSError)
_EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]  # by name in small letters

    @classmethod
    def read(cls, head: bytes) -> Request:
        """Raises ValueError."""
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        method, target, version = first.split(" ")
        if not version.startswith("HTTP/1."):
            raise ValueError(version)
        pairs = (line.split(":", 1) for line in lines)
        return cls(
            method,
            target.partition("?")[0],
            {name.strip().lower(): value.strip() for name, value in pairs},
        )


class Agent:
    """Answers requests; all of it runs in one thread."""

    def __init__(self, names: Sequence[str] = (), token: str = "", has_perf: bool = False):
        self._processes = Processes(names)
        self._stat, self._record = PerfStat(self._processes), PerfRecord(self._processes)
        self._token, self._has_perf = token, has_perf
        self._link_samples = link_speeds()
        self._text, self._text_s = "", -1e9
        self._lock = asyncio.Lock()  # one perf starts at a time
        # Those that wait longest for their next request first.
        self._connections: dict[asyncio.StreamWriter, None] = {}

    async def handle_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if len(self._connections) >= MOST_CONNECTIONS:
            longest = next(iter(self._connections))
            del self._connections[longest]
            longest.transport.abort()
        self._connections[writer] = None
        writer.transport.set_write_buffer_limits(0)  # so that drain waits for the last byte
        limit_s = FIRST_REQUEST_S
        try:
            while await self._exchange(reader, writer, limit_s):
                limit_s = NEXT_REQUEST_S
                self._connections.pop(writer, None)
                self._connections[writer] = None
            writer.close()
        except _GONE:
            writer.transport.abort()
        finally:
            self._connections.pop(writer, None)

    async def _exchange(self, reader, writer, limit_s: float) -> bool:
        """Whether another request may follow."""
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), limit_s)
        try:
            request = Request.read(head)
        except ValueError:
            request = Request("", "", {})
        status, kind, body = await self._answer(request)
        keeps = status == 200 and request.headers.get("connection", "").lower() != "close"
        lines = [
            f"HTTP/1.1 {status} {_REASONS[status]}",
            f"Content-Type: {kind}",
            f"Content-Length: {len(body)}",
            f"Connection: {'keep-alive' if keeps else 'close'}",
            *(["WWW-Authenticate: Bearer"] if status == 401 else []),
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await asyncio.wait_for(writer.drain(), WRITE_S)
        return keeps

    async def _answer(self, request: Request) -> tuple[int, str, bytes]:
        """(status, content type, body)"""
        status = self._fault(request)
        if status:
            return status, "text/plain", f"{_REASONS[status]}\n".encode()
        try:
            if request.path == "/metrics":
                return 200, _EXPOSITION, (await self.metrics(request.headers)).encode()
            of, _, key = request.headers.get("benchsite-profile", "").partition(" ")
            if of in EVENTS and not self._has_perf:
                profile = {"of": of, "lasted_s": 0, "fault": NOT_ALLOWED}
            else:
                profile = await self._record.take(key, time.monotonic())
        except Exception as error:  # a fault of ours, or of the kernel's text: the agent goes on
            say(f"{request.path}: {error!r}")
            return 500, "text/plain", b"Internal Server Error\n"
        if profile is None:
            return 404, "text/plain", b"Nothing is recorded by this key.\n"
        return 200, "application/json", json.dumps(profile).encode()

    def _fault(self, request: Request) -> int | None:
        length = request.headers.get("content-length", "0")
        if not request.method or length != "0" or "transfer-encoding" in request.headers:
            return 400
        authorization = request.headers.get("authorization", "").encode("latin-1")
        if self._token and not hmac.compare_digest(authorization, f"Bearer {self._token}".encode()):
            return 401
        if request.path not in ("/metrics", "/profile"):
            return 404
        return None if request.method == "GET" else 405

    async def metrics(self, headers: dict[str, str]) -> str:
        now_s = time.monotonic()
        of = headers.get("benchsite-perf", "")
        profile_of, _, key = headers.get("benchsite-profile", "").partition(" ")
        if of in EVENTS and self._has_perf:
            self._stat.order(of, now_s)
        if now_s - self._text_s >= SAME_S:
            samples = [*machine_samples(), *self._link_samples, *self._processes.samples(now_s)]
            await self.keep()
            samples += [Sample("benchsite_agent_perf", {}, self._has_perf), *self._stat.samples()]
            self._text = "".join(f"{sample}\n" for sample in samples)
            self._text_s = now_s
        if profile_of in EVENTS and key and self._has_perf:
            async with self._lock:
                await self._record.order(profile_of, key, now_s)
        if of in EVENTS and not self._has_perf:
            return f"{self._text}{perf_fault(of, NOT_ALLOWED)}\n"
        return self._text

    async def keep(self) -> None:
        """End what nobody orders any more."""
        async with self._lock:
            await self._record.keep(time.monotonic())
            await self._stat.keep(time.monotonic())

    async def end(self) -> None:
        await self._record.end()
        await self._stat.end()


# --- the program -------------------------------------------------------------------------------
NICENESS = 10  # the server that is measured goes first
MOST_PROCESSES, LONGEST_PROCESS = 20, 100  # the site reads no more
_TOKEN = re.compile(r"[!-~]{16,}")
_PROCESS = re.compile(r":\d{1,5}|pid:\d+|[^:,]+")


class Options(NamedTuple):
    host: str
    port: int
    token: str
    tls: ssl.SSLContext | None
    names: list[str]
    has_perf: bool


def read_options(words: Sequence[str] | None = None) -> Options:
    """Ends the program with a sentence that says what to change."""
    parser = argparse.ArgumentParser("agent.py", description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--listen", default="127.0.0.1:9800", metavar="ADDRESS:PORT", help="default: %(default)s")
    add("--token-file", help="a bearer token to ask for; default: BENCHSITE_AGENT_TOKEN")
    add("--cert", help="a certificate (PEM), for https")
    add("--key", help="its key (PEM)")
    add(
        "--process",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="nginx, :8080 (a port), pid:1234, or several with commas between, which count as one",
    )
    add("--perf", action="store_true", help="let requests have perf stat and perf record run")
    options = parser.parse_args(words)
    if bool(options.cert) != bool(options.key):
        parser.error("--cert and --key go together.")
    for name in options.process:
        if not all(_PROCESS.fullmatch(part) for part in name.split(",")):
            parser.error(f"Cannot watch {name}. Write a name, :PORT or pid:NUMBER.")
        if len(name) > LONGEST_PROCESS:
            parser.error(f"{name} is longer than {LONGEST_PROCESS} characters. Split it.")
    if len(options.process) > MOST_PROCESSES:
        parser.error(f"At most {MOST_PROCESSES} processes. Join some, as in nginx,php-fpm.")
    token = os.environ.get("BENCHSITE_AGENT_TOKEN", "")
    tls = None
    try:
        if options.token_file:
            token = Path(options.token_file).read_text().strip()
        if options.cert:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(options.cert, options.key)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        parser.error(f"Cannot read --token-file, --cert or --key: {error}.")
    if (token or options.token_file) and not _TOKEN.fullmatch(token):
        parser.error("A token has 16 characters or more, without spaces.")
    host, _, port = options.listen.rpartition(":")
    host = host.strip("[]")
    if not port.isdecimal() or int(port) > 65535:
        parser.error(
            f"{options.listen} has no port up to 65535. Write 10.0.0.5:9800, or :9800 for all."
        )
    refusal = why_no_listening(host, token, options.perf)
    if refusal:
        parser.error(refusal)
    return Options(host, int(port), token, tls, options.process, options.perf)


def why_no_listening(host: str, token: str, has_perf: bool) -> str:
    """A sentence; "" where it may."""
    try:
        address = ipaddress.ip_address(host or "::")
    except ValueError:
        return f"{host} is no address. Write one of this machine's, such as 10.0.0.5."
    if token or address.is_loopback:
        return ""
    if address.is_unspecified or not address.is_private:
        return "Strangers may reach this address. Set --token-file, or listen at a private one."
    return f"--perf on {host} takes a token: use --token-file." if has_perf else ""


async def serve(options: Options, end: asyncio.Event) -> None:
    agent = Agent(options.names, options.token, options.has_perf)
    limits = {"ssl_handshake_timeout": FIRST_REQUEST_S} if options.tls else {}
    server = await asyncio.start_server(
        agent.handle_connection,
        options.host or None,
        options.port,
        limit=MOST_HEAD_BYTES,
        ssl=options.tls,
        **limits,
    )
    host, port = server.sockets[0].getsockname()[:2]
    scheme = "https" if options.tls else "http"
    say(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/metrics. Ctrl-C ends it.")
    try:
        while not end.is_set():
            await agent.keep()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(end.wait(), 1)
    finally:
        server.close()
        await agent.end()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


async def main() -> int:
    options = read_options()
    os.nice(NICENESS)
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    try:
        await serve(options, end)
    except OSError as error:
        say(f"Cannot listen at {options.host}:{options.port}: {error.strerror or error}.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
