"""A launcher with a small program in the injector's place."""

import errno
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from django.db import connection

from campaigns.models import Campaign, Run
from tests.waiting import eventually
from workers import launcher

# Its seconds are short: nothing depends on their length.
FAKE = (sys.executable, str(Path(__file__).with_name("fake_injector.py")), "--second-s", "0.2")


def launch(*options: str) -> bool:
    return launcher.launch_one(worker="w", host="host 1", command=(*FAKE, *options))


def in_background(*options: str) -> threading.Thread:
    return in_thread(lambda: launch(*options))


def sending(run: Run, *options: str) -> threading.Thread:
    """The launcher of a run that has stored its first seconds."""
    thread = in_background(*options)
    when(run, lambda: run.seconds.exists())
    return thread


def in_thread(act: Callable[[], object]) -> threading.Thread:
    """With a connection of its own."""

    def work():
        try:
            act()
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def done(run: Run, within_s: float = 10) -> Run:
    return when(run, lambda: run.state == "done", within_s)


def when(run: Run, is_so, within_s: float = 10) -> Run:
    eventually(lambda: run.refresh_from_db() or is_so(), within_s, f"what {run} was to come to")
    return run


def work_until(is_so) -> None:
    """Do what the workers of a host do."""

    def works() -> bool:
        launcher.launch_one(worker="w", host="host 1")
        return is_so()

    eventually(works, 60, "what the campaign was to come to")


def is_done(campaign: Campaign) -> bool:
    return Campaign.objects.get(pk=campaign.pk).state == "done"


def read_only(*_, **__):
    raise OSError(errno.EROFS, "Read-only file system")
