"""`make backup` and `make restore FILE=…`: the database and the secret key of this checkout.

A backup is a tar of `database.dump` (pg_dump's own format) and, unless the keys come from the
environment, `secret_key`, without which stored credentials cannot be read.
"""

import os
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from local import postgres
from local.base import LocalError, closed, say, step, var_dir
from local.run import only_one
from local.servers import start_postgres
from local.supervisor import Supervisor

DUMP, KEY = "database.dump", "secret_key"
# What belongs to the old database: its queue, and seconds on their way into it.
_OF_THE_DATABASE = ("redis", "spool")
_SITES_KEY = "BENCHSITE_SECRET_KEY"
_KEYS = (_SITES_KEY, "BENCHSITE_TOKEN_PEPPER", "BENCHSITE_VAULT_KEYS")
_TABLES = (
    "SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
)
_EMPTY = "DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public"


def backup(_arguments: Sequence[str] = ()) -> int:
    """Write a backup into var/backups, also while benchsite runs; returns the exit status."""
    var = var_dir()
    with _database(var) as url, step("Writing the backup"):
        _refuse_empty(url)
        file = _write(var, url, closed(var / "backups"))
    say(f"\nBackup: {file}")
    say(f"Restore it with `{_restoring(file)}`.")
    if missing := _keys_elsewhere(var):
        say(f"Not in it: {' and '.join(missing)}, set by the environment. Keep a copy with it.")
    return 0


def restore(arguments: list[str]) -> int:
    """Replace database and secret key by those of a backup; what was there is kept in var/."""
    if not any(arguments):
        raise LocalError("Name the backup: `make restore FILE=var/backups/benchsite-….tar`.")
    file, var = Path(arguments[0]), var_dir()
    with tempfile.TemporaryDirectory() as unpacked, only_one(var):
        _unpack(file, Path(unpacked))
        _run("pg_restore", "--file=/dev/null", str(Path(unpacked) / DUMP))  # whether it is whole
        with _own_or_named(var) as url:
            old = closed(var / "backups" / f"before-restore-{_now()}")
            with step("Keeping what is there"):
                kept = _write(var, url, old)
            # Before: whatever interrupts this, no database is offered the seconds of another one.
            for name in _OF_THE_DATABASE:
                if (var / name).exists():
                    (var / name).rename(old / name)
            with step("Restoring the database"), _told_how_to_go_back(kept):
                _replace(url, Path(unpacked) / DUMP)
        has_key = (Path(unpacked) / KEY).exists()
        if has_key and not _is_elsewhere(_SITES_KEY):
            _install_key(Path(unpacked) / KEY, var / KEY)
    if has_key and _is_elsewhere(_SITES_KEY):
        say(
            f"\nThe backup's secret key is not used: {_SITES_KEY} of the environment is. "
            "Credentials that were stored under another key cannot be read."
        )
    say(f"\nRestored from {file}. What was there before is in {old}.")
    say("Start with `make run`. Load is off until an administrator has looked at what is queued.")
    return 0


def _restoring(file: Path) -> str:
    """The command, for a shell: the checkout may be in a folder with spaces in its name."""
    return f"make restore FILE={shlex.quote(str(file))}"


def _keys_elsewhere(var: Path) -> list[str]:
    """The keys that come from the environment; without them no stored credential can be read."""
    found = list(filter(_is_elsewhere, _KEYS))
    return found if _SITES_KEY in found or (var / KEY).exists() else [_SITES_KEY, *found]


def _is_elsewhere(key: str) -> bool:
    return bool(os.environ.get(key) or os.environ.get(f"{key}_FILE"))


def _now() -> str:
    return time.strftime("%Y%m%d-%H%M%S")


@contextmanager
def _database(var: Path) -> Iterator[str]:
    """The URL of the database: the one that the environment names, the one that is running, or
    one that is started for this."""
    running = os.environ.get("DATABASE_URL") or postgres.running_url(var)
    if running:
        yield running
        return
    if not any(var.glob("pg*")):
        raise _no_site(f"There is no database in {var}")
    with only_one(var), _own_or_named(var) as url:
        yield url


