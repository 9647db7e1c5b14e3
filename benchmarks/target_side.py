"""Do the agent's figures agree with those of others? The demo target, over HTTP and over HTTPS.

CPU time: that of the process by the agent's samples, added up as a run's page does, against the
process's own getrusage. Network: the loopback's bytes by the agent, counted once, against what the
injector's connections carried with the headers of every segment.
"""

import contextlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import floor

from benchmarks import injected_run
from benchmarks.figures import GoalRow
from benchmarks.servers import free_ports
from campaigns.domain.measured.machine_use import (
    MachinePoint,
    cpu_s_per_1000,
    machine_use,
    n_whole_seconds,
)
from campaigns.domain.measured.measurement import Measurement
from workers.agent.__main__ import watch
from workers.agent.machine import Interval, Sampler
from workers.agent.perf import PerfStat
from workers.agent.processes import Processes
from workers.agent.site import SiteClock, boot_ns

RATE_PER_S, DURATION_S = 200, 20
CPU_SHARE, NETWORK_SHARE = 0.03, 0.02
TITLE = f"The target's side, {RATE_PER_S} requests/s on new connections for {DURATION_S} s"
_PLAN = {
    "steps": [{"path": "/"}],
    "load": {"model": "open", "rate_per_s": RATE_PER_S, "duration_s": DURATION_S},
}
# On the loopback: IPv4 and TCP with time stamps. A SYN has 8 bytes more of options.
_HEADER_BYTES, _SYN_BYTES = 52, 8
_AROUND_S = 1.5  # watched before and after the load, so that no sample cuts it
_NS = 1e9


@dataclass(slots=True)
class Watched:
    """A run with what the agent sampled around it. `used_s`: the target's getrusage meanwhile."""

    began_ns: int = 0  # of the load, on the agent's clock
    used_s: float = 0.0
    intervals: list[Interval] = field(default_factory=list)

    def add(self, seen: Interval) -> None:
        self.intervals.append(seen)

    def total(self, name: str) -> float:
        return sum(each.values.get(name, 0) for each in self.intervals)

    def points(self, n_seconds: int) -> list[MachinePoint]:
        """The seconds of the run in which each sample has its middle, as the site files them."""
        dated = ((floor((each.middle_ns - self.began_ns) / _NS), each) for each in self.intervals)
        return [
            MachinePoint(second, each.lasted_s, each.values)
            for second, each in dated
            if 0 <= second < n_seconds
        ]


def measure() -> Iterator[GoalRow]:
    http, https = free_ports(2)
    with tempfile.TemporaryDirectory() as folder, _target(folder, http, https) as target:
        for scheme, port in (("http", http), ("https", https)):
            watched = Watched()
            seen = injected_run.measure(
                _PLAN,
                port,
                lambda _, watched=watched: _watching(target, watched),
                scheme=scheme,
                mode="new",
                core=None,
            )
            yield cpu_line(scheme, watched, seen)
            yield network_line(scheme, watched, seen)


def cpu_line(scheme: str, watched: Watched, seen: Measurement) -> GoalRow:
    """CPU seconds per 1,000 requests: the agent's beside the process's own."""
    n, duration_s = seen.total.count("ok"), seen.duration_s
    n_seconds = n_whole_seconds(duration_s)
    use = machine_use("here", watched.points(n_seconds), n_seconds)
    told_s = cpu_s_per_1000(use and use.watched_s, use.lasted_s if use else 0.0, n / duration_s)
    own_s = 1000 * watched.used_s / n
    return _line(f"{scheme}, CPU s per 1,000", told_s or 0.0, own_s, "getrusage", CPU_SHARE)


def network_line(scheme: str, watched: Watched, seen: Measurement) -> GoalRow:
    """MB over the loopback: the agent's beside the injector's."""
    told_mb = watched.total("loopback_bytes") / 1e6
    carried = seen.total.count("wire_sent") + seen.total.count("wire_received")
    headers = _HEADER_BYTES * watched.total("segments_sent")
    options = 2 * _SYN_BYTES * seen.total.count("connections_opened")
    own_mb = (carried + headers + options) / 1e6
    return _line(f"{scheme}, loopback MB", told_mb, own_mb, "injector", NETWORK_SHARE)


def _line(name: str, told: float, true: float, whose: str, share: float) -> GoalRow:
    off = told / true - 1
    measured = f"agent {told:.3f}, {whose} {true:.3f}: {100 * off:+.1f} %"
    return GoalRow(name, measured, f"within {100 * share:g} %", abs(off) <= share)


@contextlib.contextmanager
def _target(folder: str, http: int, https: int) -> Iterator[subprocess.Popen]:
    ports = ["--http-port", str(http), "--https-port", str(https), "--cert-dir", folder]
    command = [sys.executable, "-m", "benchmarks.metered_echo", *ports]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            for _ in (http, https):
                process.stdout.readline()  # "http://127.0.0.1:8081/ is ready"
            yield process
        finally:
            process.terminate()


def _own_cpu_s(target: subprocess.Popen) -> float:
    target.send_signal(signal.SIGUSR1)
    return float(target.stdout.readline())


@contextlib.contextmanager
def _watching(target: subprocess.Popen, watched: Watched) -> Iterator[None]:
    """The agent's own loop beside the run, on the whole seconds of this machine's clock."""
    processes, stop = Processes([f"pid:{target.pid}"]), threading.Event()
    parts = (Sampler(processes), PerfStat(processes), watched, SiteClock(), stop)
    loop = threading.Thread(target=watch, args=parts)
    before_s = _own_cpu_s(target)
    loop.start()
    time.sleep(_AROUND_S)
    watched.began_ns = boot_ns() + injected_run.START_NS
    try:
        yield
        time.sleep(_AROUND_S)
    finally:
        stop.set()
        loop.join()
    watched.used_s = _own_cpu_s(target) - before_s
