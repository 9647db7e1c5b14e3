"""`perf stat` beside the samples, while the site asks for it."""

import ctypes
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workers.agent.machine import Interval, Processes
from workers.agent.perf_lines import PerfIntervals, line_of
from workers.agent.proc import process_of, text_of
from workers.agent.site import boot_ns

PROCESSES, MACHINE = "processes", "machine"
# Of the whole machine, perf's task-clock is the time of all cores, busy or not: no count of work.
_OF_MACHINE = (
    *("context-switches", "cpu-migrations", "page-faults"),
    *("cycles", "instructions", "branches", "branch-misses"),
)
EVENTS = {PROCESSES: ("task-clock", *_OF_MACHINE), MACHINE: _OF_MACHINE}
ORDER_S = 10  # an order that no answer of the site renews ends after that
_RETRY_S = 10
NO_WATCH = "The agent watches no processes. Start it with --watch, or ask for the whole machine."
NOT_THERE = "None of the watched processes runs."
NOT_INSTALLED = (
    "perf is not installed on this machine. Install linux-perf (Debian), linux-tools (Ubuntu) or "
    "perf (Fedora)."
)
_PR_SET_PDEATHSIG = 1
_NS = 1_000_000_000
_libc = ctypes.CDLL(None)


class PerfStat:
    """Counts what the site orders, and puts the counts into the sampled seconds. Where it cannot,
    these say why. It has the rights of the agent's user and no others."""

    def __init__(
        self, processes: Processes, program: str = "perf", proc: Path = Path("/proc")
    ) -> None:
        self._processes, self._program, self._proc = processes, program, proc
        self._order = ("", 0)  # what to count, and until when
        self._of, self._fault, self._retry_ns = "", "", 0
        self._child: _PerfChild | None = None
        self._held: Interval | None = None

    def obey(self, answer: Mapping[str, Any]) -> None:
        """What the site answered to a report; may come from another thread."""
        asked = answer.get("perf")
        of = asked if asked in (PROCESSES, MACHINE) else ""
        self._order = (of, boot_ns() + ORDER_S * _NS)

    def take(self, seen: Interval | None, now_ns: int) -> list[Interval]:
        """The seconds that are complete. While it counts, each waits for the next one, because
        perf's intervals end later than the samples. To be called by the main thread, with which
        perf dies."""
        ready = [self._with_counts(self._held)] if self._held else []
        of, until_ns = self._order
        self._keep(of if now_ns < until_ns else "", now_ns)
        self._held = seen if self._of else None
        return ready if self._held or not seen else [*ready, seen]

    def end(self) -> None:
        if self._child:
            self._child.kill()
        self._child = None

    def _with_counts(self, seen: Interval) -> Interval:
        told = self._child and self._child.take(seen)
        if told:
            self._fault = ""
        elif self._fault:
            told = {"fault": self._fault}
        else:
            return seen
        return seen._replace(values={**seen.values, "perf": {"of": self._of, **told}})

    def _keep(self, of: str, now_ns: int) -> None:
        """Begin, go on, begin anew, or end."""
        pids = self._processes.pids if of == PROCESSES else frozenset()
        if self._child and self._child.has_ended:
            self._fault = "" if self._child.has_counted else why_not(self._child.said, of)
            self._retry_ns = now_ns + (_RETRY_S * _NS if self._fault else 0)
            self._child = None
        if self._child and (of != self._of or self._child.is_off or not self._child.covers(pids)):
            self.end()
        if of != self._of:
            self._of, self._fault, self._retry_ns = of, "", 0
        if of == PROCESSES and not pids:
            self.end()
            self._fault = NOT_THERE if self._processes.names else NO_WATCH
        elif of and not self._child and now_ns >= self._retry_ns:
            self._begin(of, pids, now_ns)

    def _begin(self, of: str, pids: Iterable[str], now_ns: int) -> None:
        whom = ["-p", ",".join(sorted(pids, key=int))] if of == PROCESSES else ["-a"]
        form = ["-x", ";", "-I", "1000", "--log-fd", "1"]
        command = [self._program, "stat", *form, "-e", ",".join(EVENTS[of]), *whom]
        try:
            self._child = _PerfChild(command, set(pids), self._proc)
        except OSError as error:
            is_absent = isinstance(error, FileNotFoundError)
            self._fault = NOT_INSTALLED if is_absent else f"perf does not start: {error.strerror}."
            self._retry_ns = now_ns + _RETRY_S * _NS


class _PerfChild:
    """A running perf; what it prints is read by a thread. `pids`: whom it counts."""

    def __init__(self, command: Sequence[str], pids: set[str], proc: Path):
        self._pids, self._proc = pids, proc
        self._intervals = PerfIntervals()
        self._printed: deque[tuple[str, int]] = deque()
        self.said: deque[str] = deque(maxlen=20)  # beside counts
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
            preexec_fn=dying_with(os.getpid()),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with self._process.stdout as printed:
            for text in printed:
                self._printed.append((text, boot_ns()))
        self._process.wait()

    def _sort(self) -> None:
        while self._printed:
            text, arrived_ns = self._printed.popleft()
            if line := line_of(text):
                self._intervals.add(line, arrived_ns)
            elif text.strip():
                self.said.append(text.strip())

    def take(self, seen: Interval) -> dict[str, Any] | None:
        self._sort()
        return self._intervals.take(seen)

    @property
    def has_ended(self) -> bool:
        """Then all that it printed has been read."""
        if self._process.poll() is None:
            return False
        self._reader.join(1)
        self._sort()
        return True

    @property
    def has_counted(self) -> bool:
        return self._intervals.began_ns is not None

    @property
    def is_off(self) -> bool:
        return self._intervals.is_off

    def covers(self, pids: frozenset[str]) -> bool:
        """Whether it counts all these: perf follows what its processes have started since."""
        began_ns = self._intervals.began_ns
        if began_ns is None:
            return True
        for pid in sorted(pids - self._pids, key=int):
            process = process_of(text_of(self._proc / pid / "stat"))
            if process and process.started_ns > began_ns and str(process.parent) in self._pids:
                self._pids.add(pid)
        return pids <= self._pids

    def kill(self) -> None:
        """It has nothing to store."""
        self._process.kill()


def dying_with(parent: int) -> Callable[[], None]:
    """For the child: the kernel ends it if the thread that started it has ended."""

    def ask_kernel() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return ask_kernel


def why_not(said: Sequence[str], of: str, command: str = "stat") -> str:
    """In words, from what perf said before it ended."""
    words = " ".join(said)
    if "paranoid" in words or "ermission" in words or "ot permitted" in words:
        return _not_allowed(of)
    first = next((line for line in said if not line.endswith(":")), "it said nothing")
    return f"perf {command} ended at once: {first[:200]}"


def _not_allowed(of: str) -> str:
    level = text_of("/proc/sys/kernel/perf_event_paranoid").strip() or "not readable"
    setting = f"(kernel.perf_event_paranoid is {level})"
    if of == MACHINE:
        return (
            f"The agent's user may not count the whole machine {setting}. Set it to 0 or lower, or "
            "ask for the watched processes. In a container it takes CAP_PERFMON."
        )
    return (
        f"The agent's user may not count these processes {setting}. Start the agent as their user, "
        "with 2 or lower there. In a container it takes CAP_PERFMON."
    )
