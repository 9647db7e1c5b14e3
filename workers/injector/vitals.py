"""How the injector itself is doing: whether what it measured may be its own fault."""

import os
import resource
import time

_NS = 1_000_000_000


class Vitals:
    """Reads process and machine once a second; shares are of a second, or of what was longer."""

    def __init__(self):
        self._before = _read()
        self.hub_lag_max_us = 0

    def note_hub_lag(self, lag_us: int) -> None:
        self.hub_lag_max_us = max(self.hub_lag_max_us, lag_us)

    def take(self, *, lateness_p99_us: float, open_connections: int) -> dict[str, float]:
        """The gauges since the last call."""
        before, now = self._before, _read()
        self._before = now
        # The last second is mostly a fragment: a burst in it is no second's work.
        elapsed_ns = max(_NS, now["at_ns"] - before["at_ns"])
        machine = max(os.cpu_count() or 1, now["machine_s"] - before["machine_s"])
        own_s = now["cpu_s"] - before["cpu_s"]
        busy_s = now["busy_s"] - before["busy_s"]
        lag, self.hub_lag_max_us = self.hub_lag_max_us, 0
        return {
            "cpu_share": round(own_s * _NS / elapsed_ns, 4),
            "other_cpu_share": round(min(1.0, max(0.0, (busy_s - own_s) / machine)), 4),
            "run_delay_share": round(
                (now["run_delay_ns"] - before["run_delay_ns"]) / elapsed_ns, 4
            ),
            "hub_lag_max_us": lag,
            "lateness_p99_us": round(lateness_p99_us),
            "open_connections": open_connections,
            "rss_bytes": now["rss_bytes"],
        }


def cpu_s() -> float:
    """CPU time of this process, user and system, seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _read() -> dict[str, float]:
    machine_s, busy_s = _machine_cpu_s()
    return {
        "at_ns": time.monotonic_ns(),
        "cpu_s": cpu_s(),
        "machine_s": machine_s,
        "busy_s": busy_s,
        "run_delay_ns": _first_line_numbers("/proc/self/schedstat", 3)[1],
        "rss_bytes": _first_line_numbers("/proc/self/statm", 2)[1] * resource.getpagesize(),
    }


def _machine_cpu_s() -> tuple[float, float]:
    """(CPU time of all cores, of it not idle) since boot, seconds, in hundredths."""
    user, nice, system, idle, iowait, irq, softirq, steal = _first_line_numbers("/proc/stat", 8)
    busy = user + nice + system + irq + softirq + steal
    return (busy + idle + iowait) / 100, busy / 100


def _first_line_numbers(path: str, count: int) -> list[int]:
    """The first numbers of a file of /proc; zeros where this kernel does not have it."""
    try:
        with open(path) as file:
            words = [word for word in file.readline().split() if word.lstrip("-").isdigit()]
    except OSError:
        words = []
    return [*map(int, words[:count]), *[0] * (count - len(words))]
