"""The injector's own health: whether it may have distorted what it measured."""

import gc
import os
import resource
import time
from collections.abc import Callable, Iterable

from workers.injector import machine
from workers.injector.machine import CpuQuota, Links, ProcFiles, read_traffic

_NS = 1_000_000_000
# So much more memory in use wakes the garbage collector.
GROWTH_BYTES = 64 * 1024 * 1024
# Of the process's limit: Python and OpenSSL do not fail well where the kernel refuses more.
_MOST_OF_LIMIT = 0.9


class HubLag:
    """How late a timer of the hub is, sampled every `every_ns`.

    While the event loop stalls, the timers that were due never run. They count too, with the delay
    they would have had; otherwise a stall would be one sample among hundreds.
    """

    def __init__(self, every_ns: int):
        self._every_us = every_ns // 1000
        self._every_ns = every_ns
        self._due_ns = 0
        self._lags_us: list[int] = []

    def tick(self, instant_ns: int) -> None:
        if self._due_ns:
            lag_us = max(0, instant_ns - self._due_ns) // 1000
            self.add(range(lag_us, -1, -self._every_us))
        self._due_ns = instant_ns + self._every_ns

    def add(self, lags_us: Iterable[int]) -> None:
        self._lags_us.extend(lags_us)

    def take(self) -> list[int]:
        """The delays since the last call, µs."""
        lags, self._lags_us = self._lags_us, []
        return lags


class GarbageClock:
    """Times every garbage collection of this process."""

    def __init__(self):
        self._began_ns = 0
        self._longest_ns = 0
        self._sum_ns = 0
        gc.callbacks.append(self._note)

    def _note(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._began_ns = time.monotonic_ns()
        elif self._began_ns:
            took_ns = time.monotonic_ns() - self._began_ns
            self._longest_ns = max(self._longest_ns, took_ns)
            self._sum_ns += took_ns

    def take(self) -> tuple[int, int]:
        """(longest, sum of all) since the last call, ns."""
        pauses = self._longest_ns, self._sum_ns
        self._longest_ns = self._sum_ns = 0
        return pauses

    def close(self) -> None:
        gc.callbacks.remove(self._note)


class RestingCollector:
    """No garbage collection while measuring: it would delay every request in flight.

    Attempts leave no cycles behind. One that does all the same must not fill the machine, so
    growth wakes the collector for a moment, which GarbageClock times.
    """

    def __enter__(self) -> "RestingCollector":
        gc.freeze()
        gc.disable()
        with ProcFiles() as files:
            self._wakes_at_bytes = machine.memory_bytes(files)[0] + GROWTH_BYTES
        return self

    def __exit__(self, *_: object) -> None:
        gc.enable()
        gc.unfreeze()

    def look(self, rss_bytes: int) -> None:
        """Collect if memory has grown by GROWTH_BYTES since the start or the last collection."""
        if rss_bytes > self._wakes_at_bytes:
            gc.collect()
            # The next collection skips what is still needed now.
            gc.freeze()
            self._wakes_at_bytes = rss_bytes + GROWTH_BYTES


class VitalsReader:
    """Reads process and machine once a second; shares are of the elapsed time, at least 1 s."""

    def __init__(
        self, read: Callable[[], dict[str, float]] | None = None, links: Links | None = None
    ):
        self._proc = ProcFiles()
        quota = CpuQuota(self._proc)
        self._read = read or (lambda: _read(self._proc, quota))
        self._links = links or Links(lambda: read_traffic(self._proc))
        self._before = self._read()
        self._garbage = GarbageClock()
        self._files_before = machine.count_open_files()
        self._file_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._n_ports = machine.count_ephemeral_ports()
        self._memory_limit = resource.getrlimit(resource.RLIMIT_DATA)[0]

    @property
    def rss_bytes(self) -> int:
        return int(self._before["rss_bytes"])

    @property
    def is_near_memory_limit(self) -> bool:
        has_limit = self._memory_limit != resource.RLIM_INFINITY
        return has_limit and self._before["data_bytes"] > _MOST_OF_LIMIT * self._memory_limit

    def take(
        self, *, hub_lag_max_us: int, lateness_p99_us: float, own_delay_p99_us: float,
        open_connections: int,
    ) -> dict[str, float]:  # fmt: skip
        """The gauges since the last call."""
        before, now = self._before, self._read()
        self._before = now
        # The last second is mostly incomplete; a burst in it must not count as a full second.
        elapsed_ns = max(_NS, now["at_ns"] - before["at_ns"])
        longest_ns, garbage_ns = self._garbage.take()
        run_delay_ns = now["run_delay_ns"] - before["run_delay_ns"]
        throttled_ns = now["throttled_ns"] - before["throttled_ns"]
        # Computed instead of listed: listing 10,000 open files takes milliseconds.
        open_files = self._files_before + open_connections
        limit = 0 if self._file_limit == resource.RLIM_INFINITY else self._file_limit
        machine_s = max(os.cpu_count() or 1, now["machine_s"] - before["machine_s"])
        own_s = now["cpu_s"] - before["cpu_s"]
        # CPU time of other programs; small differences of two clocks are none.
        others_s = max(0.0, now["busy_s"] - before["busy_s"] - own_s)
        steal_share = (now["steal_s"] - before["steal_s"]) / machine_s
        return {
            "cpu_share": round(own_s * _NS / elapsed_ns, 4),
            "other_cpu_share": round(min(1.0, others_s / machine_s), 4),
            "steal_share": round(min(1.0, max(0.0, steal_share)), 4),
            "other_cores": round(others_s * _NS / elapsed_ns, 4),
            "run_delay_share": round(run_delay_ns / elapsed_ns, 4),
            "throttled_share": round(min(1.0, throttled_ns / elapsed_ns), 4),
            "hub_lag_max_us": hub_lag_max_us,
            "lateness_p99_us": round(lateness_p99_us),
            "own_delay_p99_us": round(own_delay_p99_us),
            "gc_pause_max_us": longest_ns // 1000,
            "gc_share": round(garbage_ns / elapsed_ns, 6),
            "open_connections": open_connections,
            "open_files": open_files,
            "open_files_share": _share(open_files, limit),
            "ports_share": _share(now["ports_taken"], self._n_ports),
            "swapped_pages": now["swapped_pages"] - before["swapped_pages"],
            "clock_step_us": abs(now["wall_offset_ns"] - before["wall_offset_ns"]) // 1000,
            **self._links.take(elapsed_ns),
            "rss_bytes": now["rss_bytes"],
        }

    def close(self) -> None:
        self._garbage.close()
        self._proc.close()


def _share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0


def cpu_s() -> tuple[float, float]:
    """CPU time of this process, (user, system), seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime, usage.ru_stime


def _read(files: ProcFiles, quota: CpuQuota) -> dict[str, float]:
    machine_s, busy_s, steal_s = machine.cpu_times_s(files)
    rss_bytes, data_bytes = machine.memory_bytes(files)
    return {
        "at_ns": time.monotonic_ns(),
        "cpu_s": sum(cpu_s()),
        "machine_s": machine_s,
        "busy_s": busy_s,
        "steal_s": steal_s,
        "run_delay_ns": machine.run_delay_ns(files),
        "throttled_ns": quota.throttled_ns(),
        "ports_taken": machine.count_ports_taken(files),
        "swapped_pages": machine.count_swapped_pages(files),
        "wall_offset_ns": machine.wall_offset_ns(),
        "rss_bytes": rss_bytes,
        "data_bytes": data_bytes,
    }
