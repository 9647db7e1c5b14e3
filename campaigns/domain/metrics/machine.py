"""What is known of a target's machine in a second, by name: the `did` of a MachineSecond.

It has what was told of COUNTED and GAUGES, `cores` (% busy of each), `processes` by name, each with
OF_PROCESSES, and `perf` (perf_counts.py). What was not told is absent.
"""

from collections.abc import Mapping
from typing import Any

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
