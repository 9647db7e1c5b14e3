"""What an agent tells of a target's machine: the one door for its reports."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from campaigns.domain.errors import InvalidFields
from campaigns.domain.json_reader import JsonReader, is_number
from campaigns.domain.metrics.perf_counts import HIGHEST, LONGEST_S, read_perf
from campaigns.domain.metrics.profiles import MOST_PROFILES, Profile, read_profile
from campaigns.domain.typed_text import clean_name

MOST_SECONDS = 300
MOST_WATCHED = 20
MOST_CORES = 1024
MOST_FIGURES = 200  # by name in a second, known or not
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
_CPU_TIMES = {*CPU, "cpu_s"}
OF_PROCESSES = ("cpu_s", "processes", "threads", "memory_bytes", "open_files")
_HIGHEST_CPU_S = MOST_CORES * LONGEST_S


@dataclass(frozen=True, slots=True)
class AgentSecond:
    """`at_s` is its middle, since the epoch by the site's clock. `did`: what is known of COUNTED
    and GAUGES, `cores` (% busy of each), `processes` by name, each with OF_PROCESSES, and `perf`,
    see `read_perf`."""

    at_s: float
    lasted_s: float
    did: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AgentReport:
    """`clock_ahead_s`: of the machine's own clock, which no second depends on; known to within
    `clock_error_s`."""

    host: str
    watched: tuple[str, ...]
    clock_ahead_s: float
    clock_error_s: float
    seconds: tuple[AgentSecond, ...]
    profiles: tuple[Profile, ...] = ()

    @classmethod
    def from_json(cls, data: Any) -> "AgentReport":
        """Raises InvalidFields. Figures that this release does not know are left out, so that a
        newer agent can report to an older site."""
        reader = JsonReader(data, "report")
        ahead_s = reader.number("clock_ahead_s", 0.0, low=-1e12, high=1e12)
        error_s = reader.number("clock_error_s", 0.0, low=0, high=1e9)
        host = clean_name(reader.text("host", limit=100))
        watched = reader.data.get("watched", [])
        is_list = isinstance(watched, list) and len(watched) <= MOST_WATCHED
        if not is_list or not all(map(_is_name, watched)):
            reader.fail("watched", f"Write a list of at most {MOST_WATCHED} names.")
        seconds = reader.data.get("seconds", [])
        if not isinstance(seconds, list) or len(seconds) > MOST_SECONDS:
            reader.fail("seconds", f"Write a list of at most {MOST_SECONDS} seconds.")
            seconds = []
        read = tuple(_seconds(reader, seconds))
        profiles = tuple(_profiles(reader))
        if not host:
            reader.fail("host", "Write the name of the machine.")
        if reader.errors:
            raise InvalidFields(reader.errors)
        return cls(host, tuple(watched), ahead_s, error_s, read, profiles)


MOVED = ("received_bytes", "sent_bytes", "loopback_bytes")


def busy_s(did: Mapping[str, Any]) -> float | None:
    """The CPU time that the machine used; None if it was not told."""
    return sum(did[state] for state in BUSY) if set(BUSY) <= did.keys() else None


def machine_of(did: Mapping[str, Any]) -> str:
    """What agents and exporters of one machine tell alike and those of two do not: when it was
    booted, in seconds since 1970 by its own clock, and its memory. "" where either is not told."""
    told = [did.get(name) for name in ("booted_s", "memory_bytes")]
    return "" if None in told else f"{told[0]:.0f}/{told[1]:.0f}"


def watched_s(did: Mapping[str, Any]) -> float | None:
    """The CPU time of the chosen processes together; None where none was chosen, or one of them is
    told without it."""
    told = [each.get("cpu_s") for each in did.get("processes", {}).values()]
    return None if not told or None in told else sum(told)


def moved_bytes(did: Mapping[str, Any]) -> float | None:
    """Received and sent by all interfaces, the loopback once; None where none was told."""
    told = [did[name] for name in MOVED if did.get(name) is not None]
    return sum(told) if told else None


def _is_name(text: Any) -> bool:
    return isinstance(text, str) and 0 < len(text) <= 100


def _seconds(report: JsonReader, seconds: Sequence[Any]) -> Iterator[AgentSecond]:
    """Up to the first fault: an answer need not name those of 300 seconds."""
    for index, each in enumerate(seconds):
        if report.errors:
            return
        yield _second(report, index, each)


def _profiles(report: JsonReader) -> Iterator[Profile]:
    told = report.data.get("profiles", [])
    if not isinstance(told, list) or len(told) > MOST_PROFILES:
        report.fail("profiles", f"Write a list of at most {MOST_PROFILES} profiles.")
        return
    for index, each in enumerate(told):
        yield read_profile(JsonReader(each, f"report.profiles.{index}", report.errors))


def _second(report: JsonReader, index: int, data: Any) -> AgentSecond:
    reader = JsonReader(data, f"report.seconds.{index}", report.errors)
    at_s = reader.number("at_s", low=0, high=1e11)
    if at_s is None:
        reader.fail("at_s", "Write the time of its middle, in seconds since 1970.")
    lasted_s = reader.number("lasted_s", 1.0, low=0, high=LONGEST_S, above_low=True)
    did = reader.child("did")
    if len(did.data) > MOST_FIGURES:
        report.fail(f"seconds.{index}.did", f"Write at most {MOST_FIGURES} figures.")
    values = dict(_figures(did, (*COUNTED, *GAUGES)))
    if "cores" in did.data:
        values["cores"] = _cores(did)
    if "processes" in did.data:
        values["processes"] = _processes(did)
    if "perf" in did.data:
        values["perf"] = read_perf(did.child("perf"))
    return AgentSecond(at_s or 0.0, lasted_s, values)


def _figures(reader: JsonReader, known: Sequence[str]) -> Iterator[tuple[str, float]]:
    for name in known:
        if (value := reader.data.get(name)) is not None:
            highest = _HIGHEST_CPU_S if name in _CPU_TIMES else HIGHEST
            if is_number(value) and 0 <= value <= highest:
                yield name, value
            else:
                reader.fail(name, f"Write a number from 0 to {highest:,.0f}.")


def _cores(reader: JsonReader) -> list[int]:
    cores = reader.data["cores"]
    is_list = isinstance(cores, list) and len(cores) <= MOST_CORES
    if not is_list or not all(is_number(each) and 0 <= each <= 100 for each in cores):
        reader.fail("cores", f"Write a list of at most {MOST_CORES} numbers from 0 to 100.")
        return []
    return [round(each) for each in cores]


def _processes(reader: JsonReader) -> dict[str, dict[str, float]]:
    child = reader.child("processes")
    if len(child.data) > MOST_WATCHED or not all(map(_is_name, child.data)):
        reader.fail("processes", f"Write at most {MOST_WATCHED} processes, each by its name.")
        return {}
    return {name: dict(_figures(child.child(name), OF_PROCESSES)) for name in child.data}
