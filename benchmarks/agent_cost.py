"""What the agent costs the machine that it watches: its CPU time and its memory over a minute.

The program itself, as its page's line starts it, with two groups of processes to watch. Its site is
a thread here that knows the time and takes everything, so only the agent's own cost is measured. In
the second half it also counts by perf stat; what perf uses counts with it.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.figures import GoalRow

LASTS_S = 60
MOST_CPU_SHARE, MOST_MB = 0.01, 40.0
TITLE = f"The agent's own cost over {LASTS_S} s, two groups of processes watched"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_SETTLES_S = 5  # it starts, and says hello


class _Site(BaseHTTPRequestHandler):
    """Answers each report with the time, and orders what the server's `perf` says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = json.dumps({"now": time.time(), "stored": 0, "perf": self.server.perf}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """A report every two seconds is no news."""


def measure() -> Iterator[GoalRow]:
    with _site() as site, _agent(site.server_port) as agent:
        for name, perf in (("agent", ""), ("agent with perf stat", "machine")):
            site.perf = perf
            time.sleep(_SETTLES_S)
            yield from _over_a_minute(name, agent.pid)


def _over_a_minute(name: str, pid: int) -> Iterator[GoalRow]:
    before_s, began_s = cpu_s(pid), time.monotonic()
    time.sleep(LASTS_S)
    share = (cpu_s(pid) - before_s) / (time.monotonic() - began_s)
    yield cpu_line(name, share)
    yield memory_line(name, memory_mb(pid))


def cpu_line(name: str, share: float) -> GoalRow:
    measured = f"{100 * share:.2f} % of a core"
    is_met = share <= MOST_CPU_SHARE
    return GoalRow(f"{name}, CPU", measured, f"at most {100 * MOST_CPU_SHARE:g} %", is_met)


def memory_line(name: str, mb: float) -> GoalRow:
    goal = f"at most {MOST_MB:g} MB"
    return GoalRow(f"{name}, memory", f"{mb:.1f} MB resident", goal, mb <= MOST_MB)


def cpu_s(pid: int) -> float:
    """Of the process and its descendants, those that have ended included."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own_s = sum(map(int, words[11:15])) / _TICKS_PER_S
    return own_s + sum(map(cpu_s, _children(pid)))


def memory_mb(pid: int) -> float:
    """Resident memory of the process and its descendants."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6 + sum(map(memory_mb, _children(pid)))


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


@contextlib.contextmanager
def _site() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    server.perf = ""
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def _agent(port: int) -> Iterator[subprocess.Popen]:
    """It watches this program and everything called python."""
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "workers.agent", "--url", url]
    watched = ["--watch", f"pid:{os.getpid()}", "--watch", "python3"]
    env = {**os.environ, "BENCHSITE_AGENT_TOKEN": "bs_agent_of_the_benchmark"}
    with subprocess.Popen([*command, *watched], env=env, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
