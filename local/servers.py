"""PostgreSQL and Redis: embedded ones, or those that the environment names."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from local import postgres, redis
from local.console import say
from local.supervisor import Supervisor

READY_S = 60.0


@dataclass(frozen=True)
class Servers:
    """The URLs of both; `own` are the servers that we started ourselves."""

    database_url: str
    redis_url: str
    own: tuple = ()

    def clean_up(self) -> None:
        for server in self.own:
            server.clean_up()


def start_servers(
    supervisor: Supervisor, var: Path, *, is_throw_away: bool = False, respect_urls: bool = True
) -> Servers:
    """Start those that the environment does not name; return when both respond."""
    database_url = os.environ.get("DATABASE_URL", "") if respect_urls else ""
    redis_url = os.environ.get("REDIS_URL", "") if respect_urls else ""
    own = []
    try:
        if not redis_url:
            own.append(redis.prepare(var))
            redis_url = own[-1].url
        if not database_url:
            own.append(postgres.prepare(var, is_throw_away=is_throw_away))
            database_url = own[-1].url
        _start(supervisor, own, gives_way=not is_throw_away)
    except BaseException:
        for server in own:
            server.clean_up()
        raise
    return Servers(database_url, redis_url, tuple(own))


def start_postgres(supervisor: Supervisor, var: Path) -> postgres.Postgres:
    """Only our own PostgreSQL, with its database; returns when it responds."""
    server = postgres.prepare(var)
    _start(supervisor, [server], gives_way=False)
    return server


def announce_foreign_servers() -> None:
    for variable, what in (("DATABASE_URL", "PostgreSQL"), ("REDIS_URL", "Redis")):
        if os.environ.get(variable):
            say(f"  {what}: using {variable}")


def _start(supervisor: Supervisor, own: list, *, gives_way: bool) -> None:
    for server in own:
        supervisor.start(replace(server.program, gives_way=gives_way))
    for server in own:
        name = server.program.name
        log = supervisor.log_dir / f"{name}.log"
        supervisor.wait_until(server.accepts_connections, READY_S, f"{name} (log: {log})")
        if isinstance(server, postgres.Postgres):
            server.make_database()
