"""A whole installation on this machine: where it listens and where its load may go, its database,
static files, and all processes.
"""

import contextlib
import http.client
import ipaddress
import itertools
import os
import random
import secrets
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from local.base import ROOT, LocalError, private_folder, say, step, tail, var_dir
from local.servers import output_of, plain_env, start_servers
from local.setup import digest_of, is_stamped
from local.supervisor import STARTS_WITHIN_S, Program, Supervisor

LOOPBACK = "127.0.0.1"
HIGHEST = 65535
VARIABLES = {
    "web": "BENCHSITE_PORT",
    "demo_http": "BENCHSITE_DEMO_HTTP_PORT",
    "demo_https": "BENCHSITE_DEMO_HTTPS_PORT",
}
NETWORKS = "BENCHSITE_ALLOWED_NETWORKS"
# As the settings have it without this variable.
_ITSELF = "127.0.0.0/8 ::1/128"
_ROUTES = Path("/proc/net/route")
# Of RFC 1918. To most of what else ipaddress calls private no load may go.
_PRIVATE = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))


@dataclass(frozen=True)
class Ports:
    web: int = 8000
    demo_http: int = 8081
    demo_https: int = 8444


def ports_for(command: str, names: Iterable[str] = VARIABLES) -> Ports:
    """The ports of a `make` command. Raises LocalError with what to do for a value that is not a
    port, and for one that is taken, or given twice."""
    ports: dict[str, int] = {}
    for name in names:
        variable = VARIABLES[name]
        text = os.environ.get(variable) or str(getattr(Ports, name))
        if not (text.isdigit() and 1 <= int(text) <= HIGHEST):
            raise LocalError(
                f"{variable}={text!r} is not a port. Write a number from 1 to {HIGHEST}."
            )
        port = int(text)
        if port in ports.values() or not is_free(port):
            other = port + 10 if port + 10 <= HIGHEST else port - 10
            by_whom = "another part of benchsite" if port in ports.values() else "another program"
            raise LocalError(
                f"Port {port} on {LOOPBACK} is used by {by_whom}. Stop that, or choose another "
                f"port: {variable}={other} {command}"
            )
        ports[name] = port
    return Ports(**ports)


def free_ports() -> Ports:
    """Three currently free ports for a test."""
    candidates = random.sample(range(10_000, 30_000), 100)
    return Ports(*itertools.islice(filter(is_free, candidates), 3))


def is_free(port: int) -> bool:
    try:
        socket.create_server((LOOPBACK, port)).close()
    except OSError:
        return False
    return True


