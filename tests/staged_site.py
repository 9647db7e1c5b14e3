"""`python -m tests.staged_site [NAME=VALUE …]`: a throw-away installation on free ports, with these
settings. The first line of its output is JSON with its URL and account. It ends at the end of its
input or on SIGTERM, and removes everything.
"""

import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from local.base import ROOT, LocalError, StopRequested, fail, private_folder, step, var_dir
from local.servers import environment_without_installation
from local.site import LOOPBACK, Site, free_ports, make_tables


class StagedSite(Site):
    is_throw_away = True

    @property
    def arrivals(self) -> Path:
        return self.var / "demo" / "arrivals.jsonl"

    def prepare(self) -> None:
        self.target_options = ("--log", str(self.arrivals))
        with step("Making the tables and collecting static files"):
            make_tables(self.supervisor, self.env)
            self.share_static()

    def share_static(self) -> None:
        """All such installations have one folder of static files, which outlives them."""
        folder = private_folder(var_dir() / "collected")
        (self.var / "static").symlink_to(folder)
        with (folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.collect_static()


@contextlib.contextmanager
def staged(*settings: str) -> Iterator[tuple[subprocess.Popen, dict]]:
    """Run such an installation in its own process; yields that and its first line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.staged_site", *settings],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        first_line = process.stdout.readline()
        assert first_line, "the installation did not start, see the messages above"
        yield process, json.loads(first_line)
    finally:
        process.stdin.close()
        process.wait(60)


def main(settings: Sequence[str]) -> int:
    for name in set(os.environ) - set(environment_without_installation()):
        del os.environ[name]
    os.environ.update(each.split("=", 1) for each in settings)
    var = Path(tempfile.mkdtemp(prefix="benchsite-site-"))
    var.chmod(0o711)  # root's PostgreSQL runs as nobody, which needs to traverse it
    site = StagedSite(var, free_ports())
    site.supervisor.stop_on_signals()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            account = site.start()
        facts = _facts(site) | dict(zip(("username", "password"), account, strict=True))
        print(json.dumps(facts), flush=True)
        while not select.select([sys.stdin], [], [], 0)[0]:
            site.supervisor.wait(0.2)
        return 0
    except StopRequested:
        return 0
    except LocalError as error:
        return fail(str(error))
    finally:
        site.supervisor.stop_all()
        shutil.rmtree(var, ignore_errors=True)


def _facts(site: StagedSite) -> dict:
    return {
        "url": site.url,
        "demo_http": f"http://{LOOPBACK}:{site.ports.demo_http}",
        "demo_https": f"https://{LOOPBACK}:{site.ports.demo_https}",
        "pids": site.supervisor.pids(),
        "log_dir": str(site.supervisor.log_dir),
        "arrivals": str(site.arrivals),
        "env": {
            name: value
            for name, value in site.env.items()
            if name in {"DATABASE_URL", "REDIS_URL"} or name.startswith("BENCHSITE_")
        },
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
