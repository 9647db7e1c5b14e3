"""A PostgreSQL and a Redis for the time of a test run, in a temporary folder."""

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.console import step
from local.servers import start_servers
from local.supervisor import Supervisor


@contextmanager
def throw_away_servers() -> Iterator[tuple[Supervisor, dict[str, str]]]:
    """The supervisor and the environment of a program that uses them."""
    folder = Path(tempfile.mkdtemp(prefix="benchsite-test-"))
    folder.chmod(0o711)  # root's PostgreSQL runs as nobody, who has to get through
    (folder / "static").mkdir()  # WhiteNoise warns where it is missing
    supervisor = Supervisor(folder / "log")
    supervisor.stop_on_signals()
    servers = None
    try:
        with step("Starting a throw-away PostgreSQL and Redis"):
            servers = start_servers(supervisor, folder, is_throw_away=True, respect_urls=False)
        yield supervisor, _environment(folder, servers)
    finally:
        supervisor.stop_all()
        if servers:
            servers.clean_up()
        shutil.rmtree(folder, ignore_errors=True)


def environment_without_installation() -> dict[str, str]:
    """Nothing of the caller's installation may decide about a test."""
    installation = ("BENCHSITE_", "PG", "DJANGO_", "DATABASE_URL", "REDIS_URL")
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
