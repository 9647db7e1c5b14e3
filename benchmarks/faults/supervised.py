"""The lab's supervisor: the product's own one, with the product's programs and two injector hosts.

It is a process of its own, so that the lab can kill it as well.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.faults.network import HOSTS, at, control_address
from local.base import say
from local.site import programs
from local.supervisor import Program, StopRequested, Supervisor

SLOTS = "3"


def main() -> int:
    supervisor = Supervisor(Path(os.environ["BENCHSITE_VAR"]) / "log")
    supervisor.stop_on_signals()
    try:
        for program in installed({**os.environ, "BENCHSITE_INJECTOR_SLOTS": SLOTS}):
            supervisor.start(program)
        supervisor.wait()
    except StopRequested:
        return 0
    finally:
        say("Stopping …")
        supervisor.stop_all()


def installed(env: dict[str, str]) -> Iterator[Program]:
    """All programs of the product."""
    for program in programs(env, gives_way=False):
        if program.name == "launcher":
            yield from (_on(host, program) for host in HOSTS)
        else:
            yield program


def _on(host: str, launcher: Program) -> Program:
    own = {
        "BENCHSITE_INJECTOR_NAME": host,
        "BENCHSITE_SPOOL": f"{launcher.env['BENCHSITE_VAR']}/spool-{host}",
        "DATABASE_URL": f"postgres://benchsite@{control_address(host)}:5432/benchsite",
        "REDIS_URL": f"redis://{control_address(host)}:6379/0",
    }
    command = [f"{host}@%h" if each == "launcher@%h" else each for each in launcher.command]
    return replace(launcher, name=host, command=at(host, command), env={**launcher.env, **own})


if __name__ == "__main__":
    sys.exit(main())
