"""What a Prometheus exporter tells of a target's machine: its text, in Prometheus' format or
OpenMetrics; a reading of it; and seconds, from one answer after another.

An exporter is our agent (workers/agent.py), node_exporter, or a server that tells of itself. It
tells counters since some start; two readings make a second. Which metric is which figure is in the
tables below; what an exporter does not have is absent, never 0. prometheus_client
has a parser as well. It is not used, because it takes 14 MB in each launcher, reads every line to
the end, and does not say which one it did not understand.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

from campaigns.domain.metrics.machine import (
    CPU,
    LONGEST_WATCHED,
    MOST_CORES,
    MOST_WATCHED,
    PERF,
    PROCESS,
)
from campaigns.domain.metrics.profiles import HIGHEST, PERF_METRICS, PerfReading
from campaigns.domain.typed_text import clean_name

_SHOWN = 80  # characters of a line that is not understood
_NAME = re.compile(r"[ \t]*([a-zA-Z_:][a-zA-Z0-9_:]*)")
_SAMPLE = re.compile(
    r"""
    [ \t]* (?P<name> [a-zA-Z_:][a-zA-Z0-9_:]* ) [ \t]*
    (?: \{ (?P<labels> (?: [^"}] | "(?:[^"\\]|\\.)*" )* ) \} )?
    (?(labels) [ \t]* | (?<=[ \t]) )
    (?P<value> [^ \t]+ )
    (?: [ \t]+ [-+.0-9eE]+ )?     # a timestamp, which is not used
    (?: [ \t]+ \# [ \t] .* )?     # an exemplar of OpenMetrics
    [ \t]*
    """,
    re.VERBOSE,
)
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(?:,|$)')
_ESCAPED = re.compile(r"\\(.)")


class NotExposition(ValueError):
    """A line that is not in the format; the text names it."""

    def __init__(self, number: int, line: str):
        printable = "".join(ch if ch.isprintable() else "�" for ch in line.strip()[:_SHOWN])
        super().__init__(f"Line {number} is not in Prometheus' text format: {printable}")


class Sample(NamedTuple):
    name: str
    labels: Mapping[str, str]
    value: float  # may be NaN or infinite


def samples_of(text: str, names: Container[str]) -> Iterator[Sample]:
    """The samples with these names; lines with others cost nothing and are not checked. Raises
    NotExposition."""
    for number, line in enumerate(text.split("\n"), 1):
        match = _NAME.match(line)
        if match and match[1] in names:
            yield _sample(number, line)


def check_exposition(text: str) -> None:
    """Raises NotExposition with the first line that is neither a sample, a comment nor empty."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip(" \t").startswith("#"):
            _sample(number, line)


def _sample(number: int, line: str) -> Sample:
    match = _SAMPLE.fullmatch(line.rstrip("\r"))
    if match is None or "_" in match["value"]:  # Python's own numbers may have them
        raise NotExposition(number, line)
    labels: dict[str, str] = {}
    text, at = match["labels"] or "", 0
    while text[at:].strip(" \t"):
        label = _LABEL.match(text, at)
        if label is None or label[1] in labels:
            raise NotExposition(number, line)
        labels[label[1]] = _ESCAPED.sub(
            lambda escape: "\n" if escape[1] == "n" else escape[1], label[2]
        )
        at = label.end()
    try:
        return Sample(match["name"], labels, float(match["value"]))
    except ValueError:
        raise NotExposition(number, line) from None


# Left out: their traffic is also that of a real interface, or of none; and parts of disks.
VIRTUAL = re.compile(r"(veth|docker|br-|virbr|cni|cali|flannel|tun|tap|wg|bond|dummy|ifb)|.*[.:@]")
PARTS_OF_DISKS = re.compile(r"loop|ram|zram|dm-|md|sr|fd|(sd|vd|xvd|hd)[a-z]+\d|.*\dp\d")
# A core counts a second in a second; some more where values were not read right when asked for.
_MOST_PER_S = 3.0

_CPU_SECONDS = "node_cpu_seconds_total"
_STATES = {
    "user": "user_s", "nice": "user_s", "system": "system_s", "irq": "interrupts_s",
    "softirq": "interrupts_s", "interrupt": "interrupts_s", "steal": "stolen_s",
    "iowait": "waiting_s", "idle": "idle_s",
}  # fmt: skip
_UNUSED = {"waiting_s", "idle_s"}


def _every_label(labels: Mapping[str, str]) -> bool:
    return True


def _is_loopback(labels: Mapping[str, str]) -> bool:
    return labels.get("device") in {"lo", "lo0"}


def _is_link(labels: Mapping[str, str]) -> bool:
    return not _is_loopback(labels) and not VIRTUAL.match(labels.get("device", ""))


def _is_disk(labels: Mapping[str, str]) -> bool:
    return not PARTS_OF_DISKS.match(labels.get("device", ""))


# (metric, figure, which of its series count)
_COUNTERS: tuple[tuple[str, str, Callable[[Mapping[str, str]], bool]], ...] = (
    ("node_network_receive_bytes_total", "received_bytes", _is_link),
    ("node_network_transmit_bytes_total", "sent_bytes", _is_link),
    ("node_network_transmit_bytes_total", "loopback_bytes", _is_loopback),
    ("node_network_receive_packets_total", "received_packets", _is_link),
    ("node_network_transmit_packets_total", "sent_packets", _is_link),
    ("node_network_transmit_packets_total", "loopback_packets", _is_loopback),
    ("node_network_receive_drop_total", "dropped_packets", _is_link),
    ("node_network_transmit_drop_total", "dropped_packets", _is_link),
    ("node_netstat_Tcp_OutSegs", "segments_sent", _every_label),
    ("node_netstat_Tcp_RetransSegs", "retransmitted", _every_label),
    ("node_netstat_TcpExt_ListenOverflows", "listen_overflows", _every_label),
    ("node_netstat_TcpExt_ListenDrops", "listen_drops", _every_label),
    ("node_disk_read_bytes_total", "disk_read_bytes", _is_disk),
    ("node_disk_written_bytes_total", "disk_written_bytes", _is_disk),
    ("node_disk_io_time_seconds_total", "disk_busy_s", _is_disk),
    ("node_vmstat_pswpin", "swapped_pages", _every_label),
    ("node_vmstat_pswpout", "swapped_pages", _every_label),
)
_GAUGES = {
    "node_procs_running": "running",
    "node_procs_blocked": "blocked",
    "node_memory_MemTotal_bytes": "memory_bytes",
    "node_netstat_Tcp_CurrEstab": "established",
    "node_sockstat_TCP_tw": "time_wait",
    "node_sockstat_TCP_orphan": "orphaned",
    "node_filefd_allocated": "open_files",
    "node_boot_time_seconds": "booted_s",
}
_AVAILABLE = ("node_memory_MemAvailable_bytes", "node_memory_MemFree_bytes")
_SWAP = ("node_memory_SwapTotal_bytes", "node_memory_SwapFree_bytes")
_LINK_SPEED = "node_network_speed_bytes"
_PROCESS_CPU = "process_cpu_seconds_total"
_PROCESS_GAUGES = {
    "process_resident_memory_bytes": "memory_bytes",
    "process_open_fds": "open_files",
}
# Of processes that somebody chose, as the agent and process-exporter tell them.
_GROUP_CPU = "namedprocess_namegroup_cpu_seconds_total"
_GROUP_GAUGES = {
    "namedprocess_namegroup_num_procs": "processes",
    "namedprocess_namegroup_num_threads": "threads",
    "namedprocess_namegroup_memory_bytes": "memory_bytes",
    "namedprocess_namegroup_open_filedesc": "open_files",
}
_HAS_PERF = "benchsite_agent_perf"
# Another start, another machine or process: what it counts cannot be compared with before.
_BOOT, _PROCESS_START = "node_boot_time_seconds", "process_start_time_seconds"

METRICS = frozenset(
    {
        _CPU_SECONDS, _LINK_SPEED, _PROCESS_CPU, _BOOT, _PROCESS_START, *_AVAILABLE, *_SWAP,
        *_GAUGES, *_PROCESS_GAUGES, *(metric for metric, _, _ in _COUNTERS), _GROUP_CPU,
        *_GROUP_GAUGES, _HAS_PERF, *PERF_METRICS,
    }
)  # fmt: skip
_OF_PROCESS = "process"
_Key = tuple[str, ...]  # the figure, and whatever tells its series apart


@dataclass(frozen=True, slots=True)
class ExporterReading:
    """What an exporter told at one time. `counters`: of each series, by figure; `start`: of what
    counted them; `processes`: their gauges by name, with their CPU time in `counters`."""

    counters: dict[_Key, float]
    gauges: dict[str, float]
    processes: dict[str, dict[str, float]] = field(default_factory=dict)
    perf: PerfReading = field(default_factory=PerfReading)
    start: tuple[float, ...] = ()
    has_own_process: bool = False
    has_perf: bool = False


def read_exporter(samples: Iterable[Sample], *, itself: str = "") -> ExporterReading:
    """From samples of METRICS. `itself`: a name for the process that answers, where it is what is
    measured; of others, such as node_exporter, nobody wants to know."""
    by_name: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        if isfinite(sample.value) and 0 <= sample.value <= HIGHEST:
            by_name[sample.name].append(sample)
    totals = {name: sum(each.value for each in values) for name, values in by_name.items()}
    counters, processes = dict(_counters(by_name)), _groups(by_name)
    start = [round(totals.get(_BOOT, 0.0))]
    for sample in by_name.get(_GROUP_CPU, ()):
        if (name := _group(sample)) in processes:
            counters[_OF_PROCESS, name, sample.labels.get("mode", "")] = sample.value
    if itself:
        counters |= {(_OF_PROCESS, itself): totals[_PROCESS_CPU]} if _PROCESS_CPU in totals else {}
        own = {short: totals[name] for name, short in _PROCESS_GAUGES.items() if name in totals}
        processes |= {itself: own} if own or _PROCESS_CPU in totals else {}
        start.append(totals.get(_PROCESS_START, 0.0))
    return ExporterReading(
        counters,
        dict(_gauges(by_name, totals)),
        processes,
        PerfReading.read(by_name),
        tuple(start),
        _PROCESS_CPU in totals,
        totals.get(_HAS_PERF) == 1,
    )


def _group(sample: Sample) -> str:
    return clean_name(sample.labels.get("groupname", ""))[:LONGEST_WATCHED]


def _groups(by_name: Mapping[str, list[Sample]]) -> dict[str, dict[str, float]]:
    """The gauges of chosen processes, by name."""
    names = dict.fromkeys(_group(each) for each in by_name.get(_GROUP_CPU, ()))
    groups: dict[str, dict[str, float]] = {name: {} for name in list(names)[:MOST_WATCHED] if name}
    for metric, figure in _GROUP_GAUGES.items():
        for sample in by_name.get(metric, ()):
            is_resident = sample.labels.get("memtype", "resident") == "resident"
            if (name := _group(sample)) in groups and is_resident:
                groups[name][figure] = sample.value
    return groups


def _counters(by_name: Mapping[str, list[Sample]]) -> Iterator[tuple[_Key, float]]:
    for sample in by_name.get(_CPU_SECONDS, ()):
        if state := _STATES.get(mode := sample.labels.get("mode", "")):
            yield (state, sample.labels.get("cpu", ""), mode), sample.value
    for metric, figure, counts in _COUNTERS:
        for sample in by_name.get(metric, ()):
            if counts(sample.labels):
                yield (figure, metric, *sorted(sample.labels.values())), sample.value


def _gauges(
    by_name: Mapping[str, list[Sample]], totals: Mapping[str, float]
) -> Iterator[tuple[str, float]]:
    for name, figure in _GAUGES.items():
        if name in totals:
            yield figure, totals[name]
    free = next((totals[name] for name in _AVAILABLE if name in totals), None)
    if free is not None and "node_memory_MemTotal_bytes" in totals:
        yield "memory_used_bytes", max(0.0, totals["node_memory_MemTotal_bytes"] - free)
    if set(_SWAP) <= totals.keys():
        yield "swap_used_bytes", max(0.0, totals[_SWAP[0]] - totals[_SWAP[1]])
    # Of several links, the bytes are told together.
    links, speeds = (
        [each.value for each in by_name.get(name, ()) if _is_link(each.labels)]
        for name in ("node_network_receive_bytes_total", _LINK_SPEED)
    )
    speeds = [each for each in speeds if each > 0]
    if len(links) == len(speeds) == 1:
        yield "link_bytes_per_s", speeds[0]


def did_between(
    before: ExporterReading, now: ExporterReading, lasted_s: float
) -> dict[str, Any] | None:
    """What the machine did between two readings, by the names of machine.py; None where the second
    does not follow the first: one of another start, with CPU time that fell, or of another time
    than when it was asked for.

    Any other figure that fell began anew, and is absent, as one that was not told before.
    """
    growth = {
        key: now.counters[key] - value
        for key, value in before.counters.items()
        if key in now.counters
    }
    fallen = {figure for (figure, *_), value in growth.items() if value < 0}
    cores = _cores(growth)
    is_late = any(whole_s > _MOST_PER_S * lasted_s for _, whole_s in cores)
    if before.start != now.start or is_late or fallen & {*CPU, _OF_PROCESS}:
        return None
    totals: dict[str, float] = defaultdict(float)
    cpu_s: dict[str, float] = defaultdict(float)
    for (figure, *series), value in growth.items():
        if figure == _OF_PROCESS:
            cpu_s[series[0]] += value
        elif figure not in fallen:
            totals[figure] += value
    did: dict[str, Any] = {figure: round(n, 4) for figure, n in totals.items()} | now.gauges
    if cores:
        did["cores"] = [round(100 * busy / whole) if whole else 0 for busy, whole in cores]
    if now.processes:
        did["processes"] = {
            name: {**({"cpu_s": round(cpu_s[name], 4)} if name in cpu_s else {}), **figures}
            for name, figures in now.processes.items()
        }
    if perf := now.perf.since(before.perf):
        did["perf"] = perf
    return did


def _cores(growth: Mapping[_Key, float]) -> list[tuple[float, float]]:
    """(busy, whole) seconds of each core, in their order."""
    whole: dict[str, float] = defaultdict(float)
    busy: dict[str, float] = defaultdict(float)
    for (figure, *series), value in growth.items():
        if figure in CPU:
            whole[series[0]] += value
            busy[series[0]] += 0.0 if figure in _UNUSED else value
    in_order = sorted(whole, key=lambda core: (len(core), core))
    return [(busy[core], whole[core]) for core in in_order[:MOST_CORES]]


_WORDS = {
    "user_s": "CPU", "memory_used_bytes": "memory", "received_bytes": "network",
    "loopback_bytes": "loopback", "retransmitted": "TCP", "disk_read_bytes": "disks",
    "open_files": "open files",
}  # fmt: skip


def offers(reading: ExporterReading) -> list[str]:
    """What it tells, in words."""
    figures = {key[0] for key in reading.counters} | reading.gauges.keys()
    words = [word for figure, word in _WORDS.items() if figure in figures]
    processes = [f"{PROCESS}{name}" for name in reading.processes]
    return [*words, *processes, *([PERF] if reading.has_perf else [])]


# An interval shorter than this is too coarse a reading; a longer one is a gap, not a second.
SHORTEST_S, LONGEST_S = 0.25, 2.5
# So many answers in a row of which none makes a second are no accident.
_PATIENCE = 5
_NS = 1_000_000_000
_OLD = (
    "Its values stay the same for several seconds, so no second can be told apart. Enter the "
    "address of the exporter itself, not of a cache or a proxy."
)
_ANOTHER = (
    "Its answers come from another machine or process each time. Enter the address of one of them, "
    "not of a load balancer."
)


_ONLY_PROCESS = (
    "It tells only of its own process. If that is the server that you measure, tick “This is the "
    "server itself”; else enter the address of an agent or a node_exporter."
)
_NO_METRIC = (
    "It has no metric that benchsite knows, such as node_cpu_seconds_total. Enter the address of "
    "an agent or a node_exporter on the target's machine."
)


class NothingKnown(ValueError):
    """There is no metric that we know in the answer; the text says what to do."""


class ScrapedSecond(NamedTuple):
    """What the machine did in an interval around `middle_ns`; `did`: see machine.py."""

    middle_ns: int
    lasted_s: float
    did: dict[str, Any]


def reading_of(text: str, *, itself: str = "") -> ExporterReading:
    """Raises NotExposition, NothingKnown."""
    reading = read_exporter(samples_of(text, METRICS), itself=itself)
    if not (reading.counters or reading.gauges or reading.processes):
        check_exposition(text)
        raise NothingKnown(_ONLY_PROCESS if reading.has_own_process else _NO_METRIC)
    return reading


class ExporterSeconds:
    """What the answers of an exporter tell; `itself` as of `read_exporter`. `trouble`: why they
    tell nothing for some time; "" while they do. `offers`: what the last one has, in words."""

    def __init__(self, itself: str = ""):
        self._itself = itself
        self._before: tuple[int, ExporterReading] | None = None
        self._text_hash: int | None = None
        self._why = ""
        self._n_without = 0
        self.offers: list[str] = []

    @property
    def trouble(self) -> str:
        return self._why if self._n_without >= _PATIENCE else ""

    def take(self, at_ns: int, text: str) -> ScrapedSecond | None:
        """The second that ends with this answer; None for the first, after a gap, and where the
        values are those of the answer before. Raises NotExposition, NothingKnown."""
        second = self._second(at_ns, text)
        self._n_without = 0 if second else self._n_without + 1
        return second

    def _second(self, at_ns: int, text: str) -> ScrapedSecond | None:
        if hash(text) == self._text_hash:
            self._why = _OLD
            return None
        now = reading_of(text, itself=self._itself)
        self._text_hash, self.offers = hash(text), offers(now)
        # CPU time, idle or not, always grows.
        cpu = {key: value for key, value in now.counters.items() if key[0] in CPU}
        if self._before and cpu and cpu.items() <= self._before[1].counters.items():
            # The next interval begins where these values were first seen.
            self._why = _OLD
            return None
        before, self._before = self._before, (at_ns, now)
        if before is None:
            return None
        lasted_s = (at_ns - before[0]) / _NS
        if not SHORTEST_S <= lasted_s <= LONGEST_S:
            return None
        did = did_between(before[1], now, lasted_s)
        if did is None:
            self._why = _OLD if before[1].start == now.start else _ANOTHER
            return None
        return ScrapedSecond((before[0] + at_ns) // 2, lasted_s, did)
