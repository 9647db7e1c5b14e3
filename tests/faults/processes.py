"""The real processes of an installation on the test's database, to be killed one by one."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

from campaigns.models import InjectorHost
from tests.process_tree import children, command_of, is_alive
from tests.waiting import eventually
from workers.dispatching import Dispatcher

LEASES = {"HEARTBEAT_S": 1, "DEAD_MAN_S": 4, "LEASE_S": 6}

# How PostgreSQL knows the connections of these processes from the test's own.
APPLICATION = "faults"


class Process:
    """One program of ours, with its log in a file."""

    def __init__(self, name: str, command: list[str], folder: Path, **environment: str):
        self.log = folder / f"{name}.log"
        with self.log.open("ab") as log:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=settings.BASE_DIR,
                env={**os.environ, **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def has_ended(self) -> bool:
        return self._popen.poll() is not None

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """As the kernel or an angry operator does it."""
        self._popen.kill()
        self._popen.wait()

    def end(self) -> None:
        if self._popen.poll() is None:
            self._popen.terminate()
        try:
            self._popen.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()


class DispatcherThread:
    """The dispatcher in the test's own process: its program takes two seconds of a processor to
    start, and most tests are about what others do."""

    def __init__(self):
        self._end = threading.Event()
        self._thread = threading.Thread(target=Dispatcher(self._end).run)
        self._thread.start()

    def end(self) -> None:
        self._end.set()
        self._thread.join(15)
        assert not self._thread.is_alive()


class Site:
    """A Celery worker for injectors and a dispatcher; a test kills and starts them."""

    dispatcher: Process | DispatcherThread

    def __init__(self, folder: Path, redis_url: str):
        self.folder = folder
        self._environment = {
            "DATABASE_URL": database_url(),
            "REDIS_URL": redis_url,
            "BENCHSITE_VAR": str(folder),
            "BENCHSITE_INJECTOR_NAME": "faults",
            "BENCHSITE_PULSE": str(folder / "worker.pulse"),
            "PGAPPNAME": APPLICATION,
            **{f"BENCHSITE_{name}": str(seconds) for name, seconds in LEASES.items()},
        }
        self.start_worker()

    def begin(self) -> None:
        """For a test; the one before may have left no worker. A new one needs seconds to load its
        code, on a busy machine many, which no test is about."""
        if self.worker.has_ended:
            self.start_worker()
        self.lead()
        if not self._is_known:
            eventually(InjectorHost.objects.exists, 60, "the worker announces its host")
            self._is_known = True

    def rest(self) -> None:
        """Nobody but a dispatcher works with several tables, which are about to be emptied."""
        self.dispatcher.end()

    def lead(self) -> None:
        """Begin to dispatch."""
        self.dispatcher = DispatcherThread()

    def lead_by_a_process(self) -> Process:
        """In the place of the thread: one that may be killed."""
        self.dispatcher.end()
        self.dispatcher = process = self._start("dispatcher", ["workers.dispatcher"])
        return process

    def start_worker(self) -> Process:
        options = ["-Q", "inject", "-c", "2", "-l", "INFO", "--without-gossip", "--without-mingle"]
        command = ["celery", "-A", "benchsite", "worker", "-n", "faults@%h", *options]
        self.worker = self._start("worker", command)
        self._is_known = False
        return self.worker

    def _start(self, name: str, command: list[str]) -> Process:
        return Process(name, command, self.folder, **self._environment)

    def injectors(self) -> list[int]:
        """Process ids of the injectors that this site's launchers have started."""
        return [
            pid
            for launcher in children(self.worker.pid)
            for pid in children(launcher)
            if "workers.injector" in command_of(pid)
        ]

    def launcher_of(self, injector: int) -> int:
        return _parent(injector)

    def end(self) -> None:
        # A killed worker takes its children with it, and Celery's own way out takes seconds.
        pool = children(self.worker.pid)
        self.worker.kill()
        eventually(lambda: not any(map(is_alive, pool)), 10, "the worker's children are gone")


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def database_url() -> str:
    name = connection.settings_dict["NAME"]
    return urlsplit(settings.DATABASE_URL)._replace(path=f"/{name}").geturl()
