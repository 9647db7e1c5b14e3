"""`make backup` and `make restore`: what was there comes back, and nothing is lost on the way."""

import re
import shlex
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.conftest import Script, folder_for_servers

pytestmark = pytest.mark.long

SERVE = """
import os, sys
from pathlib import Path
for name in ("DATABASE_URL", "BENCHSITE_SECRET_KEY"):
    os.environ.pop(name, None)
os.environ["BENCHSITE_VAR"] = sys.argv[1]
import psycopg
from local.run import backup, restore
from local.base import LocalError, private_folder
from local.servers import prepare_postgres, start_own
from local.supervisor import Supervisor
var = private_folder(Path(sys.argv[1]), 0o711)

def sql(*statements):
    supervisor = Supervisor(var / "log")
    server = prepare_postgres(var)
    start_own(supervisor, server)
    try:
        with psycopg.connect(server.url) as connection:
            for statement in statements:
                rows = connection.execute(statement)
            return rows.fetchall() if rows.description else None
    finally:
        supervisor.stop_all()

"""
WRITE = """
(var / "secret_key").write_text("the key of then")
sql("create table notes (words text)", "insert into notes values ('CREATE SCHEMA public;')")
backup()
"""
CHANGE = """
(var / "secret_key").write_text("another key")
(var / "spool").mkdir()
sql("insert into notes values ('later')", "create table newer as select 1")
"""
READ = """
print(sql("select words from notes"), (var / "secret_key").read_text())
print(sql("select count(*) from pg_tables where schemaname = 'public'"))
"""


def the_backup(folder: Path) -> Path:
    (file,) = (folder / "backups").glob("*.tar")
    return file


@pytest.fixture(scope="module")
def first_site() -> Iterator[Path]:
    """Its database and its backup; made once, and copied for each test."""
    with folder_for_servers() as folder:
        Script(folder, []).run(SERVE + WRITE)
        yield folder


@pytest.fixture
def backed_up(first_site, folder) -> Path:
    subprocess.run(["cp", "-a", f"{first_site}/.", folder], check=True)
    return the_backup(folder)


def test_a_restored_backup_is_what_was_there_and_keeps_what_it_replaced(script, folder, backed_up):
    output = script.run(f"{SERVE}{CHANGE}\nrestore([{str(backed_up)!r}])\n{READ}")
    assert "[('CREATE SCHEMA public;',)] the key of then\n[(1,)]" in output
    assert backed_up.stat().st_mode & 0o077 == 0
    (before,) = (folder / "backups").glob("before-restore-*")
    assert (before / "spool").is_dir()
    assert not (folder / "spool").exists()
    (copy,) = before.glob("*.tar")
    again = script.run(f"{SERVE}\nrestore([{str(copy)!r}])\n{READ}")
    assert "('later',)] another key\n[(2,)]" in again


def test_a_restore_that_is_interrupted_leaves_no_seconds_of_the_database_before(
    script, folder, backed_up
):
    script.run(f"""{SERVE}{CHANGE}
from local import run as module
replace = module._replace
def and_no_more(*given):
    replace(*given)
    raise KeyboardInterrupt
module._replace = and_no_more
try:
    restore([{str(backed_up)!r}])
except KeyboardInterrupt:
    pass
""")
    (before,) = (folder / "backups").glob("before-restore-*")
    assert (before / "spool").is_dir()
    assert not (folder / "spool").exists()


def test_a_key_of_a_backup_that_the_environment_replaces_is_not_put_back_which_it_says(
    script, backed_up
):
    output = script.run(f"""{SERVE}{CHANGE}
os.environ["BENCHSITE_SECRET_KEY"] = "of the environment"
restore([{str(backed_up)!r}])
{READ}""")
    assert "BENCHSITE_SECRET_KEY" in output
    assert "[('CREATE SCHEMA public;',)] another key" in output


def test_a_backup_is_written_while_the_database_is_in_use(script, folder):
    script.run(f"""{SERVE}
sql("create table notes (words text)")
supervisor = Supervisor(var / "log")
start_own(supervisor, prepare_postgres(var))
assert backup() == 0
assert supervisor.children["postgres"].process.poll() is None
supervisor.stop_all()
""")
    with tarfile.open(the_backup(folder)) as archive:
        assert archive.getnames() == ["database.dump"]


def test_nothing_is_no_backup(script, folder):
    """In the wrong folder, and where a first start has ended before it made the tables."""
    output = script.run(f"""{SERVE}
for _ in range(2):
    try:
        backup()
    except LocalError as error:
        print(error)
    sql("select 1")
""")
    assert output.count("nothing to back up") == 2
    assert not list(folder.glob("backups/*.tar"))


def test_the_told_command_names_a_backup_in_a_folder_with_spaces_in_its_name(script, folder):
    serve = SERVE.replace("sys.argv[1]", 'f"{sys.argv[1]}/my site"')
    output = script.run(serve + WRITE)
    (command,) = re.findall(r"`(make restore .*)`", output)
    assert shlex.split(command) == ["make", "restore", f"FILE={the_backup(folder / 'my site')}"]


def test_a_key_that_the_environment_replaces_is_in_no_backup_which_says_so(script, folder):
    output = script.run(f"""{SERVE}
os.environ |= {{"BENCHSITE_SECRET_KEY_FILE": "/run/key", "BENCHSITE_VAULT_KEYS": "of the vault"}}
{WRITE}""")
    with tarfile.open(the_backup(folder)) as archive:
        assert archive.getnames() == ["database.dump"]
    assert "BENCHSITE_SECRET_KEY and BENCHSITE_VAULT_KEYS" in output


def test_what_is_no_backup_changes_nothing(script, folder, backed_up):
    torn = folder / "broken.tar"
    whole = backed_up.read_bytes()
    torn.write_bytes(whole[:1500])  # in the middle of the dump
    (folder / "text.tar").write_text("no archive")
    output = script.run(f"""{SERVE}
for name in ("", "missing.tar", {str(folder / "text.tar")!r}, {str(torn)!r}):
    try:
        restore([name])
    except LocalError as error:
        print(error)
{READ}""")
    for sentence in ("Name the backup", "There is no file missing.tar", "cannot be read as"):
        assert sentence in output
    assert "[('CREATE SCHEMA public;',)] the key of then\n[(1,)]" in output
    assert not list((folder / "backups").glob("before-restore-*"))
