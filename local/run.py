"""`make run` is everything with the sample, `make demo-target` the bundled target alone, and
`make backup` and `make restore FILE=…` are about the database and the secret key of a checkout.

A backup is a tar of `database.dump` (pg_dump's own format) and, unless the keys come from the
environment, `secret_key`, without which stored credentials cannot be read.
"""

import contextlib
import fcntl
import os
import shlex
import shutil
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from local.base import ROOT, LocalError, private_folder, say, step, var_dir
from local.servers import output_of, prepare_postgres, running_url, start_own
from local.site import Site, confirm_networks, demo, plain_environment, ports_for
from local.supervisor import StopRequested, Supervisor


def run(arguments: list[str]) -> int:
    """The exit status: 0 after Ctrl-C or, with ONCE=1, after the sample's tables are printed."""
    var, is_once = var_dir(), "--once" in arguments
    with only_one(var):
        ports = ports_for("make run")
        confirm_networks(var)
        site = Site(var, ports)
        site.supervisor.stop_on_signals()
        say(f"benchsite in {ROOT}")
        try:
            greet(site.url, *site.start())
            status = site.run_sample("--wait", *(() if is_once else ("--unless-done",)))
            if is_once:
                return status
            if status:
                say("The sample campaign failed (reason above). benchsite keeps running.")
            logs = site.supervisor.log_dir
            say(f"\nServing {site.url} (Ctrl-C stops everything; logs are in {logs})")
            site.supervisor.wait()
        except StopRequested:
            return 130 if is_once else 0
        finally:
            say("Stopping …")
            site.supervisor.stop_all()
            say("Stopped all processes.")


