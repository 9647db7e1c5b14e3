"""The private installation: starts its parts, finds their processes, knows when all work again."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import django
import psycopg

from benchmarks.faults import network
from local.base import LocalError, private_folder, tail
from local.servers import prepare_postgres, prepare_redis
from local.site import manage, plain_environment
from local.supervisor import Program, reap_orphans, spawn
from tests.process_tree import children, command_of, descendants

TARGET_PORT = 8080
# Six seconds instead of thirty until a lease is over: a fault is waited for, a thousand times.
# So is a PostgreSQL that does not answer.
LEASES = {
    "BENCHSITE_HEARTBEAT_S": "1",
    "BENCHSITE_DEAD_MAN_S": "4",
    "BENCHSITE_LEASE_S": "6",
    "BENCHSITE_DB_ANSWER_S": "6",
}
NO_CAPS = {f"BENCHSITE_CAP_{name}": "0" for name in ("RUNS", "LOAD_HOURS", "PLANS", "CAMPAIGNS")}
READY_S = 60.0
# Of a spool's disk. A run needs 64 MiB free; without a journal this much leaves a few MiB more.
DISK_SIZE = "80M"
# By what a program of the supervisor is known from the others.
WORDS = {
    "web": "gunicorn",
    "dispatcher": "workers.dispatcher",
    "general": "general@",
    **{host: f"{host}@" for host in network.HOSTS},
}
# The database's clock, as every statement of the product asks for it, may be set. The schema is the
# first that names are looked up in, so it also gets the product's tables.
CLOCK = """
CREATE SCHEMA lab;
CREATE TABLE lab.clock (ahead_s float8 NOT NULL);
INSERT INTO lab.clock VALUES (0);
CREATE FUNCTION lab.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
$$ SELECT pg_catalog.clock_timestamp() + make_interval(secs => (SELECT ahead_s FROM lab.clock)) $$;
CREATE FUNCTION lab.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS
$$ SELECT pg_catalog.statement_timestamp()
   + make_interval(secs => (SELECT ahead_s FROM lab.clock)) $$;
