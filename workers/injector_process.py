"""The injector as a child process: takes an order, writes JSON lines, dies with its parent.

Checks an injector's lines against docs/injector.md before any of them is stored.

An unreadable second would break the run's summary and pages long after its injector is gone. So
every line's structure is checked, and each timing's histograms until one decodes: an encoder is
either right or wrong, and decoding all would take CPU time from the load."""

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

from campaigns.domain.errors import CorruptHistogram
from campaigns.domain.metrics.histogram import Histogram
from campaigns.domain.metrics.injector_end import ArmsRound
from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.metrics.snapshot import TIMINGS, Total

logger = logging.getLogger(__name__)

MOST_LOG_LINES = 20
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)
# The injector talks to foreign servers: it must not see our passwords, keys or addresses.
_PASSED_VARIABLES = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH")
_PASSED_PREFIXES = ("LC_", "PYTHON", "SSL_CERT_", "GEVENT", "RES_")
# NUL, and halves of a pair of surrogates; first as a line of JSON has them, whole pairs included.
_MAYBE_UNSTORABLE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\xed[\xa0-\xbf]")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class OutputEnded(Exception):
    """The injector has closed its output; there are no more lines."""


class InjectorProcess:
    """A running injector. Only `next_message` (up to its timeout) and `end` wait for it."""

    def __init__(self, order: dict[str, Any], command=None):
        env = {
            name: value
            for name, value in os.environ.items()
            if name in _PASSED_VARIABLES or name.startswith(_PASSED_PREFIXES)
        }
        self._process = subprocess.Popen(
            command or settings.INJECTOR_COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=settings.BASE_DIR,
            env=env,
            start_new_session=True,  # Ctrl-C is the launcher's to handle
            preexec_fn=bind_child,
        )
        self._to_write: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._log: deque[str] = deque(maxlen=MOST_LOG_LINES)
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
        try:
            message = json.loads(line or b"")
        except ValueError:
            raise OutputEnded from None
        if not isinstance(message, dict) or "type" not in message:
            raise OutputEnded
        return _storable(message) if _MAYBE_UNSTORABLE.search(line) else message

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
        status = self._process.returncode
        sentence = f"The injector exited with status {status}."
        if status < 0:
            sentence = f"The injector was killed by {signal.Signals(-status).name}."
        tail = " / ".join(filter(None, list(self._log)[-3:]))
        return f"{sentence} Its last output: {tail}" if tail else sentence

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


