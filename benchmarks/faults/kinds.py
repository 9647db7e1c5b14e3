"""What can be broken, how it heals, and which sentences about it are true."""

import contextlib
import errno
import os
import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import psycopg

from benchmarks.faults import network
from benchmarks.faults.world import World, send
from local.base import LocalError
from tests.process_tree import children, command_of

Heal = Callable[[], None]


class RunPhase(StrEnum):
    """Where in a run's life a fault strikes."""

    BEFORE = "before start"
    FIRST = "first request"
    WARM_UP = "warm-up"
    MEASURED = "measured"
    STORING = "storing"
    ENDING = "ending"


class Reach(StrEnum):
    """Whose reasons a fault may appear in."""

    RUN = "one run"
    HOST = "the runs of a host"
    ALL = "all runs"


@dataclass(frozen=True, slots=True)
class Victim:
    """A run, and who sends its load: the host, and the processes if there are any yet."""

    run_id: int
    host: str
    launchers: tuple[int, ...] = ()

    def injectors(self) -> list[int]:
        found = [pid for launcher in self.launchers for pid in children(launcher)]
        return [pid for pid in found if "workers.injector" in command_of(pid)]


# Returns how to heal it, or None where there was nothing to break.
Plant = Callable[[World, Victim], Heal | None]


@dataclass(frozen=True, slots=True)
class FaultKind:
    """`causes`: sentences that are true of it, as patterns; none where no run may notice. `part`:
    of faults with the same one a round has at most one. `ends_s`: where it ends the load of a run,
    no request comes later. `lasts`: until it is healed, else it heals by itself."""

    name: str
    plant: Plant
    causes: tuple[str, ...] = ()
    reach: Reach = Reach.ALL
    part: str = ""
    phases: tuple[RunPhase, ...] = tuple(RunPhase)
    ends_s: float | None = None
    may_lack_arrivals: bool = False
    lasts: bool = True


# --- sentences -----------------------------------------------------------------------------------
INJECTOR_KILLED = r"The injector was killed by SIGKILL\.( Its last output: .*)?"
LAUNCHER_KILLED = r"The launcher on the injector host was killed during the run\."
HOST_SILENT = (
    r"The injector host stopped answering (before the start|while it was sending|"
    r"before all that it measured was stored)\."
)
FINISHED_UNHEARD = (
    r"The injector (finished|stopped when it was told to), and all that it measured is stored, but "
    r"its lease expired before its host could report it\."
)
LAUNCHER_FROZEN = r"The launcher on the injector host was frozen for \d+ s\."
DEAD_MAN = r"The injector heard nothing from its launcher for too long and stopped by itself\."
NO_CONTACT = r"The injector host had no contact with PostgreSQL for [\d.]+ s and stopped sending\."
NO_ANSWER = r"PostgreSQL did not answer before the start: .*"
NO_SPACE = (
    r"The injector could not be started: (The injector host has only \d+ MiB free in .*"
    r"Free at least \d+ MiB\.|.*No space left on device.*)"
)
READ_ONLY = (
    r"The injector could not be started: .*(Read-only file system|Operation not permitted).*"
)
NO_FILES = (
    r"(The injector could not be started|The injector host had no contact with PostgreSQL for "
    r"[\d.]+ s and stopped sending): .*(Too many open files|has all \d+ files open).*"
)
CLOCK_SET = (
    r"The clock of the database's host was set during the run\. What was measured until then is "
    r"kept\. Keep that clock in sync by NTP, then measure again\."
)
STOPPED = r"(Stopped by a user; what was measured until then is kept|Stopped before it started)\."


# --- what is done --------------------------------------------------------------------------------
def _nothing() -> None:
    """It heals by itself."""


def _killed(find: Callable[[World, Victim], list[int]]) -> Plant:
    def plant(world: World, victim: Victim) -> Heal | None:
        pids = find(world, victim)
        send(pids, signal.SIGKILL)
        return _nothing if pids else None

    return plant


def _frozen(find: Callable[[World, Victim], list[int]]) -> Plant:
    def plant(world: World, victim: Victim) -> Heal | None:
        pids = find(world, victim)
        send(pids, signal.SIGSTOP)
        return partial(send, pids, signal.SIGCONT) if pids else None

    return plant


def _away(name: str) -> Plant:
    def plant(world: World, _: Victim) -> Heal:
        world.kill(name)
        return partial(world.start_again, name)

    return plant


def _cut(link: str) -> Plant:
    def plant(_: World, victim: Victim) -> Heal:
        network.set_link(link, victim.host, is_up=False)
        return partial(network.set_link, link, victim.host, is_up=True)

    return plant


def _injectors(_: World, victim: Victim) -> list[int]:
    return victim.injectors()


def _launchers(_: World, victim: Victim) -> list[int]:
    return list(victim.launchers)


def _whole_host(world: World, victim: Victim) -> list[int]:
    return world.host_tree(victim.host)


def _worker(world: World, victim: Victim) -> list[int]:
    return world.supervised(victim.host)


def _program(name: str) -> Callable[[World, Victim], list[int]]:
    return lambda world, _: world.supervised(name)


def _part(name: str) -> Callable[[World, Victim], list[int]]:
    return lambda world, _: world.part(name)


def _lock_seconds(world: World, _: Victim) -> Heal | None:
    """As CREATE INDEX does: nobody can store a second."""
    try:
        connection = world.connect()
        connection.autocommit = False
        connection.execute("SET lock_timeout = '3s'")
        connection.execute("LOCK TABLE campaigns_shardsecond IN SHARE MODE")
    except psycopg.OperationalError:
        return None
    return connection.close


