"""The processes of an installation, as docker-compose.yml has them, for the supervisor."""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from local.children import Program
from local.ports import Ports

# On SIGTERM Celery finishes its task, which may be a run of hours; on SIGQUIT it drops it.
CELERY_STOP = ((signal.SIGTERM, 4.0), (signal.SIGQUIT, 4.0))
# The Uniserve study's sweep goes up to 12. The number of simultaneous runs is limited separately.
DEFAULT_SLOTS = "12"


def programs(env: dict[str, str], *, gives_way: bool) -> list[Program]:
    """Our own processes of docker-compose.yml. `gives_way`: all but the launcher leave the CPU to
    injectors and target first, which they share a machine with."""
    slots = env.get("BENCHSITE_INJECTOR_SLOTS") or DEFAULT_SLOTS
    found = [
        _python("web", "gunicorn", "-c", "benchsite/gunicorn.py", "benchsite.wsgi", env=env),
        _worker("launcher", "inject", slots, env),
        _worker("general", "general", "1", env),
        _dispatcher(env),
    ]
    # Injectors are children of the launcher, and would inherit it.
    return [replace(each, gives_way=gives_way and each.name != "launcher") for each in found]


def demo(env: dict[str, str], ports: Ports, var: Path, arrivals: Path | None = None) -> Program:
    """The bundled target, with a plain and a TLS port; optionally logs each request's arrival."""
    (var / "demo").mkdir(parents=True, exist_ok=True)
    arguments = ["--http-port", str(ports.demo_http), "--https-port", str(ports.demo_https)]
    arguments += ["--cert-dir", str(var / "demo")]
    arguments += ["--log", str(arrivals)] if arrivals else []
    return _python("demo-target", "workers.echo", *arguments, env=env)


def manage(*arguments: str, env: dict[str, str]) -> Program:
    """A Django management command."""
    return Program(
        name=f"manage-{arguments[0]}",
        command=(sys.executable, "manage.py", *arguments),
        env=env,
    )


def plain_environment() -> dict[str, str]:
    """Our environment without variables that override DATABASE_URL in PostgreSQL clients."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**env, "PYTHONUNBUFFERED": "1", "DJANGO_SETTINGS_MODULE": "benchsite.settings"}


def _dispatcher(env: dict[str, str]) -> Program:
    # Summaries, which may take minutes, are made beside the ticks.
    return _with_a_pulse(_python("dispatcher", "workers.dispatcher", env=env))


def _with_a_pulse(program: Program) -> Program:
    pulse = Path(program.env["BENCHSITE_VAR"]) / f"{program.name}.pulse"
    env = {**program.env, "BENCHSITE_PULSE": str(pulse)}
    return replace(program, env=env, pulse=pulse, silent_s=120.0)


def _worker(name: str, queue: str, slots: str, env: dict[str, str]) -> Program:
    arguments = ["-A", "benchsite", "worker", "-Q", queue, "-c", slots, "--pool", "prefork"]
    arguments += ["-n", f"{name}@%h", "--without-gossip", "--without-mingle", "-l", "INFO"]
    # If the supervisor is killed nobody sends SIGQUIT after SIGTERM, so the load would go on.
    return _with_a_pulse(
        _python(
            name,
            "celery",
            *arguments,
            env=env,
            stop_signals=CELERY_STOP,
            death_signal=signal.SIGKILL,
        )
    )


def _python(
    name: str, module: str, *arguments: str, env: dict[str, str], **options: object
) -> Program:
    return Program(
        name=name, command=(sys.executable, "-m", module, *arguments), env=env, **options
    )
