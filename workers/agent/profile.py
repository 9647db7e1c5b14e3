"""`perf record` for the time of a run, while the site asks for it, and what it found: the functions
in which the CPU time went.

It samples by cpu-clock, which needs no counters of the hardware. What it recorded is read once the
load is over, in a thread of its own.
"""

import os
import re
import signal
import subprocess
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workers.agent.machine import Processes
from workers.agent.perf import (
    MACHINE,
    NO_WATCH,
    NOT_INSTALLED,
    NOT_THERE,
    ORDER_S,
    PROCESSES,
    dying_with,
    why_not,
)
from workers.agent.site import boot_ns

PER_S = 199  # no divisor of what a server does in a regular beat
_MOST_MB = 64
_END_S, _READ_S = 10, 60
_NS = 1_000_000_000


class PerfRecord:
    """Records what the site orders. `tell` takes each profile, or why there is none."""

    def __init__(
        self,
        processes: Processes,
        tell: Callable[[dict[str, Any]], None],
        program: str = "perf",
    ) -> None:
        self._processes, self._tell, self._program = processes, tell, program
        # Whom to record, the beginning of the measurement as the site names it and by
        # CLOCK_BOOTTIME, and until when the order holds.
        self._order: tuple[str, float, int, int] | None = None
        self._done: float | None = None  # the order that is carried out, or cannot be
        self._recording: _Recording | None = None
        self._readers: deque[threading.Thread] = deque(maxlen=4)

    def obey(self, answer: Mapping[str, Any]) -> None:
        """What the site answered to a report; may come from another thread."""
        asked = answer.get("profile")
        if not isinstance(asked, dict) or asked.get("of") not in (PROCESSES, MACHINE):
            self._order = None
            return
        begins_s, now_ns = float(asked["begins_s"]), boot_ns()
        begins_ns = now_ns + round((begins_s - float(answer["now"])) * _NS)
        self._order = asked["of"], begins_s, begins_ns, now_ns + ORDER_S * _NS

    def keep(self, now_ns: int) -> None:
        """Begin or end. To be called now and then by the main thread, with which perf dies."""
        order = self._order
        is_asked = order is not None and now_ns < order[3]
        if self._recording and not (is_asked and order[1] == self._recording.begins_s):
            self._finish()
        if is_asked and order[1] != self._done and now_ns >= order[2]:
            self._done = order[1]
            self._begin(order[0], order[1], now_ns)

    def end(self) -> None:
        """What is under way is not read any more; what is being read is waited for."""
        if self._recording:
            self._recording.kill()
        self._recording = None
        for reader in self._readers:
            reader.join(_END_S)

    def _begin(self, of: str, begins_s: float, now_ns: int) -> None:
        pids = self._processes.pids if of == PROCESSES else frozenset()
        about = {"of": of, "began_ns": now_ns, "ended_ns": now_ns}
        if of == PROCESSES and not pids:
            self._tell(about | {"fault": NOT_THERE if self._processes.names else NO_WATCH})
            return
        whom = ["-p", ",".join(sorted(pids, key=int))] if of == PROCESSES else ["-a"]
        try:
            self._recording = _Recording(self._program, whom, begins_s, about)
        except OSError as error:
            is_absent = isinstance(error, FileNotFoundError)
            fault = NOT_INSTALLED if is_absent else f"perf does not start: {error.strerror}."
            self._tell(about | {"fault": fault})

    def _finish(self) -> None:
        recording, self._recording = self._recording, None
        recording.stop()
        reader = threading.Thread(target=lambda: self._tell(recording.read()), daemon=True)
        reader.start()
        self._readers.append(reader)


class _Recording:
    """A running `perf record`, and its file."""

    def __init__(self, program: str, whom: list[str], begins_s: float, about: dict[str, Any]):
        self.begins_s, self._program, self._about = begins_s, program, about
        self._folder = TemporaryDirectory(prefix="benchsite-perf-")
        self._file = str(Path(self._folder.name) / "perf.data")
        how = ["-q", "-e", "cpu-clock", "-F", str(PER_S), f"--max-size={_MOST_MB}M"]
        try:
            self._process = subprocess.Popen(
                [program, "record", *how, "-o", self._file, *whom],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env={**os.environ, "LC_ALL": "C"},
                start_new_session=True,
                preexec_fn=dying_with(os.getpid()),
            )
        except OSError:
            self._folder.cleanup()
            raise

    def stop(self) -> None:
        self._about["ended_ns"] = boot_ns()
        self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def read(self) -> dict[str, Any]:
        """The profile, once it has been stopped."""
        try:
            _, said = self._process.communicate(timeout=_END_S)
            columns = ["-F", "sample,comm,dso,sym", "-t", "\t"]
            shown = subprocess.run(
                [self._program, "report", "-i", self._file, "--stdio", "--no-children", *columns],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_READ_S,
                env={**os.environ, "LC_ALL": "C"},
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return self._about | {"fault": f"perf did not end, or its file was not read: {error}."}
        finally:
            self._process.kill()
            self._folder.cleanup()
        n_samples, functions = functions_of(shown.stdout)
        if n_samples:
            return self._about | {"samples": n_samples, "functions": functions}
        lines = [line.strip() for line in (said or shown.stderr).splitlines() if line.strip()]
        return self._about | {"fault": why_not(lines, self._about["of"], "record")}


MOST_FUNCTIONS = 30
_MOST_CHARACTERS = 200
# [.] user space, [k] the kernel, and others of guests and hypervisors.
_LEVEL = re.compile(r"^\[[.kguH]\]\s+")


def functions_of(text: str) -> tuple[int, list[list[int | str]]]:
    """(all samples, [[samples, command, object, symbol], …]), those with most first.

    From `perf report --stdio -F sample,comm,dso,sym -t TAB`. Where perf knows no name, the symbol
    is an address: all addresses of an object are one line, [unknown].
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 4 or not cells[0].isdecimal():
            continue
        command, place, symbol = (cell[:_MOST_CHARACTERS] for cell in cells[1:])
        symbol = _LEVEL.sub("", symbol)
        if symbol.startswith("0x"):
            symbol = "[unknown]"
        counts[command, place, symbol] += int(cells[0])
    functions: list[list[int | str]] = [
        [count, *names] for names, count in counts.most_common(MOST_FUNCTIONS)
    ]
    return counts.total(), functions