def _set_clock(step_s: float) -> Plant:
    def plant(world: World, _: Victim) -> Heal | None:
        try:
            with world.connect() as connection:
                connection.execute("UPDATE lab.clock SET ahead_s = ahead_s + %s", [step_s])
        except psycopg.OperationalError:
            return None
        return _nothing

    return plant


def _fill_disk(world: World, victim: Victim) -> Heal:
    ballast = world.spool(victim.host) / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(2**20))
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EROFS):
                raise
    return partial(ballast.unlink, missing_ok=True)


def _forbid_writing(world: World, victim: Victim) -> Heal:
    """While a file is open for writing, Linux makes no disk read-only. Then each file and the
    folder are made immutable, which on ext4 refuses the same: writes, new files and deletions."""
    folder = world.spool(victim.host)
    try:
        network.run(f"mount -o remount,ro {folder}")
    except LocalError:
        network.run(f"chattr -R +i {folder}")
        return partial(network.run, f"chattr -R -i {folder}")
    return partial(network.run, f"mount -o remount,rw {folder}")


def _take_files(world: World, victim: Victim) -> Heal | None:
    """The worker of a host and its launchers may open no file any more."""
    pids = [pid for pid in world.host_tree(victim.host) if "celery" in command_of(pid)]
    before: dict[int, tuple[int, int]] = {}
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        for pid in pids:
            before[pid] = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            n_open = len(os.listdir(f"/proc/{pid}/fd"))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (n_open, before[pid][1]))
    return partial(_give_files, before) if before else None


def _give_files(before: dict[int, tuple[int, int]]) -> None:
    for pid, limit in before.items():
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)


def _stop(world: World, victim: Victim) -> Heal | None:
    return _nothing if world.stop_run(victim.run_id) else None


_BEGUN = tuple(phase for phase in RunPhase if phase is not RunPhase.FIRST)
_SENT = (RunPhase.BEFORE, RunPhase.WARM_UP, RunPhase.MEASURED, RunPhase.STORING)
_NO_HOST = (LAUNCHER_KILLED, HOST_SILENT, FINISHED_UNHEARD)
_STILL = (LAUNCHER_FROZEN, HOST_SILENT, DEAD_MAN, FINISHED_UNHEARD)
_NO_DATABASE = (NO_CONTACT, NO_ANSWER, FINISHED_UNHEARD)
_DEAD_MAN_S = 4.0 + 1.5  # the switch, and until the launcher looks at it
_run = partial(FaultKind, reach=Reach.RUN, part="load", phases=_SENT)
_host = partial(FaultKind, reach=Reach.HOST, phases=_BEGUN)
_all = partial(FaultKind, reach=Reach.ALL)
_ALL_KINDS = (
    _run("injector killed", _killed(_injectors), (INJECTOR_KILLED,), ends_s=2, lasts=False),
    _run("injector frozen", _frozen(_injectors), (DEAD_MAN,)),
    _run("launcher killed", _killed(_launchers), _NO_HOST, ends_s=2, lasts=False),
    _run("launcher frozen", _frozen(_launchers), _STILL, ends_s=_DEAD_MAN_S),
    _run("a user stops the run", _stop, (STOPPED,), part="stop", phases=tuple(RunPhase), ends_s=2,
         lasts=False),
    _host("worker killed", _killed(_worker), _NO_HOST, part="host", ends_s=2, lasts=False),
    _host("host frozen", _frozen(_whole_host), _STILL, part="host"),
    _host("host's link to the site cut", _cut("control"), (*_NO_DATABASE, HOST_SILENT),
          part="control", ends_s=_DEAD_MAN_S),
    _host("host's link to the target cut", _cut("load"), part="target", may_lack_arrivals=True),
    _host("host's open files used up", _take_files, (NO_FILES,), part="files"),
    _host("spool's disk full", _fill_disk, (NO_SPACE,), part="disk"),
    _host("spool's disk read-only", _forbid_writing, (READ_ONLY,), part="disk"),
    _all("dispatcher killed", _killed(_program("dispatcher")), part="dispatcher", lasts=False),
    _all("dispatcher frozen", _frozen(_program("dispatcher")), part="dispatcher"),
    _all("web killed", _killed(_program("web")), part="web", lasts=False),
    _all("general worker killed", _killed(_program("general")), part="general", lasts=False),
    _all("supervisor killed", _away("supervisor"), _NO_HOST, part="supervisor", ends_s=2),
    _all("supervisor frozen", _frozen(_part("supervisor")), part="supervisor"),
    _all("Redis killed", _away("redis"), part="redis"),
    _all("Redis frozen", _frozen(_part("redis")), part="redis"),
    _all("PostgreSQL killed", _away("postgres"), _NO_DATABASE, part="postgres",
         ends_s=_DEAD_MAN_S),
    _all("PostgreSQL frozen", _frozen(_part("postgres")), _NO_DATABASE, part="postgres",
         ends_s=_DEAD_MAN_S),
    _all("table of seconds locked", _lock_seconds, part="lock"),
    _all("database's clock set 60 s ahead", _set_clock(60), (CLOCK_SET,), part="clock",
         ends_s=4, lasts=False),
    _all("database's clock set 60 s back", _set_clock(-60), (CLOCK_SET,), part="clock",
         ends_s=4, lasts=False),
    _all("target killed", _away("target"), part="target", may_lack_arrivals=True),
    _all("target frozen", _frozen(_part("target")), part="target", may_lack_arrivals=True),
)  # fmt: skip
KINDS = {kind.name: kind for kind in _ALL_KINDS}
