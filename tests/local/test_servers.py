"""Our own PostgreSQL and Redis: they start, keep their data, and are the caller's own."""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process_tree import is_alive
from tests.waiting import eventually

pytestmark = pytest.mark.long

CAP_DAC_OVERRIDE = 1
SERVE = """
import os, sys
from pathlib import Path
for name in ("DATABASE_URL", "REDIS_URL"):
    os.environ.pop(name, None)
import psycopg, redis as client
from local.servers import start_servers
from local.supervisor import Supervisor
var = Path(sys.argv[1]) / os.environ.get("SUBFOLDER", "")
var.mkdir(parents=True, exist_ok=True)
supervisor = Supervisor(var / "log")
urls = start_servers(supervisor, var)
try:
    with psycopg.connect(urls["DATABASE_URL"]) as postgres:
        %s
finally:
    supervisor.stop_all()
"""
WRITE = (
    "postgres.execute('create table kept as select 42 as answer'); "
    "client.Redis.from_url(urls['REDIS_URL']).set('kept', 'redis too')"
)
READ = (
    "print(postgres.execute('select answer from kept').fetchone()[0], "
    "client.Redis.from_url(urls['REDIS_URL']).get('kept').decode())"
)
KILLED_IN_INITDB = """
import os, pathlib, subprocess
run = subprocess.run
def killed(command, **options):
    if any(str(part).endswith("/initdb") for part in command):
        pathlib.Path(command[command.index("-D") + 1], "PG_VERSION").write_text("18\\n")
        os.kill(os.getpid(), 9)
    return run(command, **options)
subprocess.run = killed
"""
VERSION = "print(postgres.execute('show server_version').fetchone()[0])"
NOBODY = pwd.getpwnam("nobody")
# Root's PostgreSQL runs as nobody.
OWNER = NOBODY.pw_uid if os.geteuid() == 0 else os.geteuid()
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")


def test_data_survive_a_restart_and_the_killing_of_everything(script):
    script.run(SERVE % WRITE)
    crash = "os.kill(supervisor.pids()['postgres'], 9); os.kill(os.getpid(), 9)"
    late = "postgres.execute('create table late as select 43'); postgres.commit()"
    process = script.start(SERVE % f"{READ}; sys.stdout.flush(); {late}; {crash}")
    output, _ = process.communicate(timeout=60)
    assert output.strip() == "42 redis too"
    again = f"{READ}; print(postgres.execute('table late').fetchone()[0])"
    assert script.run(SERVE % again).split() == ["42", "redis", "too", "43"]


def test_a_killed_server_that_nobody_clears_away_does_not_stop_the_next(script, folder):
    """As in a container whose PID 1 waits for no orphan."""
    script.run(SERVE % WRITE)
    program = shutil.copy(shutil.which("sleep"), folder / "postgres")
    with subprocess.Popen([program, "60"]) as process:
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        lock = folder / "pg18/postmaster.pid"
        lock.write_text(f"{process.pid}\n{folder}/pg18\n")
        shutil.chown(lock, OWNER)
        assert script.run(SERVE % READ).strip() == "42 redis too"


def test_data_that_were_only_half_made_are_made_anew(script, folder):
    """As after a power cut in the middle of initdb, which writes PG_VERSION first."""
    process = script.start(KILLED_IN_INITDB + SERVE % "pass")
    process.communicate(timeout=60)
    assert list(folder.glob("pg18*/PG_VERSION"))
    assert script.run(SERVE % VERSION).startswith("18")
    assert [path.name for path in folder.glob("pg18*")] == ["pg18"]


def test_a_server_heeds_no_variable_of_the_caller_and_leaves_only_its_data(script, folder):
    output = script.run(SERVE % VERSION, env={"PGPORT": "1", "PGDATA": "/nowhere"})
    assert output.startswith("18")
    left = sorted(path.name for path in folder.iterdir())
    assert left == ["log", "pg18", "redis", "sockets"]
    assert list((folder / "sockets").iterdir()) == []
    assert (folder / "pg18").stat().st_uid == OWNER


def test_a_long_path_gets_sockets_elsewhere(script):
    """A socket's path has at most 107 bytes."""
    output = script.run(SERVE % VERSION, env={"SUBFOLDER": "a-long-name/" * 8})
    assert output.startswith("18")


@is_root
def test_it_works_for_a_plain_user(script, folder):
    os.chown(folder, NOBODY.pw_uid, NOBODY.pw_gid)
    if not can_read_interpreter():
        pytest.skip("a plain user may not enter the folder of this Python")
    version = script.run(SERVE % VERSION, uid=NOBODY.pw_uid, env={"HOME": str(folder)})
    assert version.strip().startswith("18")


@is_root
def test_root_s_postgresql_reaches_a_folder_that_nobody_else_may_enter(script, folder):
    """As in a checkout under /root; elsewhere it has no right beyond those of `nobody`."""
    rights = (
        "pid = supervisor.pids()['postgres']; "
        "print(*(line.split()[1] for line in open(f'/proc/{pid}/status') "
        "if line.startswith(('Uid:', 'CapEff:'))))"
    )
    (folder / "closed").mkdir(mode=0o700)
    env = {"SUBFOLDER": "closed/var"}
    script.run(SERVE % WRITE, env=env)
    data, may = script.run(SERVE % f"{READ}; {rights}", env=env).splitlines()
    assert data == "42 redis too"
    assert may.split() == [str(OWNER), f"{1 << CAP_DAC_OVERRIDE:016x}"]
    if can_read_interpreter():
        assert script.run(SERVE % rights).split() == [str(OWNER), f"{0:016x}"]


@is_root
def test_root_s_postgresql_dies_with_its_supervisor(script):
    """To become another account clears what the kernel was asked for."""
    process = script.start(
        SERVE % "print(supervisor.pids()['postgres'], flush=True); os.kill(os.getpid(), 9)"
    )
    output, _ = process.communicate(timeout=60)
    eventually(lambda: not is_alive(int(output)), 20, "PostgreSQL is gone")


def test_data_of_another_major_version_are_refused(script, folder):
    """Not left aside for a new database, in which every result would be missing."""
    data = folder / "pg15"
    data.mkdir()
    process = script.start(SERVE % VERSION)
    output, _ = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "by PostgreSQL 15" in output
    assert not (folder / "pg18").exists()
    data.rename(folder / "older-pg15")
    assert script.run(SERVE % VERSION).strip().startswith("18")


def can_read_interpreter() -> bool:
    from local.servers import others_may_reach

    return others_may_reach(Path(sys.prefix)) and others_may_reach(
        Path(sys.executable).resolve().parent
    )
