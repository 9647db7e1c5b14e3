"""`make run` and `make demo-target`: everything with the sample, or the bundled target alone."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from local.base import ROOT, LocalError, closed, fail, say, var_dir
from local.network import LOOPBACK, Ports, confirm_networks, ports_from_environment, refuse_taken
from local.site import Account, Site, demo, plain_environment
from local.supervisor import StopRequested, Supervisor

FOREVER_S = 3600.0


def run(arguments: list[str]) -> int:
    """The exit status: 0 after Ctrl-C or, with ONCE=1, after the sample's tables are printed."""
    try:
        var = var_dir()
        with only_one(var):
            ports = ports_from_environment()
            refuse_taken(ports, "make run")
            confirm_networks(var)
            return _serve(Site(var, ports), "--once" in arguments)
    except LocalError as error:
        return fail(str(error))


@contextmanager
def only_one(var: Path) -> Iterator[None]:
    """Hold the checkout's lock; a second start fails because one is already running."""
    closed(var, 0o711)  # root's PostgreSQL runs as nobody, which needs to traverse it
    path = var / "run.lock"
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise LocalError(
                f"benchsite is already running in this checkout (process {lock.read().strip()}). "
                "Stop it with Ctrl-C, or use it."
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
        lock.truncate(0)


def _serve(site: Site, is_once: bool) -> int:
    site.supervisor.stop_on_signals()
    say(f"benchsite in {ROOT}")
    for variable, what in (("DATABASE_URL", "PostgreSQL"), ("REDIS_URL", "Redis")):
        if os.environ.get(variable):
            say(f"  {what}: using {variable}")
    try:
        account = site.start()
        greet(site, account)
        status = site.run_sample("--wait", *(() if is_once else ("--unless-done",)))
        if is_once:
            return status
        if status:
            say("The sample campaign failed (reason above). benchsite keeps running.")
        say(
            f"\nServing {site.url} (Ctrl-C stops everything; logs are in {site.supervisor.log_dir})"
        )
        while True:
            site.supervisor.wait(FOREVER_S)
    except StopRequested:
        return 130 if is_once else 0
    finally:
        say("Stopping …")
        site.stop()
        say("Stopped all processes.")


def greet(site: Site, account: Account) -> None:
    say(f"\n  Address   {site.url}")
    say(f"  Account   {account.name}")
    if os.environ.get("BENCHSITE_ADMIN_PASSWORD"):  # not repeated: our output may go to a log
        say("  Password  that of BENCHSITE_ADMIN_PASSWORD (stored as a hash)\n")
    elif account.password:
        say(f"  Password  {account.password}   (shown only once; stored as a hash)\n")
    else:
        say(
            "  Password  as shown at the first start (forgotten? "
            "BENCHSITE_ADMIN_PASSWORD=… make run sets a new one)\n"
        )


def demo_target(_arguments: Sequence[str] = ()) -> int:
    try:
        ports = ports_from_environment()
        # Only its own two ports matter: the web server may be running too.
        refuse_taken(Ports(0, ports.demo_http, ports.demo_https), "make demo-target")
    except LocalError as error:
        return fail(str(error))
    var = var_dir()
    supervisor = Supervisor(var / "log")
    supervisor.stop_on_signals()
    supervisor.start(demo(plain_environment(), ports, var))
    say(f"http://{LOOPBACK}:{ports.demo_http}/ and https://{LOOPBACK}:{ports.demo_https}/")
    say("Press Ctrl-C to stop both.")
    try:
        while True:
            supervisor.wait(3600)
    except StopRequested:
        return 0
    finally:
        supervisor.stop_all()