def bind_child() -> None:
    """In an injector before it starts: it dies with its parent, and has a memory limit."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    limit_bytes = settings.INJECTOR_MEMORY_MB * 1024 * 1024
    hard_limit = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard_limit == resource.RLIM_INFINITY or limit_bytes < hard_limit:
        resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))


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


_KINDS = frozenset(Kind)
_OF_HANDSHAKES = ("chain_bytes", "bytes_sent", "bytes_received")
_MOMENTS = ("n", "sum_us", "sum_squares", "min_us", "max_us")
_MOST_ADDRESSES = 64


class SecondChecker:
    """Checks every second of one injector."""

    def __init__(self) -> None:
        self._places: set[tuple[int, int, int]] = set()
        self._good_encoders: set[str] = set()

    def fault(self, second: dict[str, Any]) -> str | None:
        """What is wrong with the line, as the end of a sentence, or None."""
        if fault := _shape_fault(second):
            return fault
        place = (second["second"], second["step"], second.get("arm", 0))
        if place in self._places:
            return "second {} of step {} came twice".format(*place)
        self._places.add(place)
        for name, timing in second["timings"].items():
            if fault := self._timing_fault(name, timing):
                return f"timings.{name}: {fault}"
        return None

    def _timing_fault(self, name: str, timing: Any) -> str | None:
        if name not in TIMINGS:
            return "no such timing"
        if not isinstance(timing, dict) or not all(_is_whole(timing.get(m)) for m in _MOMENTS):
            return f"{', '.join(_MOMENTS)} must be whole numbers"
        if timing["n"] == 0 or name in self._good_encoders:
            return None
        try:
            n_values = Histogram.decode(timing.get("histogram", "")).n
        except (CorruptHistogram, TypeError) as error:
            return f"histogram: {error}"
        if n_values != timing["n"]:
            return f"n is {timing['n']}, and the histogram has {n_values}"
        self._good_encoders.add(name)
        return None


def _shape_fault(second: dict[str, Any]) -> str | None:
    for name in ("second", "step", "in_flight"):
        if not _is_whole(second.get(name)):
            return f"{name} is not a whole number"
    for name in ("counters", "errors", "statuses"):
        if not _is_counted(second.get(name)):
            return f"{name} is not an object of counts"
    if unknown := sorted(second["errors"].keys() - _KINDS):
        return f"errors: there is no kind {unknown[0]!r}"
    if not isinstance(second.get("timings"), dict):
        return "timings is not an object"
    if "vitals" not in second or not isinstance(second["vitals"], dict | None):
        return "vitals is neither an object nor null"
    details = second.get("details", {})
    if not isinstance(details, dict) or not all(map(_is_counted, details.values())):
        return "details is not an object of counted texts by kind"
    if not _are_examples(second.get("examples", [])):
        return "examples is not a list of examples"
    return None


OF_A_PACE = ("slice_s", "gap_s", "rate_per_s", "keeps_up")


def pace_fault(line: dict[str, Any]) -> str | None:
    """What is wrong with a pace, as the end of a sentence, or None."""
    if missing := [name for name in (*OF_A_PACE, "connections") if name not in line]:
        return f"the pace lacks {missing[0]!r}"
    numbers = [line["slice_s"], line["gap_s"], line["rate_per_s"] or 0, *line["connections"]]
    is_right = all(isinstance(each, int | float) for each in numbers)
    return None if is_right else "the pace's numbers are none"


def round_fault(line: dict[str, Any]) -> str | None:
    """What is wrong with a round, as the end of a sentence, or None."""
    try:
        each = ArmsRound.from_json(line)
    except (KeyError, TypeError, AttributeError) as error:
        return f"the round lacks {error}"
    numbers = [each.number, each.began_us, *each.order]
    numbers += [getattr(arm, name) for arm in each.arms for name in ("n", "failed", "spilled")]
    if not all(map(_is_whole, numbers)) or sorted(each.order) != [*range(len(each.arms))]:
        return "the round's numbers are not whole, or its order is not of its arms"
    return None


def end_fault(end: dict[str, Any]) -> str | None:
    """What is wrong with an end line, as the end of a sentence, or None. It may lack anything, but
    one of several arms."""
    for arm in end.get("arms", ()):
        if fault := end_fault(arm):
            return fault
    for is_right, words, names in _END:
        for name in names:
            if end.get(name) is not None and not is_right(end[name]):
                return f"{name} is not {words}"
    return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_handshakes(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict)
        and _is_text(each.get("version"))
        and _is_text(each.get("cipher"))
        and _is_whole(each.get("count"))
        and all(_is_text(each.get(name) or "") for name in ("group", "certificate"))
        and all(_is_whole(each.get(name) or 0) for name in _OF_HANDSHAKES)
        for each in value
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_examples(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict)
        and each.get("kind") in _KINDS
        and _is_whole(each.get("status"))
        and _is_whole(each.get("at_us"))
        and all(_is_text(each.get(name)) for name in ("request", "reply", "detail"))
        and (each.get("body_bytes") is None or _is_whole(each["body_bytes"]))
        for each in value
    )


def _are_totals(value: Any) -> bool:
    """By address; no name has more addresses than an injector keeps."""
    if not isinstance(value, dict) or len(value) > _MOST_ADDRESSES:
        return False
    try:
        totals = [Total.from_json(each) for each in value.values()]
    except (AttributeError, CorruptHistogram, KeyError, TypeError, ValueError):
        return False
    return all(map(_is_counted, (part for t in totals for part in (t.counters, t.errors))))


def _is_counted(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_whole(n) and n >= 0 for n in value.values())


_WHOLE_OF_END = (
    "in_flight", "sessions_in_flight", "duration_us", "sending_us", "measured_us", "tail_us",
    "cpu_us", "cpu_user_us", "connect_burst", "connections_at_once", "streams_limit",
)  # fmt: skip
_END = (
    (_is_text, "a text", ("outcome", "reason", "tls_library", "certificate_der_b64")),
    (_are_texts, "a list of texts", ("servers", "warnings")),
    (_is_counted, "an object of counts", ("totals", "errors", "peers")),
    (_are_totals, "an object of totals", ("by_peer",)),
    (_are_handshakes, "a list of handshakes with version, cipher and count", ("tls",)),
    (_is_whole, "a whole number", _WHOLE_OF_END),
)