def listens(port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(2)
        return client.connect_ex((LOOPBACK, port)) == 0


def status_of(port: int, path: str, timeout_s: float) -> int:
    """Of a web server's answer here, without anybody's proxy; 0 for none."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=timeout_s)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", path)
        return connection.getresponse().status
    return 0


def confirm_networks(
    var: Path, ask: Callable[[str], str] | None = None, routes: Path = _ROUTES
) -> None:
    """At the first start on a terminal, ask whether this machine's networks may be put under load.

    The answer is kept in var/networks; without a terminal nobody is asked, and nothing is kept.
    """
    file = var / "networks"
    networks = own_networks(routes)
    if os.environ.get(NETWORKS) or file.exists() or not networks:
        return
    text = " ".join(networks)
    if ask is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        say(f"Load may go to this machine only. For its networks: {NETWORKS}='{_ITSELF} {text}'")
        return
    reply = (ask or input)(f"May load go to this machine's networks as well ({text})? [y/N] ")
    is_allowed = reply.strip().lower() in ("y", "yes")
    file.write_text(f"{_ITSELF} {text}\n" if is_allowed else f"{_ITSELF}\n")
    say(f"Kept in {file}; delete the file to be asked again.")


def own_networks(routes: Path = _ROUTES) -> list[str]:
    """The private IPv4 networks that this machine reaches without a router."""
    nearby = set()
    for line in routes.read_text().splitlines()[1:] if routes.exists() else ():
        _name, destination, gateway, *_, mask = line.split()[:8]
        if int(gateway, 16) == 0:
            # The kernel writes both as hexadecimal numbers in the order of its bytes.
            address, bits = (
                socket.inet_ntoa(struct.pack("=L", int(each, 16))) for each in (destination, mask)
            )
            nearby.add(ipaddress.IPv4Network(f"{address}/{bits}", strict=False))
    return sorted(str(each) for each in nearby if any(map(each.subnet_of, _PRIVATE)))


# On SIGTERM Celery finishes its task, which may be a run of hours; on SIGQUIT it drops it.
CELERY_STOP = ((signal.SIGTERM, 4.0), (signal.SIGQUIT, 4.0))
# The Uniserve study's sweep goes up to 12. The number of simultaneous runs is limited separately.
DEFAULT_SLOTS = "12"
HANGS_AFTER_S = 120.0


def programs(env: dict[str, str], *, gives_way: bool) -> list[Program]:
    """Our own processes of docker-compose.yml. `gives_way`: all but the launcher leave the CPU to
    injectors and target first, which they share a machine with."""
    web = _python("web", "gunicorn", "-c", "benchsite/gunicorn.py", "benchsite.wsgi", env=env)
    children = [
        _celery("launcher", "inject", env.get("BENCHSITE_INJECTOR_SLOTS") or DEFAULT_SLOTS, env),
        _celery("general", "general", "1", env),
        _python("dispatcher", "workers.dispatcher", env=env),
    ]
    for number, each in enumerate(children):
        pulse = Path(env["BENCHSITE_VAR"]) / f"{each.name}.pulse"
        own = {**env, "BENCHSITE_PULSE": str(pulse)}
        children[number] = replace(each, env=own, pulse=pulse, silent_s=HANGS_AFTER_S)
    # Injectors are children of the launcher, and would inherit it.
    return [
        replace(each, gives_way=gives_way and each.name != "launcher") for each in (web, *children)
    ]


def demo(env: dict[str, str], ports: Ports, var: Path, *more: str) -> Program:
    """The bundled target, with a plain and a TLS port."""
    (var / "demo").mkdir(parents=True, exist_ok=True)
    arguments = ["--http-port", str(ports.demo_http), "--https-port", str(ports.demo_https)]
    arguments += ["--cert-dir", str(var / "demo"), *more]
    return _python("demo-target", "workers.echo", *arguments, env=env)


def manage(*arguments: str, env: dict[str, str]) -> Program:
    """A Django management command."""
    return Program(f"manage-{arguments[0]}", (sys.executable, "manage.py", *arguments), env)


def _celery(name: str, queue: str, slots: str, env: dict[str, str]) -> Program:
    arguments = ["-A", "benchsite", "worker", "-Q", queue, "-c", slots, "--pool", "prefork"]
    arguments += ["-n", f"{name}@%h", "--without-gossip", "--without-mingle", "-l", "INFO"]
    worker = _python(name, "celery", *arguments, env=env)
    # If the supervisor is killed nobody sends SIGQUIT after SIGTERM, so the load would go on.
    return replace(worker, stop_signals=CELERY_STOP, death_signal=signal.SIGKILL)


def _python(name: str, module: str, *arguments: str, env: dict[str, str]) -> Program:
    return Program(name, (sys.executable, "-m", module, *arguments), env)


def plain_environment() -> dict[str, str]:
    """Our environment without variables that override DATABASE_URL in PostgreSQL clients."""
    own = {"PYTHONUNBUFFERED": "1", "DJANGO_SETTINGS_MODULE": "benchsite.settings"}
    return plain_env() | own


def secret_key_file(var: Path) -> Path:
    """var/secret_key, created with 50 random bytes if missing."""
    path = var / "secret_key"
    if path.exists() and path.stat().st_size:
        return path
    # Beside it first: a disk that is full must not leave an empty one, which no start could use.
    fresh = path.with_suffix(".new")
    fresh.touch(0o600)
    fresh.write_text(secrets.token_urlsafe(50))
    return fresh.rename(path)


# Migrations make the tables, models the rows of permissions; packages have both as well.
_TABLES_ARE_MADE_BY = (
    *("requirements.txt", "benchsite/settings.py", "campaigns/apps.py"),
    *("campaigns/migrations/**/*.py", "campaigns/models/**/*.py"),
)
_STATIC_FILES_ARE_MADE_BY = (
    *("requirements.txt", "package-lock.json", "benchsite/settings.py"),
    *("benchsite/staticfiles.py", "static/**/*"),
)


def make_tables(supervisor: Supervisor, env: dict[str, str]) -> None:
    """Fill the database that env names. To migrate takes longer than most of what developers run
    all day, so what the migrations made is kept in var/ as SQL until what they depend on changes.
    """
    folder = private_folder(var_dir() / "tests")
    cache = folder / f"{_digest(_TABLES_ARE_MADE_BY)}.sql"
    if cache.exists():
        quiet = ("--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--single-transaction")
        output_of("psql", *quiet, f"--file={cache}", env["DATABASE_URL"])
        return
    run_or_fail(supervisor, manage("migrate", "--no-input", "-v", "0", env=env))
    # Several runs may be under way in a checkout: each writes its own file.
    fresh = folder / f"{os.getpid()}.new"
    output_of("pg_dump", "--no-owner", f"--file={fresh}", env["DATABASE_URL"])
    for old in folder.glob("*.sql"):
        old.unlink(missing_ok=True)
    fresh.rename(cache)


def run_or_fail(supervisor: Supervisor, *together: Program) -> str:
    """Run programs at the same time; returns the last one's output. Raises LocalError with the last
    line of the first that fails, and with the end of its log where that says more than a sentence,
    such as of a wrong setting."""
    jobs = [(program, supervisor.log(program.name)) for program in together]
    for _program, log in jobs:
        log.unlink(missing_ok=True)
    for (program, log), status in zip(jobs, supervisor.run_together(jobs), strict=True):
        if status:
            end = tail(log)
            *before, last = end.splitlines() or [""]
            message = f"{program.name} failed: {last.strip()}\n{end}"
            raise LocalError(message if before or not last else last.strip())
    return jobs[-1][1].read_text()


def _digest(patterns: Sequence[str]) -> str:
    """Of the names and contents of a checkout's files."""
    files = sorted({path for each in patterns for path in ROOT.glob(each) if path.is_file()})
    return digest_of(*(str(path.relative_to(ROOT)) for path in files), *files)


class Site:
    """Start with `start()`, watch and stop through `supervisor`."""

    is_throw_away = False
    target_options: tuple[str, ...] = ()

    def __init__(self, var: Path, ports: Ports):
        self.var = var
        self.ports = ports
        self.supervisor = Supervisor(var / "log")
        self.url = f"http://{LOOPBACK}:{ports.web}"
        self.env: dict[str, str] = {}

    def start(self) -> tuple[str, str]:
        """Start everything, wait until the web server responds; returns the first account, with ""
        for the password if an earlier start made it."""
        with step("Starting PostgreSQL and Redis"):
            urls = start_servers(self.supervisor, self.var, is_throw_away=self.is_throw_away)
        self.env = self._environment() | urls
        self.prepare()
        with step("Starting web, launcher, general worker, dispatcher and demo target"):
            self.supervisor.start(demo(self.env, self.ports, self.var, *self.target_options))
            for program in programs(self.env, gives_way=not self.is_throw_away):
                self.supervisor.start(program)
            account = self._ensure_admin()
            ports = self.ports
            for name, is_ready in (
                ("web", lambda: 0 < status_of(ports.web, "/healthz", 5) < 500),
                ("demo-target", lambda: listens(ports.demo_http) and listens(ports.demo_https)),
            ):
                self.supervisor.wait_until(is_ready, STARTS_WITHIN_S, name)
        return account

    def prepare(self) -> None:
        """Bring the database and the static files up to date."""
        with step("Migrating the database and collecting static files"):
            self.collect_static(manage("migrate", "--no-input", "-v", "0", env=self.env))

    def collect_static(self, *beside: Program) -> None:
        """Collect what has changed, at the same time as these programs."""
        stamp = self.var / "static" / ".benchsite-collected"
        digest = _digest(_STATIC_FILES_ARE_MADE_BY)
        if not is_stamped(stamp, digest):
            beside += (manage("collectstatic", "--no-input", "-v", "0", env=self.env),)
        if beside:
            run_or_fail(self.supervisor, *beside)
        stamp.write_text(digest)

    def run_sample(self, *arguments: str) -> int:
        """Run `manage.py sample` with its tables on our terminal; returns its exit status."""
        ports = ("--http-port", str(self.ports.demo_http), "--https-port")
        program = manage("sample", *ports, str(self.ports.demo_https), *arguments, env=self.env)
        return self.supervisor.run_to_end(program)

    def _environment(self) -> dict[str, str]:
        bind = f"{LOOPBACK}:{self.ports.web}"
        env = plain_environment() | {"BENCHSITE_VAR": str(self.var), "BENCHSITE_BIND": bind}
        env["BENCHSITE_URL"] = env.get("BENCHSITE_URL") or self.url
        env.setdefault("BENCHSITE_REFERENCE_TARGET", f"http://{LOOPBACK}:{self.ports.demo_http}")
        if not env.get(NETWORKS) and (self.var / "networks").exists():
            env[NETWORKS] = (self.var / "networks").read_text().strip()
        env.pop("BENCHSITE_ADMIN_PASSWORD", None)  # only one command needs it
        if not (env.get("BENCHSITE_SECRET_KEY") or env.get("BENCHSITE_SECRET_KEY_FILE")):
            env["BENCHSITE_SECRET_KEY_FILE"] = str(secret_key_file(self.var))
        return env

    def _ensure_admin(self) -> tuple[str, str]:
        """Passes the password by environment, so that no log or process list shows it."""
        name = os.environ.get("BENCHSITE_ADMIN") or "admin"
        preset = os.environ.get("BENCHSITE_ADMIN_PASSWORD", "")
        password = preset or secrets.token_urlsafe(12)
        env = {**self.env, "BENCHSITE_ADMIN": name, "BENCHSITE_ADMIN_PASSWORD": password}
        command = manage("ensure_admin", *(() if preset else ("--only-if-missing",)), env=env)
        output = run_or_fail(self.supervisor, command)
        return name, "" if "already exists" in output else password
