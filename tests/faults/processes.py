"""The real processes of an installation on the test's database, to be killed one by one."""

import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

LEASES = {"BENCHSITE_HEARTBEAT_S": "1", "BENCHSITE_DEAD_MAN_S": "4", "BENCHSITE_LEASE_S": "6"}

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
                env={**os.environ, **LEASES, **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

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


class Site:
    """A dispatcher and a Celery worker for injectors; a test kills and starts them."""

    def __init__(self, folder: Path, redis_url: str):
        self.folder = folder
        self._environment = {
            "DATABASE_URL": _test_database_url(),
            "REDIS_URL": redis_url,
            "BENCHSITE_VAR": str(folder),
            "BENCHSITE_INJECTOR_NAME": "faults",
            "PGAPPNAME": APPLICATION,
        }
        self.dispatcher = self.start_dispatcher()
        self.worker = self.start_worker()

    def start_dispatcher(self) -> Process:
        self.dispatcher = self._start("dispatcher", ["workers.dispatcher"])
        return self.dispatcher

    def start_worker(self) -> Process:
        options = ["-Q", "inject", "-c", "2", "-l", "INFO", "--without-gossip", "--without-mingle"]
        command = ["celery", "-A", "benchsite", "worker", "-n", "faults@%h", *options]
        self.worker = self._start("worker", command)
        return self.worker

    def _start(self, name: str, command: list[str]) -> Process:
        return Process(name, command, self.folder, **self._environment)

    def injectors(self) -> list[int]:
        """Process ids of the injectors that this site's launchers have started."""
        return [
            pid
            for launcher in children(self.worker.pid)
            for pid in children(launcher)
            if b"workers.injector" in _command_line(pid)
        ]

    def launcher_of(self, injector: int) -> int:
        return _parent(injector)

    def end(self) -> None:
        # A killed worker takes its children with it, and Celery's own way out takes seconds.
        pool = children(self.worker.pid)
        self.worker.kill()
        self.dispatcher.end()
        eventually(lambda: not any(map(is_alive, pool)), 10, "the worker's children are gone")


def children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def is_alive(pid: int) -> bool:
    """A zombie sends nothing: it counts as gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _test_database_url() -> str:
    name = connection.settings_dict["NAME"]
    return urlsplit(settings.DATABASE_URL)._replace(path=f"/{name}").geturl()


def eventually(is_so, within_s: float, what: str):
    """The first true answer of `is_so`. Fails after `within_s`, naming what did not happen."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if answer := is_so():
            return answer
        time.sleep(0.1)
    raise AssertionError(f"not within {within_s:g} s: {what}")
