"""`python -m local site [NAME=VALUE …]`: a throw-away installation on free ports, for tests and
pictures, with these settings.

The first line of its output is JSON with its URL and account. It ends at the end of its input or
on SIGTERM, and removes everything.
"""

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from local.console import LocalError, fail
from local.paths import ROOT
from local.ports import LOOPBACK, free_ports
from local.site import Account, Site
from local.supervisor import StopRequested


def stage(settings: Sequence[str] = ()) -> int:
    _forget_settings()
    os.environ.update(each.split("=", 1) for each in settings)
    var = Path(tempfile.mkdtemp(prefix="benchsite-site-"))
    var.chmod(0o711)  # root's PostgreSQL runs as nobody, which needs to traverse it
    site = Site(var, free_ports(), is_throw_away=True)
    site.supervisor.stop_on_signals()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            account = site.start()
        print(json.dumps(_facts(site, account)), flush=True)
        while not _input_has_ended():
            site.supervisor.wait(0.2)
        return 0
    except StopRequested:
        return 0
    except LocalError as error:
        return fail(str(error))
    finally:
        site.stop()
        shutil.rmtree(var, ignore_errors=True)


@contextlib.contextmanager
def staged(**settings: str) -> Iterator[dict]:
    """Run such an installation in its own process; yields its first line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "local", "site", *(f"{k}={v}" for k, v in settings.items())],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        first_line = process.stdout.readline()
        if not first_line:
            raise LocalError("The temporary installation did not start; see the messages above.")
        yield json.loads(first_line)
    finally:
        process.stdin.close()
        process.wait(60)


def _facts(site: Site, account: Account) -> dict:
    return {
        "url": site.url,
        "demo_http": f"http://{LOOPBACK}:{site.ports.demo_http}",
        "demo_https": f"https://{LOOPBACK}:{site.ports.demo_https}",
        "username": account.name,
        "password": account.password,
        "pids": site.supervisor.pids(),
        "log_dir": str(site.supervisor.log_dir),
        "arrivals": str(site.arrivals),
        "env": {
            name: value
            for name, value in site.env.items()
            if name in {"DATABASE_URL", "REDIS_URL"} or name.startswith("BENCHSITE_")
        },
    }


def _forget_settings() -> None:
    """Ignore the settings of the caller's installation."""
    for name in list(os.environ):
        if name.startswith("BENCHSITE_") or name in {"DATABASE_URL", "REDIS_URL"}:
            del os.environ[name]


def _input_has_ended() -> bool:
    readable, _, _ = select.select([sys.stdin], [], [], 0)
    return bool(readable) and not sys.stdin.buffer.read1(1)
