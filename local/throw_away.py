"""A PostgreSQL and a Redis for one test run, in a temporary folder."""

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from local import redis
from local.console import step
from local.servers import READY_S, start_servers
from local.supervisor import Supervisor


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


def _start_redis(supervisor: Supervisor, folder: Path) -> redis.Redis:
    (folder / "static").mkdir(parents=True)
    server = redis.prepare(folder)
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
