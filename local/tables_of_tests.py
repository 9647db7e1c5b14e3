"""The migrated database that each worker of a test run and each throw-away installation copies.

To migrate takes longer than most of what developers run all day. So what the migrations made is
kept in var/ as SQL, until something changes that it depends on.
"""

import os
from pathlib import Path

from local import postgres
from local.children import Program
from local.console import LocalError
from local.paths import ROOT, closed, tail, var_dir
from local.programs import manage
from local.steps import digest_of
from local.supervisor import Supervisor

# Migrations make the tables, models the rows of permissions; packages have both as well.
_MADE_BY = (
    *("requirements.txt", "benchsite/settings.py", "campaigns/apps.py"),
    *("campaigns/migrations/**/*.py", "campaigns/models/**/*.py"),
)


def make_tables(supervisor: Supervisor, env: dict[str, str]) -> None:
    """Fill the database that env names, from what was kept or by all migrations.

    Raises LocalError with the end of the log where either fails.
    """
    folder = closed(var_dir() / "tests")
    kept = folder / f"{_digest()}.sql"
    if kept.exists():
        _run(supervisor, _psql(kept, env))
        return
    _run(supervisor, manage("migrate", "--no-input", "-v", "0", env=env))
    # Several runs may be under way in a checkout: each writes its own file.
    fresh = folder / f"{os.getpid()}.new"
    _run(supervisor, _program("pg_dump", "--no-owner", f"--file={fresh}", env=env))
    for old in folder.glob("*.sql"):
        old.unlink(missing_ok=True)
    fresh.rename(kept)


def _digest() -> str:
    files = sorted({path for pattern in _MADE_BY for path in ROOT.glob(pattern)})
    return digest_of(*(part for path in files for part in (str(path.relative_to(ROOT)), path)))


def _psql(file: Path, env: dict[str, str]) -> Program:
    options = ("--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--single-transaction")
    return _program("psql", *options, f"--file={file}", env=env)


def _program(name: str, *arguments: str, env: dict[str, str]) -> Program:
    binary = str(postgres.binaries_of(None) / name)
    return Program(name, (binary, *arguments, env["DATABASE_URL"]), postgres.plain_env())


def _run(supervisor: Supervisor, program: Program) -> None:
    log = supervisor.log_dir / f"{program.name}.log"
    if supervisor.run_to_end(program, log):
        raise LocalError(f"The migrated database cannot be made:\n{tail(log)}")
