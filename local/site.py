"""A whole installation on this machine: servers, database, static files, all processes."""

import fcntl
import http.client
import os
import secrets as random_secrets
from dataclasses import dataclass
from pathlib import Path

from local import programs
from local.console import LocalError, step
from local.networks import NAME as NETWORKS
from local.networks import allowed_networks
from local.paths import ROOT, closed, tail, var_dir
from local.ports import LOOPBACK, Ports, listens
from local.secrets import secret_key_file
from local.servers import Servers, start_servers
from local.steps import digest_of, is_stamped
from local.supervisor import STARTS_WITHIN_S, Supervisor
from local.tables_of_tests import make_tables


@dataclass(frozen=True)
class Account:
    """The first account; the password is "" if an earlier start created it."""

    name: str
    password: str


class Site:
    """Start with `start()`, watch through `supervisor.wait`, end with `stop()`."""

    def __init__(self, var: Path, ports: Ports, *, is_throw_away: bool = False):
        self.var = var
        self.ports = ports
        self.is_throw_away = is_throw_away
        # For tests that read each request's arrival; would fill a long-lived installation's disk.
        self.arrivals = var / "demo" / "arrivals.jsonl" if is_throw_away else None
        self.supervisor = Supervisor(var / "log")
        self.servers: Servers | None = None
        self.env: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.ports.web}"

    def start(self) -> Account:
        """Start everything, wait until the web server responds; returns the first account."""
        with step("Starting PostgreSQL and Redis"):
            self.servers = start_servers(
                self.supervisor,
                self.var,
                is_throw_away=self.is_throw_away,
                respect_urls=not self.is_throw_away,
            )
        self.env = self._environment()
        if self.is_throw_away:
            with step("Making the tables"):
                make_tables(self.supervisor, self.env)
            self._share_static()
        else:
            with step("Migrating the database and collecting static files"):
                self._collect_static(["migrate", "--no-input", "-v", "0"])
        with step("Starting web, launcher, general worker, dispatcher, beat and demo target"):
            self.supervisor.start(programs.demo(self.env, self.ports, self.var, self.arrivals))
            for program in programs.programs(self.env, gives_way=not self.is_throw_away):
                self.supervisor.start(program)
            account = self._ensure_admin()
            self.supervisor.wait_until(self._web_answers, STARTS_WITHIN_S, self._what("web"))
            self.supervisor.wait_until(
                self._demo_listens, STARTS_WITHIN_S, self._what("demo-target")
            )
        return account

    def stop(self) -> None:
        self.supervisor.stop_all()
        if self.servers:
            self.servers.clean_up()

    def run_sample(self, *arguments: str) -> int:
        """Run `manage.py sample` with its tables on our terminal; returns its exit status."""
        ports = ("--http-port", str(self.ports.demo_http), "--https-port")
        program = programs.manage(
            "sample", *ports, str(self.ports.demo_https), *arguments, env=self.env
        )
        return self.supervisor.run_to_end(program, log=None)

    def _environment(self) -> dict[str, str]:
        env = {
            **programs.plain_environment(),
            "DATABASE_URL": self.servers.database_url,
            "REDIS_URL": self.servers.redis_url,
            "BENCHSITE_VAR": str(self.var),
            "BENCHSITE_BIND": f"{LOOPBACK}:{self.ports.web}",
        }
        env["BENCHSITE_URL"] = env.get("BENCHSITE_URL") or self.url
        env.setdefault("BENCHSITE_REFERENCE_TARGET", f"http://{LOOPBACK}:{self.ports.demo_http}")
        if not env.get(NETWORKS) and (confirmed := allowed_networks(self.var)):
            env[NETWORKS] = confirmed
        env.pop("BENCHSITE_ADMIN_PASSWORD", None)  # only one command needs it
        if not (env.get("BENCHSITE_SECRET_KEY") or env.get("BENCHSITE_SECRET_KEY_FILE")):
            env["BENCHSITE_SECRET_KEY_FILE"] = str(secret_key_file(self.var))
        return env

    def _ensure_admin(self) -> Account:
        """Passes the password by environment, so that no log or process list shows it."""
        name = os.environ.get("BENCHSITE_ADMIN") or "admin"
        given = os.environ.get("BENCHSITE_ADMIN_PASSWORD", "")
        password = given or random_secrets.token_urlsafe(12)
        env = {**self.env, "BENCHSITE_ADMIN": name, "BENCHSITE_ADMIN_PASSWORD": password}
        arguments = () if given else ("--only-if-missing",)
        output = self._manage(["ensure_admin", *arguments], env=env)
        return Account(name, "" if "already exists" in output else password)

    def _share_static(self) -> None:
        """Throw-away installations have one collected folder, which outlives them."""
        shared = closed(var_dir() / "collected")
        (self.var / "static").symlink_to(shared)
        with (shared / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with step("Collecting static files"):
                self._collect_static()

    def _collect_static(self, *beside: list[str]) -> None:
        """Collect what has changed, at the same time as these Django commands."""
        stamp = self.var / "static" / ".benchsite-collected"
        files = sorted(path for path in (ROOT / "static").rglob("*") if path.is_file())
        facts = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files]
        code = (ROOT / "benchsite" / "staticfiles.py", ROOT / "benchsite" / "settings.py")
        lock = ROOT / "package-lock.json"
        digest = digest_of(*code, lock, ROOT / "requirements.txt", facts)
        is_fresh = is_stamped(stamp, digest)
        self._manage(*beside, *([] if is_fresh else [["collectstatic", "--no-input", "-v", "0"]]))
        if not is_fresh:
            stamp.write_text(digest)

    def _manage(self, *commands: list[str], env: dict[str, str] | None = None) -> str:
        """Run Django commands at the same time; returns the last one's output. Raises LocalError
        with the last line of the first that fails, and with the end of its log where that says
        more than a sentence, such as of a wrong setting."""
        jobs = []
        for arguments in commands:
            program = programs.manage(*arguments, env=env or self.env)
            jobs.append((program, self.supervisor.log_dir / f"{program.name}.log"))
            jobs[-1][1].unlink(missing_ok=True)
        statuses = self.supervisor.run_together(jobs)
        for (program, log), status in zip(jobs, statuses, strict=True):
            if status:
                told = tail(log)
                *before, last = told.splitlines() or [""]
                failed = f"`manage.py {program.command[2]}` failed: {last.strip()}\n{told}"
                raise LocalError(failed if before or not last else last.strip())
        return jobs[-1][1].read_text() if jobs else ""

    def _web_answers(self) -> bool:
        connection = http.client.HTTPConnection(LOOPBACK, self.ports.web, timeout=5)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status < 500
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _demo_listens(self) -> bool:
        return listens(self.ports.demo_http) and listens(self.ports.demo_https)

    def _what(self, name: str) -> str:
        return f"{name} (its log: {self.supervisor.log_dir / f'{name}.log'})"
