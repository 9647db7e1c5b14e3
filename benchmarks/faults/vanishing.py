"""What a host that vanishes leaves to the others, in seconds."""

import os
import signal
import sys
import time
from collections.abc import Callable

from benchmarks.faults import network, runs
from benchmarks.faults.network import HOSTS, at, control_address, set_link
from benchmarks.faults.world import WORDS, World, send
from local.children import Program, spawn
from local.console import LocalError
from workers.database import use_own_connection
from workers.dispatching import LEADER_LOCK

WAIT_S = 90.0
# Longer than a vanished host is waited for.
LONG_S, SHORT_S = 60, 2
POLL_S = 0.05
_ACTIVE = """
SELECT host(activity.client_addr)
FROM pg_locks JOIN pg_stat_activity activity USING (pid)
WHERE locktype = 'advisory' AND granted AND classid = 0 AND objid = %s
"""


class Scene:
    """The lab's installation with a dispatcher on each injector host beside its own."""

    def __init__(self, world: World):
        self._world = world
        use_own_connection()
        self._database = world.connect()
        self._until(lambda: not world.missing() and not self._unheard(), "the installation")
        for host in HOSTS:
            spawn(_dispatcher(host), network.FOLDER / "log" / f"dispatcher-{host}.log")

    def vanish_dispatcher(self) -> float:
        """Seconds until another dispatcher is active, from when the active one's host vanished."""
        self._lead_from_a_host()
        host = self._active()
        set_link("control", host, is_up=False)
        try:
            return self._seconds_until(lambda: self._active() != host, "another dispatcher")
        finally:
            set_link("control", host, is_up=True)
            self._until(lambda: not self._unheard(), host)

    def vanish_host(self, host: str, number: int) -> tuple[float, float, float]:
        """Seconds until its run has ended, until the next one has begun on another host, and from
        its return until it is heard again."""
        run_id = self._run_on(host, number)
        self._until(lambda: not self._unheard(), "both hosts")
        for link in ("control", "load"):
            set_link(link, host, is_up=False)
        try:
            ended_s = self._seconds_until(lambda: not runs.unended([run_id]), "the run's end")
            other_id = runs.start_one(f"/after/{number}", SHORT_S)
            begun_s = self._seconds_until(lambda: runs.hosts_of(other_id), "the next run")
            if host in runs.hosts_of(other_id):
                raise LocalError(f"A run was given to {host}, which had vanished.")
        finally:
            for link in ("control", "load"):
                set_link(link, host, is_up=True)
        heard_s = self._seconds_until(lambda: not self._unheard(), host)
        return ended_s, begun_s, heard_s

    def join_host(self, host: str) -> float:
        """Seconds from the death of all processes of a host until its next worker is heard."""
        send(self._world.host_tree(host), signal.SIGKILL)
        self._until(lambda: self._unheard() == host, f"{host} to be missed")
        return self._seconds_until(lambda: not self._unheard(), host)

    # --- what is asked ---------------------------------------------------------------------------
    def _lead_from_a_host(self) -> None:
        """The lab's own dispatcher is killed until one of a host is active."""
        while self._active() not in HOSTS:
            for pid in self._world.supervised("dispatcher"):
                os.kill(pid, 9)
            self._until(lambda: self._active() is not None, "a dispatcher")

    def _active(self) -> str | None:
        """The host of the active dispatcher; "" for the lab's own, None for none."""
        row = self._database.execute(_ACTIVE, [LEADER_LOCK]).fetchone()
        addresses = {f"10.78.{number}.2": host for number, host in enumerate(HOSTS, 1)}
        return None if row is None else addresses.get(row[0] or "", "")

    def _run_on(self, host: str, number: int) -> int:
        """A run that this host measures: the other one does not answer while it is claimed."""
        other = next(each for each in HOSTS if each != host)
        set_link("control", other, is_up=False)
        try:
            run_id = runs.start_one(f"/vanish/{number}", LONG_S)
            self._until(lambda: runs.is_sending(run_id), f"a run on {host}")
        finally:
            set_link("control", other, is_up=True)
        return run_id

    def _unheard(self) -> str:
        return runs.unheard({name: self._world.supervised(name) for name in WORDS})

    # --- waiting ---------------------------------------------------------------------------------
    def _seconds_until(self, is_so: Callable[[], object], what: str) -> float:
        began = time.monotonic()
        self._until(is_so, what)
        return time.monotonic() - began

    def _until(self, is_so: Callable[[], object], what: str) -> None:
        until = time.monotonic() + WAIT_S
        while not is_so():
            if time.monotonic() > until:
                raise LocalError(f"Waited for {what} for {WAIT_S:g} s.")
            self._world.reap()
            time.sleep(POLL_S)


def _dispatcher(host: str) -> Program:
    env = {
        **os.environ,
        "DATABASE_URL": f"postgres://benchsite@{control_address(host)}:5432/benchsite",
        "REDIS_URL": f"redis://{control_address(host)}:6379/0",
    }
    return Program("dispatcher", at(host, (sys.executable, "-m", "workers.dispatcher")), env)
