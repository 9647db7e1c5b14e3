"""Our own PostgreSQL and Redis: they start, keep their data, and are the caller's own."""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
servers = start_servers(supervisor, var)
try:
    with psycopg.connect(servers.database_url) as postgres:
        %s
finally:
    supervisor.stop_all()
    servers.clean_up()
"""
WRITE = (
    "postgres.execute('create table kept as select 42 as answer'); "
    "client.Redis.from_url(servers.redis_url).set('kept', 'redis too')"
)
READ = (
    "print(postgres.execute('select answer from kept').fetchone()[0], "
    "client.Redis.from_url(servers.redis_url).get('kept').decode())"
)
KILLED_IN_INITDB = """
import os, pathlib, subprocess
run = subprocess.run
def killed(command, **options):
    if str(command[0]).endswith("/initdb"):
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
    killed = script.start(SERVE % f"{READ}; sys.stdout.flush(); {late}; {crash}")
    output, _ = killed.communicate(timeout=60)
    assert output.strip() == "42 redis too"
    again = f"{READ}; print(postgres.execute('table late').fetchone()[0])"
    assert script.run(SERVE % again).split() == ["42", "redis", "too", "43"]


def test_a_killed_server_that_nobody_clears_away_does_not_stop_the_next(script, folder):
    """As in a container whose PID 1 waits for no orphan."""
    script.run(SERVE % WRITE)
    program = shutil.copy(shutil.which("sleep"), folder / "postgres")
    with subprocess.Popen([program, "60"]) as killed:
        killed.kill()
        os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
        lock = folder / "pg18/postmaster.pid"
        lock.write_text(f"{killed.pid}\n{folder}/pg18\n")
        shutil.chown(lock, OWNER)
        assert script.run(SERVE % READ).strip() == "42 redis too"


def test_data_that_were_only_half_made_are_made_anew(script, folder):
    """As after a power cut in the middle of initdb, which writes PG_VERSION first."""
    killed = script.start(KILLED_IN_INITDB + SERVE % "pass")
    killed.communicate(timeout=60)
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
def test_root_s_postgresql_gets_a_folder_that_it_can_reach(script, folder):
    """As in a checkout under /root, which nobody may enter."""
    (folder / "closed").mkdir(mode=0o700)
    var = folder / "closed" / "var"
    home = None
    try:
        script.run(SERVE % WRITE, env={"SUBFOLDER": "closed/var"})
        home = (var / "pg18").resolve()
        assert home.parent.parent == Path("/var/lib")
        output = script.run(SERVE % READ, env={"SUBFOLDER": "closed/var"})
        assert output.strip() == "42 redis too"
    finally:
        if home:
            import shutil

            shutil.rmtree(home.parent)


def test_data_of_another_major_version_are_refused_in_words(script, folder):
    """Not left aside for a new database, in which every result would be missing."""
    data = folder / "pg15"
    data.mkdir()
    process = script.start(SERVE % VERSION)
    output, _ = process.communicate(timeout=30)
    assert "was created by PostgreSQL 15, but this is version 18. Move the folder away" in output
    assert not (folder / "pg18").exists()
    data.rename(folder / "older-pg15")
    assert script.run(SERVE % VERSION).strip().startswith("18")


def can_read_interpreter() -> bool:
    from local.base import others_may_reach

    return others_may_reach(Path(sys.prefix)) and others_may_reach(
        Path(sys.executable).resolve().parent
    )
