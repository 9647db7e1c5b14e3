"""What else runs on an injector host: how much of its CPU time is not the injectors', and which
programs take most of it. Names of programs are short: arguments may have secrets."""

import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from workers.agent import CPU_MODES, Process, cpu_seconds, process_of, text_of
from workers.injector.machine import CpuQuota, ProcFiles

_BUSY = ("user", "nice", "system", "irq", "softirq")
_MOST_PROGRAMS, _WORTH_NAMING_CORES = 3, 0.05
_LONGEST_NAME = 40
ITSELF, DEMO_TARGET = "benchsite's servers", "benchsite's demo target"
# Their first argument that is no option is a script. Of others it may be anything.
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_OTHER_INTERPRETER = re.compile(r"(node|nodejs|ruby|perl|php|bash|dash|sh|zsh)[\d.]*")
# Options of Python that take no value.
_SWITCHES = re.compile(r"-[uBEIOsSqb]+")
_PLAIN = re.compile(r"[\w.+@-]+")


class _Reading(NamedTuple):
    cpu_s: dict[str, float]  # of all cores, by mode
    n_cores: int
    processes: dict[tuple[str, int], Process]  # by number and start
    parents: dict[str, str]
    injectors_s: float  # of those that have ended as well
    throttled_ns: int


class HostWatch:
    """What the host did between two calls of `take`. Injectors are what the children of the worker
    `own` started; with them belongs what these used before they ended."""

    def __init__(self, own: int | None = None, proc: str = "/proc"):
        self._own, self._proc = str(own or os.getpid()), proc
        self._files = ProcFiles()
        self._quota = CpuQuota(self._files)
        self._before = self._read()

    def take(self) -> dict[str, Any] | None:
        """None where /proc does not tell."""
        before, now = self._before, self._read()
        self._before = now
        spent_s = {mode: now.cpu_s[mode] - before.cpu_s[mode] for mode in CPU_MODES}
        all_s, n_cores = sum(spent_s.values()), now.n_cores
        if all_s <= 0 or not n_cores:
            return None
        elapsed_s = all_s / n_cores
        injectors_s = max(0.0, now.injectors_s - before.injectors_s)
        others_s = sum(spent_s[name] for name in _BUSY) - injectors_s
        throttled_s = (now.throttled_ns - before.throttled_ns) / 1e9
        load = text_of(f"{self._proc}/loadavg").split()
        return {
            "cores": n_cores,
            "load_1min": float(load[0]) if load else None,
            "others_share": _share(others_s, all_s),
            "steal_share": _share(spent_s["steal"], all_s),
            "throttled_share": _share(throttled_s, elapsed_s),
            "programs": [
                {"name": name, "cores": round(cpu_s / elapsed_s, 2)}
                for name, cpu_s in self._programs(before, now).most_common(_MOST_PROGRAMS)
                if cpu_s / elapsed_s > _WORTH_NAMING_CORES
            ],
        }

    def _programs(self, before: _Reading, now: _Reading) -> Counter[str]:
        """CPU seconds of all that are no injectors, with those of what they started and has ended.
        Processes of one name count together."""
        # The worker, and where `make run` started it, what has started all of benchsite.
        family, starter = [self._own], now.parents.get(self._own, "")
        if text_of(f"{self._proc}/{starter}/cmdline").split("\0")[1:3] == ["-m", "local"]:
            family.append(starter)
        ended_s: Counter[str] = Counter()  # before, by the ancestor that has it now
        for key in before.processes.keys() - now.processes.keys():
            process = before.processes[key]
            heir = str(process.parent)
            may_be_adopted = heir not in now.parents
            while heir not in now.parents and heir in before.parents:
                heir = before.parents[heir]
            ended_s[heir] += process.cpu_s + process.children_s
            if may_be_adopted:
                # Its parent ended too, perhaps first; then an older ancestor has it, mostly init.
                for adopter in now.parents:
                    if _generation(heir, now.parents, adopter) >= 1:
                        ended_s[adopter] += process.cpu_s + process.children_s
        spent_s: Counter[str] = Counter()
        for (pid, start_ticks), process in now.processes.items():
            earlier = before.processes.get((pid, start_ticks))
            cpu_s = process.cpu_s - (earlier.cpu_s if earlier else 0.0)
            generation = _generation(pid, now.parents, self._own)
            if generation < 0:
                children_s = process.children_s - (earlier.children_s if earlier else 0.0)
                cpu_s += max(0.0, children_s - ended_s[pid])
            if cpu_s <= 0 or generation >= 2:
                continue
            arguments = text_of(f"{self._proc}/{pid}/cmdline").split("\0")
            if any(_generation(pid, now.parents, each) >= 0 for each in family):
                name = DEMO_TARGET if "workers.echo" in arguments[1:3] else ITSELF
            else:
                name = short_name(arguments, text_of(f"{self._proc}/{pid}/comm").strip())
            spent_s[name] += cpu_s
        return spent_s

    def _read(self) -> _Reading:
        try:
            pids = [name for name in os.listdir(self._proc) if name.isdigit()]
        except OSError:
            pids = []
        rows = ((pid, process_of(text_of(f"{self._proc}/{pid}/stat"))) for pid in pids)
        processes = {(pid, process.start_ticks): process for pid, process in rows if process}
        parents = {pid: str(process.parent) for (pid, _), process in processes.items()}
        injectors_s = 0.0
        for (pid, _), process in processes.items():
            generation = _generation(pid, parents, self._own)
            injectors_s += process.children_s if generation >= 1 else 0.0
            injectors_s += process.cpu_s if generation >= 2 else 0.0
        cores = cpu_seconds(text_of(f"{self._proc}/stat")).values()
        cpu_s = {mode: sum(core.get(mode, 0.0) for core in cores) for mode in CPU_MODES}
        throttled_ns = self._quota.throttled_ns()
        return _Reading(cpu_s, len(cores), processes, parents, injectors_s, throttled_ns)

    def close(self) -> None:
        self._files.close()


def short_name(arguments: list[str], comm: str) -> str:
    """python3 report.py: the executable, and of an interpreter its script; no other argument.
    `comm`: what the kernel calls it, where it has written something else over its arguments."""
    program = PurePath(arguments[0]).name
    is_own = program and _PLAIN.fullmatch(arguments[0].replace("/", ""))
    words = [program, _script(program, arguments[1:])] if is_own else [comm]
    text = " ".join(filter(None, words))[:_LONGEST_NAME]
    return "".join(char if char.isprintable() else "?" for char in text) or "a program"


def _script(program: str, arguments: list[str]) -> str:
    is_python = _PYTHON.fullmatch(program) is not None
    if not is_python and not _OTHER_INTERPRETER.fullmatch(program):
        return ""
    while is_python and arguments and _SWITCHES.fullmatch(arguments[0]):
        arguments = arguments[1:]
    if is_python and arguments[:1] == ["-m"]:
        script = "".join(arguments[1:2])
    else:
        script = PurePath("".join(arguments[:1])).name
    return script if _PLAIN.fullmatch(script) and not script.startswith("-") else ""


def _generation(pid: str, parents: Mapping[str, str], ancestor: str) -> int:
    """How many generations after the ancestor, which is 0; -1: no descendant."""
    for generation in range(len(parents)):  # what was read one after another may be a circle
        if pid == ancestor:
            return generation
        if pid not in parents:
            break
        pid = parents[pid]
    return -1


def _share(part: float, whole: float) -> float:
    return round(min(1.0, max(0.0, part / whole)), 3)
