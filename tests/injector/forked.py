"""Injectors forked from a process that has imported what they need.

Imports take 0.3 s of processor time, what most documented cases ask of an injector a few ms. How it
starts and dies as a program is asked of one that was started (test_program.py).
"""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path


class Nursery:
    """`fork` gives an injector; a context manager."""

    def __enter__(self):
        self._calls, theirs = socket.socketpair()
        command = [sys.executable, "-m", __name__, str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        return self

    def __exit__(self, *_):
        self._calls.close()
        self._process.wait(10)

    def fork(self):
        (stdin, ours), *pipes = (os.pipe() for _ in range(4))
        theirs = [stdin, *(write for _, write in pipes)]
        socket.send_fds(self._calls, [b"."], theirs)
        for fd in theirs:
            os.close(fd)
        return Forked(ours, *(read for read, _ in pipes))


class Forked:
    """What tests use of a subprocess.Popen with three pipes of text."""

    def __init__(self, stdin: int, stdout: int, stderr: int, status: int):
        self.stdin = os.fdopen(stdin, "w")
        self.stdout, self.stderr, self._status = map(os.fdopen, (stdout, stderr, status))
        self.pid = int(self._status.readline())
        self.returncode = None

    def wait(self, timeout=None):
        if self.returncode is None:
            # Not `select`, which takes no number above 1,023: tests before may hold many files.
            poll = select.poll()
            poll.register(self._status, select.POLLIN)
            if not poll.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired("injector", timeout)
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode

    def kill(self):
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def serve(calls: socket.socket) -> int:
    """Fork for each call, until nobody can call any more. An injector ends with its exit status, as
    if it had been started."""
    from workers.injector import program

    gc.collect()
    gc.freeze()  # an injector that looked through all of it would have to copy it, too
    while streams := socket.recv_fds(calls, 1, 4)[1]:
        if not os.fork():
            calls.close()
            keep(*streams)
            status = program.main()
            sys.stdout.flush()
            os._exit(status)
        for fd in streams:
            os.close(fd)
        wait_for_children(os.WNOHANG)
    wait_for_children(0)
    return 0


def wait_for_children(how: int) -> None:
    """Also for their processor time to be counted."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, how)[0]:
            pass


def keep(*streams: int) -> None:
    """Returns in the injector alone. Its parent tells its number and how it ended."""
    *standard, report = streams
    pid = os.fork()
    if not pid:
        os.close(report)
        for number, fd in enumerate(standard):
            os.dup2(fd, number)
            os.close(fd)
        return
    for fd in standard:
        os.close(fd)
    os.write(report, f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    os.write(report, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


if __name__ == "__main__":
    sys.exit(serve(socket.socket(fileno=int(sys.argv[1]))))


OURS = (sys.executable, "-m", "workers.injector")
# The same, but forked from a process that has imported it (forked.py).
FORKED = ("workers.injector",)
# Written from docs/injector.md alone.
OTHER = (sys.executable, str(Path(__file__).parents[1] / "workers" / "other_injector"))
_REST_S = 60


def launch(command):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, text=True, **pipes)


class Program:
    """An injector process and its pipes."""

    def __init__(self, process, order):
        self.process = process
        self.requests = []
        self.say(order)

    def say(self, message):
        self.process.stdin.write(
            (message if isinstance(message, str) else json.dumps(message)) + "\n"
        )
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def start(self):
        ready = self.hear()
        assert ready["type"] == "ready", ready
        self.say({"start_at_ns": time.monotonic_ns() + 50_000_000})
        return ready

    def rest(self):
        """One that waits for what does not come is killed, so that a test fails and not stands. The
        lines of single requests are in `requests`."""
        limit = threading.Timer(_REST_S, self.process.kill)
        limit.start()
        try:
            lines = [json.loads(line) for line in self.process.stdout]
            self.requests = [line for line in lines if line["type"] == "requests"]
            messages = [line for line in lines if line["type"] != "requests"]
            return messages, self.process.wait(5)
        finally:
            limit.cancel()
