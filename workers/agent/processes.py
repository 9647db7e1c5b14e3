"""The watched processes: which they are, and what they use."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from workers.agent.proc import Figures, known, listening_sockets, process_of, text_of

_LOOK_EVERY = 5  # takes, for processes that came or went


class Processes:
    """The watched processes, by what somebody named: nginx, :8080 (a port), pid:1234, or several of
    these with commas between. A process that fits two names counts with the first."""

    def __init__(self, watched: Sequence[str], proc: Path = Path("/proc")):
        self._watched, self._proc = watched, proc
        self._pids: dict[str, set[str]] = {}
        self._open_files: dict[str, int | None] = {}
        self._cpu_s: dict[tuple[str, int], float] = {}
        self._takes = 0

    def take(self) -> dict[str, Figures]:
        """What each used since the last call; of one that came since then, nothing yet."""
        if self._takes % _LOOK_EVERY == 0:
            self._look()
        self._takes += 1
        before, self._cpu_s = self._cpu_s, {}
        return {name: self._figures(name, before) for name in self._watched}

    def _figures(self, name: str, before: Mapping[tuple[str, int], float]) -> Figures:
        total: Figures = {"cpu_s": 0.0, "processes": 0, "threads": 0, "memory_bytes": 0}
        for pid in self._pids[name]:
            if process := process_of(text_of(self._proc / pid / "stat")):
                key = pid, process.started
                self._cpu_s[key] = process.cpu_s
                total["cpu_s"] += process.cpu_s - before.get(key, process.cpu_s)
                total["processes"] += 1
                total["threads"] += process.threads
                total["memory_bytes"] += process.memory_bytes
        total["cpu_s"] = round(total["cpu_s"], 4)
        return total | known({"open_files": self._open_files[name]})

    def _look(self) -> None:
        left = {entry.name for entry in self._proc.iterdir() if entry.name.isdigit()}
        left.discard(str(os.getpid()))
        for name in self._watched:
            found = {pid for each in name.split(",") for pid in self._matching(each, left)}
            counts = [_count_files(self._proc / pid / "fd") for pid in found]
            self._pids[name] = found
            self._open_files[name] = sum(counts) if None not in counts else None
            left -= found

    def _matching(self, name: str, pids: Iterable[str]) -> set[str]:
        if name.startswith("pid:"):
            return {name.removeprefix("pid:")}.intersection(pids)
        if name.startswith(":"):
            files = [text_of(self._proc / "net" / each) for each in ("tcp", "tcp6")]
            inodes = {inode for file in files for inode in listening_sockets(file, int(name[1:]))}
            links = {f"socket:[{inode}]" for inode in inodes}
            return {pid for pid in pids if links and links & _links(self._proc / pid / "fd")}
        return {pid for pid in pids if text_of(self._proc / pid / "comm").strip() == name}


def _count_files(folder: Path) -> int | None:
    try:
        return folder.stat().st_size or len(os.listdir(folder))
    except OSError:
        return None


def _links(folder: Path) -> set[str]:
    try:
        return {os.readlink(folder / name) for name in os.listdir(folder)}
    except OSError:
        return set()
