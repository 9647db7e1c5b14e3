"""`make run`: start everything, show the sample once, serve until Ctrl-C."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.console import LocalError, fail, say
from local.networks import confirm_networks
from local.paths import ROOT, closed, var_dir
from local.ports import ports_from_environment, refuse_taken
from local.servers import announce_foreign_servers
from local.site import Account, Site
from local.supervisor import StopRequested

FOREVER_S = 3600.0


def run(is_once: bool) -> int:
    """The exit status: 0 after Ctrl-C or, with ONCE=1, after the sample's tables are printed."""
    try:
        var = var_dir()
        with only_one(var):
            ports = ports_from_environment()
            refuse_taken(ports, "make run")
            confirm_networks(var)
            return _serve(Site(var, ports), is_once)
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
    announce_foreign_servers()
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