CREATE FUNCTION lab.now() RETURNS timestamptz LANGUAGE sql STABLE AS
$$ SELECT pg_catalog.now() + make_interval(secs => (SELECT ahead_s FROM lab.clock)) $$;
ALTER ROLE benchsite SET search_path = lab, pg_catalog, public;
"""


class World:
    """PostgreSQL, Redis, the target and the supervisor with all that it starts."""

    def __init__(self, folder: Path):
        self.arrivals = folder / "arrivals.jsonl"
        self._folder = folder
        self._logs = private_folder(folder / "log", 0o711)
        self._programs: dict[str, Program] = {}
        self._running: dict[str, subprocess.Popen] = {}
        # A child dies with the thread that started it: faults are healed in threads that end.
        self._starter = ThreadPoolExecutor(1)
        # As a user does it; who has Django sets it.
        self.stop_run: Callable[[int], bool] = bool

    def start(self) -> None:
        """Also sets the environment of this process, for Django."""
        for host in network.HOSTS:
            _make_disk(self.spool(host))
        self._prepare_servers()
        os.environ.update(self._environment())
        self._manage("migrate", "--no-input", "-v", "0")
        self._manage("collectstatic", "--no-input", "-v", "0")
        env = plain_environment()
        python = (sys.executable, "-m")
        echo = (*python, "workers.echo", "--host", "0.0.0.0", "--http-port", str(TARGET_PORT))  # noqa: S104  its own namespace
        echo = (*echo, "--log", str(self.arrivals))
        self._programs["target"] = Program("target", network.at_target(echo), env)
        supervisor = (*python, "benchmarks.faults.supervised")
        self._programs["supervisor"] = Program("supervisor", supervisor, env)
        for name in ("target", "supervisor"):
            self.start_again(name)

    def spool(self, host: str) -> Path:
        return self._folder / f"spool-{host}"

    def connect(self) -> psycopg.Connection:
        """A connection of the lab's own."""
        return psycopg.connect(self._database.url, autocommit=True, connect_timeout=3)

    # --- processes -------------------------------------------------------------------------------
    def start_again(self, name: str) -> None:
        """A server, the target or the supervisor; returns at once for the latter two."""
        if self._running.get(name) and self._running[name].poll() is None:
            return
        log = self._logs / f"{name}.log"
        self._running[name] = self._starter.submit(spawn, self._programs[name], log).result()
        if server := self._servers.get(name):
            _wait_until(server.accepts_connections, name)

    def part(self, name: str) -> list[int]:
        """The processes of a server, of the target or of the supervisor alone; parents first."""
        pid = self._running[name].pid
        return [pid] if name == "supervisor" else [pid, *descendants(pid)]

    def kill(self, name: str) -> None:
        send(self.part(name), signal.SIGKILL)
        self._running[name].wait()
        self.reap()

    def supervised(self, name: str) -> list[int]:
        """The first process of a program of the supervisor, as one of `WORDS`; [] if it is down."""
        found = children(self._running["supervisor"].pid)
        return [pid for pid in found if WORDS[name] in command_of(pid)][:1]

    def host_tree(self, host: str) -> list[int]:
        """The worker of an injector host, its launchers and injectors."""
        return [each for pid in self.supervised(host) for each in (pid, *descendants(pid))]

    def reap(self) -> None:
        """The first process of a namespace inherits whatever loses its parent."""
        reap_orphans({process.pid for process in self._running.values()})

    def missing(self) -> str:
        """The first part that is not there; "" if all are."""
        self.reap()
        gone = [name for name, process in self._running.items() if process.poll() is not None]
        gone += [name for name in WORDS if not self.supervised(name)]
        return gone[0] if gone else ""

    # --- the start -------------------------------------------------------------------------------
    def _prepare_servers(self) -> None:
        database, broker = prepare_postgres(self._folder), prepare_redis(self._folder)
        with (database.program.cwd / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {network.CONTROL_NETWORK} trust\n")
        self._programs["postgres"] = _with_options(
            database.program, "-c", "listen_addresses=*", "-c", "max_wal_size=256MB"
        )
        open_to_hosts = ("--port", "6379", "--bind", "*", "--protected-mode", "no")
        self._programs["redis"] = _with_options(broker.program, *open_to_hosts)
        self._servers = {"postgres": database, "redis": broker}
        for name in self._servers:
            self.start_again(name)
        self._database = database
        with self.connect() as connection:
            connection.execute(CLOCK)

    def _environment(self) -> dict[str, str]:
        return {
            **plain_environment(),
            **LEASES,
            **NO_CAPS,
            "DATABASE_URL": self._database.url,
            "REDIS_URL": self._servers["redis"].url,
            "BENCHSITE_VAR": str(self._folder),
            "BENCHSITE_SECRET_KEY": secrets.token_urlsafe(50),
            "BENCHSITE_ALLOWED_NETWORKS": network.TARGET_NETWORK,
        }

    def _manage(self, *arguments: str) -> None:
        log = self._logs / f"{arguments[0]}.log"
        if spawn(manage(*arguments, env=dict(os.environ)), log).wait():
            raise LocalError(f"`manage.py {arguments[0]}` failed:\n{tail(log)}")


def start_world() -> World:
    """In this process's own namespaces; Django is set up for it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # else this process would ignore it
    network.build()
    world = World(network.FOLDER)
    world.start()
    os.environ["BENCHSITE_LOG_LEVEL"] = "ERROR"  # of the lab, which sees each outage as well
    django.setup()
    return world


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """A signal to all of these; those that have ended do not mind."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _make_disk(folder: Path) -> None:
    """A small file system of its own, quickly full, mounted on the folder."""
    image = folder.with_suffix(".ext4")
    folder.mkdir()
    network.run(f"truncate -s {DISK_SIZE} {image}")
    network.run(f"mkfs.ext4 -q -m 0 -O ^has_journal {image}")
    network.run(f"mount -o loop {image} {folder}")


def _with_options(program: Program, *options: str) -> Program:
    """Later options win."""
    return replace(program, command=(*program.command, *options))


def _wait_until(is_ready, name: str) -> None:
    deadline = time.monotonic() + READY_S
    while not is_ready():
        if time.monotonic() > deadline:
            raise LocalError(f"{name} does not answer.")
        time.sleep(0.05)