@contextmanager
def only_one(var: Path) -> Iterator[None]:
    """Hold the checkout's lock; a second start fails because one is already running."""
    private_folder(var, 0o711)  # root's PostgreSQL runs as nobody, which needs to traverse it
    with (var / "run.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise LocalError(
                f"benchsite is already running in this checkout (process {lock.read().strip()}). "
                "Stop it with Ctrl-C, or use it."
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
        lock.truncate(0)


def greet(url: str, account: str, password: str) -> None:
    if os.environ.get("BENCHSITE_ADMIN_PASSWORD"):  # not repeated: our output may go to a log
        credential = "that of BENCHSITE_ADMIN_PASSWORD (stored as a hash)"
    elif password:
        credential = f"{password}   (shown only once; stored as a hash)"
    else:
        credential = "as at the first start (BENCHSITE_ADMIN_PASSWORD=… make run sets a new one)"
    say(f"\n  Address   {url}\n  Account   {account}\n  Password  {credential}\n")


def demo_target(_arguments: Sequence[str] = ()) -> NoReturn:
    """Become the bundled target, which ends with Ctrl-C."""
    ports = ports_for("make demo-target", ("demo_http", "demo_https"))
    target = demo(plain_environment(), ports, var_dir())
    say("Press Ctrl-C to stop it.")
    os.execve(target.command[0], target.command, target.env)  # noqa: S606


DUMP, KEY = "database.dump", "secret_key"
_SITES_KEY = "BENCHSITE_SECRET_KEY"
_KEYS = (_SITES_KEY, "BENCHSITE_TOKEN_PEPPER", "BENCHSITE_VAULT_KEYS")
_TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
_NOTHING = "so there is nothing to back up. Are BENCHSITE_VAR and DATABASE_URL those of `make run`?"


def backup(_arguments: Sequence[str] = ()) -> int:
    """Write a backup into var/backups, also while benchsite runs; returns the exit status."""
    var = var_dir()
    with contextlib.ExitStack() as stack:
        url = os.environ.get("DATABASE_URL") or running_url(var)
        if not url:
            if not any(var.glob("pg*")):
                raise LocalError(f"There is no database in {var}, {_NOTHING}")
            stack.enter_context(only_one(var))
            url = stack.enter_context(_database_url(var))
        # A backup of nothing would be taken for a good one.
        if not int(output_of("psql", "--no-psqlrc", "--tuples-only", f"-c{_TABLES}", url)):
            raise LocalError(f"The database has no tables, {_NOTHING}")
        with step("Writing the backup"):
            file = _write(var, url, private_folder(var / "backups"))
    say(f"\nBackup: {file}\nRestore it with `{_restoring(file)}`.")
    if missing := _keys_elsewhere(var):
        say(f"Not in it: {' and '.join(missing)}, set by the environment. Keep a copy with it.")
    return 0


def restore(arguments: list[str]) -> int:
    """Replace database and secret key by those of a backup; what was there is kept in var/."""
    if not any(arguments):
        raise LocalError("Name the backup: `make restore FILE=var/backups/benchsite-….tar`.")
    file, var = Path(arguments[0]), var_dir()
    with only_one(var), tempfile.TemporaryDirectory(dir=var) as folder:
        dump, key = Path(folder) / DUMP, Path(folder) / KEY
        _unpack(file, Path(folder))
        output_of("pg_restore", "--file=/dev/null", str(dump))  # whether it is whole
        with _database_url(var) as url:
            old = private_folder(var / "backups" / time.strftime("before-restore-%Y%m%d-%H%M%S"))
            with step("Keeping what is there"):
                backup = _write(var, url, old)
            # Its queue, and seconds on their way into it. Before: whatever interrupts this, no
            # database is offered the seconds of another one.
            for name in ("redis", "spool"):
                if (var / name).exists():
                    (var / name).rename(old / name)
            try:
                with step("Restoring the database"):
                    _replace(url, dump)
            except LocalError as error:
                raise LocalError(
                    f"{error}\nThe database is not complete now. `{_restoring(backup)}` puts back "
                    "what was there."
                ) from None
        if key.exists() and _is_elsewhere(_SITES_KEY):
            say(
                f"\nThe backup's secret key is not used: {_SITES_KEY} of the environment is. "
                "Credentials that were stored under another key cannot be read."
            )
        elif key.exists():
            key.chmod(0o600)
            key.rename(var / KEY)
    say(f"\nRestored from {file}. What was there before is in {old}.")
    say("Start with `make run`. Load is off until an administrator has looked at what is queued.")
    return 0


def _restoring(file: Path) -> str:
    """The command, for a shell: the checkout may be in a folder with spaces in its name."""
    return f"make restore FILE={shlex.quote(str(file))}"


def _keys_elsewhere(var: Path) -> list[str]:
    """The keys that come from the environment; without them no stored credential can be read."""
    keys = list(filter(_is_elsewhere, _KEYS))
    return keys if _SITES_KEY in keys or (var / KEY).exists() else [_SITES_KEY, *keys]


def _is_elsewhere(key: str) -> bool:
    return bool(os.environ.get(key) or os.environ.get(f"{key}_FILE"))


@contextlib.contextmanager
def _database_url(var: Path) -> Iterator[str]:
    """The URL of the database that the environment names, or of one that is started for this."""
    if url := os.environ.get("DATABASE_URL"):
        yield url
        return
    supervisor = Supervisor(var / "log")
    supervisor.stop_on_signals()
    try:
        with step("Starting PostgreSQL"):
            server = prepare_postgres(var)
            start_own(supervisor, server)
        yield server.url
    finally:
        supervisor.stop_all()


def _write(var: Path, url: str, folder: Path) -> Path:
    """A new file in this folder, complete or not there."""
    file = folder / time.strftime("benchsite-%Y%m%d-%H%M%S.tar")
    with tempfile.TemporaryDirectory(dir=folder) as work:
        dump, whole = Path(work) / DUMP, Path(work) / file.name
        output_of("pg_dump", "--format=custom", "--no-owner", f"--file={dump}", url)
        with tarfile.open(whole, "w") as archive:
            archive.add(dump, DUMP)
            # One that the environment replaces would be taken for the right one.
            if _SITES_KEY not in _keys_elsewhere(var):
                archive.add(var / KEY, KEY)
        whole.chmod(0o600)
        return whole.rename(file)


def _replace(url: str, dump: Path) -> None:
    """The schema is emptied first: a table that only a newer release has must not stay."""
    empty = "DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public"
    output_of("psql", "--quiet", "--no-psqlrc", f"--command={empty}", url)
    options = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges")
    # By its name, so that what is in it is restored and not the schema itself, which is there.
    output_of("pg_restore", *options, "--schema=public", f"--dbname={url}", str(dump))


def _unpack(file: Path, folder: Path) -> None:
    """The content alone: neither links nor rights. Python 3.11.3 and older know no filters."""
    try:
        with tarfile.open(file) as archive:
            members = {each.name: each for each in archive.getmembers()}
            if DUMP not in members or set(members) - {DUMP, KEY}:
                raise LocalError(f"{file} is no backup of benchsite: it should hold {DUMP}.")
            for name, member in members.items():
                if not member.isfile():
                    raise tarfile.TarError(f"{name} is no file")
                with archive.extractfile(member) as content, (folder / name).open("xb") as copy:
                    shutil.copyfileobj(content, copy)
    except FileNotFoundError:
        raise LocalError(f"There is no file {file}. `make backup` writes one.") from None
    except (tarfile.TarError, OSError) as error:
        raise LocalError(f"{file} cannot be read as a backup: {error}.") from None