@contextmanager
def _own_or_named(var: Path) -> Iterator[str]:
    if named := os.environ.get("DATABASE_URL"):
        yield named
        return
    supervisor = Supervisor(var / "log")
    supervisor.stop_on_signals()
    with step("Starting PostgreSQL"):
        server = start_postgres(supervisor, var)
    try:
        yield server.url
    finally:
        supervisor.stop_all()
        server.clean_up()


def _refuse_empty(url: str) -> None:
    """A backup of nothing would be taken for a good one."""
    if not int(_run("psql", "--no-psqlrc", "--no-align", "--tuples-only", f"-c{_TABLES}", url)):
        raise _no_site("The database has no tables")


def _no_site(what: str) -> LocalError:
    return LocalError(
        f"{what}, so there is nothing to back up. Check BENCHSITE_VAR and DATABASE_URL: they have "
        "to be those of the `make run` that you want a backup of."
    )


def _write(var: Path, url: str, folder: Path) -> Path:
    """A new file in this folder, complete or not there."""
    file = folder / f"benchsite-{_now()}.tar"
    with tempfile.TemporaryDirectory(dir=folder) as work:
        dump = Path(work) / DUMP
        _run("pg_dump", "--format=custom", "--no-owner", f"--file={dump}", url)
        whole = Path(work) / file.name
        with tarfile.open(whole, "w") as archive:
            archive.add(dump, DUMP)
            # One that the environment replaces would be taken for the right one.
            if _SITES_KEY not in _keys_elsewhere(var):
                archive.add(var / KEY, KEY)
        whole.chmod(0o600)
        whole.rename(file)
    return file


def _unpack(file: Path, folder: Path) -> None:
    try:
        with tarfile.open(file) as archive:
            names = set(archive.getnames())
            if DUMP not in names or names - {DUMP, KEY}:
                raise LocalError(f"{file} is no backup of benchsite: it should hold {DUMP}.")
            for name in names:
                _copy(archive, name, folder / name)
    except FileNotFoundError:
        raise LocalError(f"There is no file {file}. `make backup` writes one.") from None
    except (tarfile.TarError, OSError, KeyError) as error:
        raise LocalError(f"{file} cannot be read as a backup: {error}.") from None


def _copy(archive: tarfile.TarFile, name: str, to: Path) -> None:
    """Its content alone: neither a link nor rights. Python 3.11.3 and older know no filters."""
    content = archive.extractfile(name)
    if content is None:
        raise tarfile.TarError(f"{name} is no file")
    with content, to.open("xb") as copy:
        shutil.copyfileobj(content, copy)


@contextmanager
def _told_how_to_go_back(kept: Path) -> Iterator[None]:
    try:
        yield
    except LocalError as error:
        raise LocalError(
            f"{error}\nThe database is not complete now. `{_restoring(kept)}` puts back what was "
            "there."
        ) from None


def _replace(url: str, dump: Path) -> None:
    """The schema is emptied first: a table that only a newer release has must not stay."""
    contents = _run("pg_restore", "--list", str(dump)).splitlines()
    wanted = dump.with_suffix(".list")
    wanted.write_text("\n".join(line for line in contents if " SCHEMA - public " not in line))
    _run("psql", "--quiet", "--no-psqlrc", f"--command={_EMPTY}", url)
    options = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges")
    _run("pg_restore", *options, f"--use-list={wanted}", f"--dbname={url}", str(dump))


def _install_key(fresh: Path, key: Path) -> None:
    handle = os.open(key.with_suffix(".new"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(fresh.read_bytes())
    key.with_suffix(".new").rename(key)


def _run(program: str, *arguments: str) -> str:
    """The output of one of PostgreSQL's programs."""
    done = subprocess.run(
        [postgres.binaries_of(None) / program, *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        env=postgres.plain_env(),
        check=False,
    )
    if done.returncode:
        raise LocalError(f"{program} failed: {done.stderr.strip()}")
    return done.stdout
