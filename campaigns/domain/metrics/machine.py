"""What is known of a target's machine in a second, by name: the `did` of a MachineSecond.

It has what was told of COUNTED and GAUGES, `cores` (% busy of each), `processes` by name, each with
OF_PROCESSES, and `perf` (profiles.py). What was not told is absent.

What a target's machine did in a run: second by second, and as mean and maximum; and in the runs
of a campaign, one after another."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import floor
from typing import Any

from campaigns.domain.metrics.profiles import PerfUse, perf_use

# What a reading offers, in the words of the target's page: a figure that shows it, and its word.
PERF, PROCESS = "perf", "process "
MOST_WATCHED, LONGEST_WATCHED = 20, 100  # chosen processes, and characters of a name
MOST_CORES = 1024
# CPU time by state, s of all cores; `stolen_s` went to other guests of the hypervisor.
BUSY = ("user_s", "system_s", "interrupts_s")
CPU = (*BUSY, "stolen_s", "waiting_s", "idle_s")
# Counted in the second.
COUNTED = (
    *CPU, "received_bytes", "sent_bytes", "loopback_bytes", "received_packets", "sent_packets",
    "loopback_packets", "dropped_packets", "segments_sent", "retransmitted", "listen_overflows",
    "listen_drops", "disk_read_bytes", "disk_written_bytes", "disk_busy_s", "swapped_pages",
)  # fmt: skip
# As they were at the end of the second.
GAUGES = (
    "running", "blocked", "memory_bytes", "memory_used_bytes", "swap_used_bytes", "established",
    "time_wait", "orphaned", "open_files", "link_bytes_per_s", "booted_s",
)  # fmt: skip
OF_PROCESSES = ("cpu_s", "processes", "threads", "memory_bytes", "open_files")
MOVED = ("received_bytes", "sent_bytes", "loopback_bytes")


def busy_s(did: Mapping[str, Any]) -> float | None:
    """The CPU time that the machine used; None if it was not told."""
    return sum(did[state] for state in BUSY) if set(BUSY) <= did.keys() else None


def machine_of(did: Mapping[str, Any]) -> str:
    """What exporters of one machine tell alike and those of two do not: when it was booted, in
    seconds since 1970 by its own clock, and its memory. "" where either is not told."""
    values = [did.get(name) for name in ("booted_s", "memory_bytes")]
    return "" if None in values else f"{values[0]:.0f}/{values[1]:.0f}"


def watched_s(did: Mapping[str, Any]) -> float | None:
    """The CPU time of the chosen processes together; None where none was chosen, or one of them is
    told without it."""
    cpu_s = [each.get("cpu_s") for each in did.get("processes", {}).values()]
    return None if not cpu_s or None in cpu_s else sum(cpu_s)


def moved_bytes(did: Mapping[str, Any]) -> float | None:
    """Received and sent by all interfaces, the loopback once; None where none was told."""
    counters = [did[name] for name in MOVED if did.get(name) is not None]
    return sum(counters) if counters else None


Pair = tuple[float, float]  # mean and highest second
# Figures per second, beside those of GAUGES: each of these counts over the length of its second.
_RATES = (
    "received_bytes", "sent_bytes", "loopback_bytes", "received_packets", "sent_packets",
    "loopback_packets", "dropped_packets", "retransmitted", "listen_overflows", "disk_read_bytes",
    "disk_written_bytes", "swapped_pages",
)  # fmt: skip
_CORES = "busiest_core"
_FEW_SECONDS = 5


@dataclass(frozen=True, slots=True)
class MachinePoint:
    """A second of the run; `did`: see machine.py."""

    second: int
    lasted_s: float
    did: dict[str, Any]

    def share(self, *states: str) -> float | None:
        """Of the CPU time of all cores, 0 to 1; None if it was not told."""
        whole = sum(self.did.get(state, 0.0) for state in CPU)
        return sum(self.did.get(state, 0.0) for state in states) / whole if whole else None

    @property
    def watched_share(self) -> float | None:
        """Of the CPU time of all cores, that of the chosen processes; None where none was chosen
        or told."""
        whole, own_s = sum(self.did.get(state, 0.0) for state in CPU), watched_s(self.did)
        return own_s / whole if whole and own_s is not None else None

    @property
    def memory_share(self) -> float | None:
        in_use, whole = self.did.get("memory_used_bytes"), self.did.get("memory_bytes")
        return in_use / whole if whole and in_use is not None else None

    def per_s(self, name: str) -> float | None:
        value = self.did.get(name)
        return None if value is None else value / self.lasted_s


@dataclass(frozen=True, slots=True)
class MachineUse:
    """A machine over the measured seconds of a run that it told.

    `busy_s`, `watched_s` and `moved_bytes`: CPU time of all cores, and of the chosen processes, and
    network bytes in the seconds that are `is_inner`, which took `lasted_s`; None where one of them
    does not have it. `figures`
    and each of `processes`: mean and highest second. `perf`: of the same seconds, where it was
    asked for.
    """

    source: str
    seconds: int
    lasted_s: float
    cores: int
    busy_s: float | None = None
    watched_s: float | None = None
    figures: dict[str, Pair] = field(default_factory=dict)
    processes: dict[str, dict[str, Pair]] = field(default_factory=dict)
    perf: PerfUse | None = None
    moved_bytes: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "MachineUse":
        pairs = {name: tuple(pair) for name, pair in data["figures"].items()}
        processes = {
            name: {key: tuple(pair) for key, pair in figures.items()}
            for name, figures in data["processes"].items()
        }
        perf = PerfUse.from_json(data["perf"]) if data.get("perf") else None
        return cls(**{**data, "figures": pairs, "processes": processes, "perf": perf})


def cpu_s_per_1000(cpu_s: float | None, lasted_s: float, rate_per_s: float | None) -> float | None:
    """CPU seconds for 1,000 ok requests: the mean of the cores in use over the ok requests/s. So
    seconds that nobody told count as the others."""
    if cpu_s is None or not lasted_s or not rate_per_s:
        return None
    return 1000 * cpu_s / lasted_s / rate_per_s


def n_whole_seconds(duration_s: float) -> int:
    """How many seconds a measurement covers to at least nine tenths, at least 1."""
    return max(1, floor(duration_s + 0.1))


def is_inner(second: int, n_seconds: int) -> bool:
    """Whether what was sampled in this second of so many lies within the measurement.

    An agent samples on the site's seconds, a run begins between them: the first and the last sample
    reach up to half a second beyond it. With a few seconds, these count as well.
    """
    return n_seconds < _FEW_SECONDS or 0 < second < n_seconds - 1


def machine_use(
    source: str, points: Sequence[MachinePoint], n_seconds: int | None = None
) -> MachineUse | None:
    """Of the points of a run that measured `n_seconds`; None: up to the last point. None without a
    point."""
    if not points:
        return None
    n_seconds = n_seconds or points[-1].second + 1
    inner = [point for point in points if is_inner(point.second, n_seconds)]
    names = {name for point in points for name in point.did.get("processes", ())}
    return MachineUse(
        source,
        len(points),
        sum(point.lasted_s for point in inner),
        cores=max(len(point.did.get("cores", ())) for point in points),
        busy_s=_sum(busy_s(point.did) for point in inner),
        watched_s=_sum(watched_s(point.did) for point in inner),
        figures=_figures(points),
        processes={name: _of_process(name, points) for name in sorted(names)},
        perf=perf_use([point.did["perf"] for point in inner if "perf" in point.did]),
        moved_bytes=_sum(moved_bytes(point.did) for point in inner),
    )


def _figures(points: Sequence[MachinePoint]) -> dict[str, Pair]:
    columns = {
        "cpu": [point.share("user_s", "system_s", "interrupts_s") for point in points],
        "user": [point.share("user_s") for point in points],
        "system": [point.share("system_s", "interrupts_s") for point in points],
        "watched": [point.watched_share for point in points],
        "stolen": [point.share("stolen_s") for point in points],
        _CORES: [max(point.did["cores"], default=0) for point in points if "cores" in point.did],
        **{name: [point.per_s(name) for point in points] for name in _RATES},
        **{name: [point.did.get(name) for point in points] for name in GAUGES},
    }
    return {name: pair for name, values in columns.items() if (pair := _pair(values))}


def _of_process(name: str, points: Sequence[MachinePoint]) -> dict[str, Pair]:
    figures = [
        (point, point.did["processes"][name])
        for point in points
        if (name in point.did.get("processes", {}))
    ]
    columns = {key: [did.get(key) for _, did in figures] for key in OF_PROCESSES}
    columns["cpu_s"] = [
        did["cpu_s"] / point.lasted_s if "cpu_s" in did else None for point, did in figures
    ]
    return {key: pair for key, values in columns.items() if (pair := _pair(values))}


def _pair(values: Iterable[float | None]) -> Pair | None:
    values_known = [value for value in values if value is not None]
    return (sum(values_known) / len(values_known), max(values_known)) if values_known else None


def _sum(values: Iterable[float | None]) -> float | None:
    every = list(values)
    return None if None in every else sum(every)


@dataclass(frozen=True, slots=True)
class MachineStep:
    """Some seconds of a run together. `number`: from 0, a missing one was not told. The CPU of the
    machine, of its kernel and of the chosen processes, and its memory, in %; the network in MB/s.
    None: not told."""

    number: int
    cpu: float | None = None
    system: float | None = None
    watched: float | None = None
    memory: float | None = None
    received: float | None = None
    sent: float | None = None
    loopback: float | None = None


@dataclass(frozen=True, slots=True)
class MachineRun:
    """A run that told something, in the order of its campaign; `test` is its test's number."""

    run: int
    test: int
    position: int
    repeat: int
    steps: tuple[MachineStep, ...]

    @property
    def n_steps(self) -> int:
        return self.steps[-1].number + 1

    def mean(self, name: str) -> float | None:
        """Over what was told of this figure."""
        values = [value for step in self.steps if (value := getattr(step, name)) is not None]
        return sum(values) / len(values) if values else None


@dataclass(frozen=True, slots=True)
class MachineRuns:
    """Of one machine; a step has `step_s` seconds."""

    source: str
    step_s: int
    runs: tuple[MachineRun, ...]

    def tells(self, name: str) -> bool:
        """Whether any run has something of this figure to draw."""
        return any(getattr(step, name) for run in self.runs for step in run.steps)
