"""The injector as a child process: takes an order, writes JSON lines, dies with its parent."""

import contextlib
import ctypes
import json
import logging
import os
import queue
import re
import resource
import signal
import subprocess
import threading
from collections import deque
from typing import Any

from django.conf import settings

logger = logging.getLogger(__name__)

KEPT_LOG_LINES = 20
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)
# The injector talks to foreign servers: it must not see our passwords, keys or addresses.
_KEPT_ENVIRONMENT = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH")
_KEPT_PREFIXES = ("LC_", "PYTHON", "SSL_CERT_", "GEVENT", "RES_")
# NUL, and halves of a pair of surrogates; first as a line of JSON has them, whole pairs included.
_MAYBE_UNSTORABLE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\xed[\xa0-\xbf]")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class OutputEnded(Exception):
    """The injector has closed its output; there are no more lines."""


class InjectorProcess:
    """A running injector. Only `next_message` (up to its timeout) and `end` wait for it."""

    def __init__(self, order: dict[str, Any], command=None):
        self._process = subprocess.Popen(
            command or settings.INJECTOR_COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=settings.BASE_DIR,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is the launcher's to handle
            preexec_fn=bind_child,
        )
        self._to_write: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._log: deque[str] = deque(maxlen=KEPT_LOG_LINES)
        self._threads = [
            threading.Thread(target=work, daemon=True)
            for work in (self._write, self._read, self._read_log)
        ]
        try:
            for thread in self._threads:
                thread.start()
        except RuntimeError:  # the host allows no more of them
            self.abandon()
            raise
        self.tell(order)

    @property
    def pid(self) -> int:
        return self._process.pid

    def tell(self, message: dict[str, Any]) -> None:
        """Queue one line, written as soon as the injector reads."""
        self._to_write.put(json.dumps(message).encode() + b"\n")

    def close_input(self) -> None:
        """Close its input: the injector takes its parent for dead, stops sending and exits."""
        self._to_write.put(None)

    def kill(self) -> None:
        self._process.kill()

    def abandon(self) -> None:
        """End it before it has begun: without an order it would wait for ever."""
        self.kill()
        self._process.wait()
        self.close_input()
        for thread in filter(threading.Thread.is_alive, self._threads):
            thread.join(1)  # each closes its pipe; those that have not begun cannot
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with contextlib.suppress(OSError):
                pipe.close()

    def next_message(self, timeout_s: float) -> dict[str, Any] | None:
        """The next line, or None if none comes in time. Raises OutputEnded after the last.

        A line that is not a JSON object counts as the end: the injector died while writing it.
        """
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            return None
        message = _parsed(line) if line is not None else None
        if message is None:
            raise OutputEnded
        return message

    def end(self, grace_s: float) -> str:
        """Let it exit, kill it after `grace_s`; returns exit status and last words as text."""
        self.close_input()
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(1)
        return _in_words(self._process.returncode, list(self._log))

    def _write(self) -> None:
        with contextlib.suppress(OSError), self._process.stdin as stdin:
            while (line := self._to_write.get()) is not None:
                stdin.write(line)
                stdin.flush()

    def _read(self) -> None:
        with self._process.stdout as stdout:
            for line in stdout:
                self._lines.put(line)
        self._lines.put(None)
        self._to_write.put(None)

    def _read_log(self) -> None:
        with self._process.stderr as stderr:
            for line in stderr:
                text = _storable(line.decode(errors="replace").rstrip())
                self._log.append(text)
                logger.info("injector %s: %s", self.pid, text)


def _environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT_ENVIRONMENT or name.startswith(_KEPT_PREFIXES)
    }


def bind_child() -> None:
    """In an injector before it starts: it dies with its parent, and has a memory limit."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    limit_bytes = settings.INJECTOR_MEMORY_MB * 1024 * 1024
    hard_limit = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard_limit == resource.RLIM_INFINITY or limit_bytes < hard_limit:
        resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    if not isinstance(message, dict) or "type" not in message:
        return None
    return _storable(message) if _MAYBE_UNSTORABLE.search(line) else message


def _storable(value: Any) -> Any:
    """Not every injector keeps from its words what PostgreSQL refuses, and these may say why a run
    failed."""
    match value:
        case str():
            return _UNSTORABLE.sub("�", value)
        case list():
            return [_storable(each) for each in value]
        case dict():
            return {_storable(key): _storable(each) for key, each in value.items()}
    return value


def _in_words(returncode: int, log: list[str]) -> str:
    if returncode < 0:
        name = signal.Signals(-returncode).name
        said = f"The injector was killed by {name}."
    else:
        said = f"The injector exited with status {returncode}."
    tail = " / ".join(line for line in log[-3:] if line)
    return f"{said} Its last output: {tail}" if tail else said
