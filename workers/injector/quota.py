"""The CPU quota of this process (cgroup v2 or v1), and how long it was kept from running by it."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from workers.injector.machine import ProcFiles

_NS_OF_US = 1_000


@dataclass(frozen=True, slots=True)
class _Group:
    """A control group: its folder, and whether it is one of version 1."""

    folder: str
    is_old: bool


def read_cores() -> float | None:
    """How many cores' worth of time this process may use; None if there is no quota."""
    with ProcFiles() as files:
        return CpuQuota(files).cores


class CpuQuota:
    """Of the process's control group and those around it; all of them count."""

    def __init__(self, files: ProcFiles, proc: str = "/proc/self"):
        self._files = files
        self._groups = _groups(files.lines(f"{proc}/cgroup"), files.lines(f"{proc}/mountinfo"))

    @property
    def cores(self) -> float | None:
        """How many cores' worth of time the process may use; None if there is no quota."""
        quotas = [self._cores_of(group) for group in self._groups]
        return min((cores for cores in quotas if cores is not None), default=None)

    def throttled_ns(self) -> int:
        """How long it was over its quota so far; of several groups, the one that waited most."""
        return max((self._throttled_ns_of(group) for group in self._groups), default=0)

    def _cores_of(self, group: _Group) -> float | None:
        if group.is_old:
            files = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            words = [self._files.first_line(f"{group.folder}/{name}") for name in files]
        else:
            words = self._files.first_line(f"{group.folder}/cpu.max").split()
        # "max" and -1 mean: no quota.
        if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
            return None
        return int(words[0]) / int(words[1])

    def _throttled_ns_of(self, group: _Group) -> int:
        stat = dict(
            pair
            for line in self._files.lines(f"{group.folder}/cpu.stat")
            if len(pair := line.split()) == 2
        )
        if group.is_old:
            return int(stat.get("throttled_time", 0))
        return int(stat.get("throttled_usec", 0)) * _NS_OF_US


def _groups(cgroup: list[str], mountinfo: list[str]) -> list[_Group]:
    """The process's group in each hierarchy that can limit CPU time, and all groups around it."""
    mounts = [mount for line in mountinfo if (mount := _mount(line))]
    found = []
    for line in cgroup:
        number, controllers, path = line.split(":", 2)
        is_old = number != "0"
        if is_old and "cpu" not in controllers.split(","):
            continue
        for is_old_mount, root, folder in mounts:
            if is_old_mount == is_old:
                found += [_Group(each, is_old) for each in _folders(path, root, folder)]
    return found


def _mount(line: str) -> tuple[bool, str, str] | None:
    """(is version 1, the group that is mounted, where) of a line of mountinfo."""
    before, _, after = line.partition(" - ")
    words, kind = before.split(), after.split()
    if len(words) < 5 or len(kind) < 3 or kind[0] not in {"cgroup", "cgroup2"}:
        return None
    is_old = kind[0] == "cgroup"
    if is_old and "cpu" not in kind[2].split(","):
        return None
    return is_old, words[3], words[4]


def _folders(path: str, root: str, folder: str) -> list[str]:
    """The folders of a group and of those around it, as far as they are mounted.

    In a container the mounted group is often the process's own, and its path one of the host's.
    """
    group = PurePosixPath(path)
    inside = group.relative_to(root) if group.is_relative_to(root) else PurePosixPath()
    own = Path(folder) / inside
    return [str(each) for each in (own, *own.parents) if each.is_relative_to(folder)]
