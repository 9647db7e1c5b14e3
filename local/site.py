"""A whole installation on this machine: ports, database, static files, all processes."""

import contextlib
import fcntl
import http.client
import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from local import postgres
from local.base import ROOT, LocalError, closed, fail, step, tail, var_dir
from local.network import LOOPBACK, Ports, allowed_networks, free_ports, listens
from local.network import NAME as NETWORKS
from local.servers import Servers, start_servers
from local.setup import digest_of, is_stamped
from local.supervisor import STARTS_WITHIN_S, Program, StopRequested, Supervisor


def secret_key_file(var: Path) -> Path:
    """var/secret_key, created with 50 random bytes if missing."""
    path = var / "secret_key"
    var.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size:
        return path
    # Beside it first: a disk that is full must not leave an empty one, which no start could use.
    fresh = path.with_suffix(".new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(50))
    fresh.rename(path)
    return path


# On SIGTERM Celery finishes its task, which may be a run of hours; on SIGQUIT it drops it.
CELERY_STOP = ((signal.SIGTERM, 4.0), (signal.SIGQUIT, 4.0))
# The Uniserve study's sweep goes up to 12. The number of simultaneous runs is limited separately.
DEFAULT_SLOTS = "12"
HANGS_AFTER_S = 120.0


def programs(env: dict[str, str], *, gives_way: bool) -> list[Program]:
    """Our own processes of docker-compose.yml. `gives_way`: all but the launcher leave the CPU to
    injectors and target first, which they share a machine with."""
    web = _python("web", "gunicorn", "-c", "benchsite/gunicorn.py", "benchsite.wsgi", env=env)
    watched = [
        _celery("launcher", "inject", env.get("BENCHSITE_INJECTOR_SLOTS") or DEFAULT_SLOTS, env),
        _celery("general", "general", "1", env),
        _python("dispatcher", "workers.dispatcher", env=env),
    ]
    for number, each in enumerate(watched):
        pulse = Path(env["BENCHSITE_VAR"]) / f"{each.name}.pulse"
        told = {**env, "BENCHSITE_PULSE": str(pulse)}
        watched[number] = replace(each, env=told, pulse=pulse, silent_s=HANGS_AFTER_S)
    # Injectors are children of the launcher, and would inherit it.
    return [
        replace(each, gives_way=gives_way and each.name != "launcher") for each in (web, *watched)
    ]


def demo(env: dict[str, str], ports: Ports, var: Path, arrivals: Path | None = None) -> Program:
    """The bundled target, with a plain and a TLS port; optionally logs each request's arrival."""
    (var / "demo").mkdir(parents=True, exist_ok=True)
    arguments = ["--http-port", str(ports.demo_http), "--https-port", str(ports.demo_https)]
    arguments += ["--cert-dir", str(var / "demo")]
    arguments += ["--log", str(arrivals)] if arrivals else []
    return _python("demo-target", "workers.echo", *arguments, env=env)


def manage(*arguments: str, env: dict[str, str]) -> Program:
    """A Django management command."""
    return Program(f"manage-{arguments[0]}", (sys.executable, "manage.py", *arguments), env)


def plain_environment() -> dict[str, str]:
    """Our environment without variables that override DATABASE_URL in PostgreSQL clients."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**env, "PYTHONUNBUFFERED": "1", "DJANGO_SETTINGS_MODULE": "benchsite.settings"}


def _celery(name: str, queue: str, slots: str, env: dict[str, str]) -> Program:
    arguments = ["-A", "benchsite", "worker", "-Q", queue, "-c", slots, "--pool", "prefork"]
    arguments += ["-n", f"{name}@%h", "--without-gossip", "--without-mingle", "-l", "INFO"]
    worker = _python(name, "celery", *arguments, env=env)
    # If the supervisor is killed nobody sends SIGQUIT after SIGTERM, so the load would go on.
    return replace(worker, stop_signals=CELERY_STOP, death_signal=signal.SIGKILL)


def _python(name: str, module: str, *arguments: str, env: dict[str, str]) -> Program:
    return Program(name, (sys.executable, "-m", module, *arguments), env)


# Migrations make the tables, models the rows of permissions; packages have both as well.
_MADE_BY = (
    *("requirements.txt", "benchsite/settings.py", "campaigns/apps.py"),
    *("campaigns/migrations/**/*.py", "campaigns/models/**/*.py"),
)


def make_tables(supervisor: Supervisor, env: dict[str, str]) -> None:
    """Fill the database that env names. To migrate takes longer than most of what developers run
    all day, so what the migrations made is kept in var/ as SQL until what they depend on changes.

    Raises LocalError with the end of the log where either fails.
    """

    def run(program: str, *options: str) -> None:
        command = (str(postgres.binaries_of(None) / program), *options, env["DATABASE_URL"])
        run_or_fail(supervisor, Program(program, command, postgres.plain_env()))

    folder = closed(var_dir() / "tests")
    files = sorted({path for pattern in _MADE_BY for path in ROOT.glob(pattern)})
    names = [str(path.relative_to(ROOT)) for path in files]
    kept = folder / f"{digest_of(*names, *files)}.sql"
    if kept.exists():
        quiet = ("--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--single-transaction")
        run("psql", *quiet, f"--file={kept}")
        return
    run_or_fail(supervisor, manage("migrate", "--no-input", "-v", "0", env=env))
    # Several runs may be under way in a checkout: each writes its own file.
    fresh = folder / f"{os.getpid()}.new"
    run("pg_dump", "--no-owner", f"--file={fresh}")
    for old in folder.glob("*.sql"):
        old.unlink(missing_ok=True)
    fresh.rename(kept)


def run_or_fail(supervisor: Supervisor, program: Program) -> str:
    """A program's output; raises LocalError with its end where it fails."""
    log = supervisor.log_dir / f"{program.name}.log"
    if supervisor.run_to_end(program, log):
        raise LocalError(f"{program.name} failed:\n{tail(log)}")
    return log.read_text()


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
        with step("Starting web, launcher, general worker, dispatcher and demo target"):
            self.supervisor.start(demo(self.env, self.ports, self.var, self.arrivals))
            for program in programs(self.env, gives_way=not self.is_throw_away):
                self.supervisor.start(program)
            account = self._ensure_admin()
            ports = self.ports
            for name, is_ready in (
                ("web", self._web_answers),
                ("demo-target", lambda: listens(ports.demo_http) and listens(ports.demo_https)),
            ):
                what = f"{name} (its log: {self.supervisor.log_dir / f'{name}.log'})"
                self.supervisor.wait_until(is_ready, STARTS_WITHIN_S, what)
        return account

    def stop(self) -> None:
        self.supervisor.stop_all()
        if self.servers:
            self.servers.clean_up()

    def run_sample(self, *arguments: str) -> int:
        """Run `manage.py sample` with its tables on our terminal; returns its exit status."""
        ports = ("--http-port", str(self.ports.demo_http), "--https-port")
        program = manage("sample", *ports, str(self.ports.demo_https), *arguments, env=self.env)
        return self.supervisor.run_to_end(program, log=None)

    def _environment(self) -> dict[str, str]:
        env = {
            **plain_environment(),
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
        password = given or secrets.token_urlsafe(12)
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
            program = manage(*arguments, env=env or self.env)
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


def stage(settings: Sequence[str] = ()) -> int:
    """`python -m local site [NAME=VALUE …]`: a throw-away installation on free ports, for tests,
    with these settings. The first line of its output is JSON with its URL and account. It ends at
    the end of its input or on SIGTERM, and removes everything."""
    # Not those of the caller's installation.
    for name in list(os.environ):
        if name.startswith("BENCHSITE_") or name in {"DATABASE_URL", "REDIS_URL"}:
            del os.environ[name]
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


def _input_has_ended() -> bool:
    readable, _, _ = select.select([sys.stdin], [], [], 0)
    return bool(readable) and not sys.stdin.buffer.read1(1)
