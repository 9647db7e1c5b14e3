"""What a Prometheus exporter tells of a target's machine, in the figures of an agent.

An exporter tells counters since some start; two readings make a second. Which metric is which
figure is in the tables below; what an exporter does not have is absent, never 0.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from campaigns.domain.measured.exposition import Sample
from campaigns.domain.measured.machine import CPU, MOST_CORES
from campaigns.domain.measured.perf_counts import HIGHEST

# Left out as an agent leaves them out (workers/agent/proc.py): their traffic is also that of a real
# interface, or of none; and parts of disks.
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
# Another start, another machine or process: what it counts cannot be compared with before.
_BOOT, _PROCESS_START = "node_boot_time_seconds", "process_start_time_seconds"

METRICS = frozenset(
    {
        _CPU_SECONDS, _LINK_SPEED, _PROCESS_CPU, _BOOT, _PROCESS_START, *_AVAILABLE, *_SWAP,
        *_GAUGES, *_PROCESS_GAUGES, *(metric for metric, _, _ in _COUNTERS),
    }
)  # fmt: skip
_OF_PROCESS = "process"
_Key = tuple[str, ...]  # the figure, and whatever tells its series apart


@dataclass(frozen=True, slots=True)
class ExporterReading:
    """What an exporter told at one time. `counters`: of each series, by figure; `start`: of what
    counted them; `process`: of the process that answered, with its CPU time in `counters`."""

    counters: dict[_Key, float]
    gauges: dict[str, float]
    process: dict[str, float] = field(default_factory=dict)
    start: tuple[float, ...] = ()
    has_own_process: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.counters or self.gauges or self.process)

    def is_as_old_as(self, other: "ExporterReading") -> bool:
        """Whether it has the same values as an earlier one: CPU time, idle or not, always grows."""
        cpu = {key: value for key, value in self.counters.items() if key[0] in CPU}
        return bool(cpu) and all(other.counters.get(key) == value for key, value in cpu.items())


def read_exporter(samples: Iterable[Sample], *, counts_process: bool) -> ExporterReading:
    """From samples of METRICS. `counts_process`: the process that answers is what is measured; of
    others, such as node_exporter itself, nobody wants to know."""
    by_name: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        if isfinite(sample.value) and 0 <= sample.value <= HIGHEST:
            by_name[sample.name].append(sample)
    totals = {name: sum(each.value for each in found) for name, found in by_name.items()}
    reading = ExporterReading(
        dict(_counters(by_name)),
        dict(_gauges(by_name, totals)),
        start=(round(totals.get(_BOOT, 0.0)),),
        has_own_process=_PROCESS_CPU in totals,
    )
    return _with_process(reading, totals) if counts_process else reading


def _with_process(reading: ExporterReading, totals: Mapping[str, float]) -> ExporterReading:
    cpu = {(_OF_PROCESS,): totals[_PROCESS_CPU]} if _PROCESS_CPU in totals else {}
    gauges = {short: totals[name] for name, short in _PROCESS_GAUGES.items() if name in totals}
    start = (*reading.start, totals.get(_PROCESS_START, 0.0))
    return replace(reading, counters=reading.counters | cpu, process=gauges, start=start)


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
    links = [each for each in by_name.get("node_network_receive_bytes_total", ()) if _link(each)]
    speeds = [each.value for each in by_name.get(_LINK_SPEED, ()) if _link(each) and each.value > 0]
    if len(links) == len(speeds) == 1:
        yield "link_bytes_per_s", speeds[0]


def _link(sample: Sample) -> bool:
    return _is_link(sample.labels)


def did_between(
    before: ExporterReading, now: ExporterReading, lasted_s: float, process: str
) -> dict[str, Any] | None:
    """What the machine did between two readings, as `AgentSecond.did`; None where the second does
    not follow the first: one of another start, with CPU time that fell, or of another time than
    when it was asked for.

    Any other figure that fell began anew, and is absent, as one that was not told before.
    `process`: the name of the process that answers, where it counts.
    """
    grown = {key: now.counters[key] - value for key, value in _common(before, now)}
    fallen = {figure for (figure, *_), value in grown.items() if value < 0}
    cores = _cores(grown)
    is_late = any(whole_s > _MOST_PER_S * lasted_s for _, whole_s in cores)
    if before.start != now.start or is_late or fallen & {*CPU, _OF_PROCESS}:
        return None
    totals: dict[str, float] = defaultdict(float)
    for (figure, *_), value in grown.items():
        totals[figure] += value
    told = {figure: round(n, 4) for figure, n in totals.items() if figure not in fallen}
    of_process = dict(now.process)
    if _OF_PROCESS in told:
        of_process["cpu_s"] = told.pop(_OF_PROCESS)
    did: dict[str, Any] = told | now.gauges
    if cores:
        did["cores"] = [round(100 * busy / whole) if whole else 0 for busy, whole in cores]
    if of_process:
        did["processes"] = {process: of_process}
    return did


def _common(before: ExporterReading, now: ExporterReading) -> Iterator[tuple[_Key, float]]:
    """The counters before, of those that are there now as well."""
    return ((key, value) for key, value in before.counters.items() if key in now.counters)


def _cores(grown: Mapping[_Key, float]) -> list[tuple[float, float]]:
    """(busy, whole) seconds of each core, in their order."""
    whole: dict[str, float] = defaultdict(float)
    busy: dict[str, float] = defaultdict(float)
    for (figure, *series), value in grown.items():
        if figure in CPU:
            whole[series[0]] += value
            busy[series[0]] += 0.0 if figure in _UNUSED else value
    in_order = sorted(whole, key=lambda core: (len(core), core))
    return [(busy[core], whole[core]) for core in in_order[:MOST_CORES]]


# What a reading offers, in the words of the target's page: a figure that shows it, and its word.
_WORDS = {
    "user_s": "CPU", "memory_used_bytes": "memory", "received_bytes": "network",
    "loopback_bytes": "loopback", "retransmitted": "TCP", "disk_read_bytes": "disks",
    "open_files": "open files",
}  # fmt: skip


def offers(reading: ExporterReading) -> list[str]:
    """What it tells, in words."""
    figures = {key[0] for key in reading.counters} | reading.gauges.keys()
    words = [word for figure, word in _WORDS.items() if figure in figures]
    has_process = bool(reading.process) or _OF_PROCESS in figures
    return [*words, *(["its own process"] if has_process else [])]
