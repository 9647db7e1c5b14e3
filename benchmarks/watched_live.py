"""Many viewers of one run in its last minute of an hour: `python -m benchmarks.watched_live 500`
starts the web server as `make run` does, opens a stream for each of them, lets a second arrive each
second, and notes when each viewer has it. Meanwhile pages are fetched again as often as so many
viewers do it. The database is the one that the environment names, and is empty.

A delay is from the poke that a second is stored until the viewer's process has read its event.
"""

import json
import os
import selectors
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from http.client import HTTPConnection
from typing import Any

import django
import numpy as np

from benchmarks.engine_costs import pss_mb
from benchmarks.figures import GoalRow
from benchmarks.watched_end import cpu_s, served, signed_in

VIEWERS, HOUR_S, HEARD_S = 500, 3600, 20
AT_ONCE = 20
HEARD_WITHIN_S, FOLDED_WITHIN_S = 10.0, 120.0
MOST_MS, MOST_SHARE, MOST_MB = 200, 0.08, 200
_TAIL = 64  # bytes in which the id of an event may begin that goes on with the next ones


@dataclass(frozen=True, slots=True)
class HeardSeconds:
    """`delays_ms`: of each viewer and second; the server's CPU time as a share of a core, with and
    without fetched pages, of which there were `pages_per_s`."""

    delays_ms: list[float]
    share: float
    share_with_pages: float
    pages_per_s: float
    memory_mb: float


def main(n_viewers: int) -> Iterator[GoalRow]:
    from django.core.management import call_command
    from django.urls import reverse

    from benchmarks.live_page import Watching, run_under_way

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    run = run_under_way(1, 1)
    arriving = Watching(run, 1, 1)
    arriving.arrive(HOUR_S)
    cookies = signed_in(run.campaign.project, n_viewers)
    with served() as (port, server):
        stream, page = (reverse(each, args=[run.pk]) for each in ("run-stream", "run-detail"))
        listeners = Listeners(port, stream, cookies)
        for n in (1, *_portions(n_viewers - 1)):  # the first one waits for the hour to be added up
            listeners.open(n, _id_of(HOUR_S - 1))
        time.sleep(3)  # each is told how often it may fetch its page
        seconds = ArrivingSeconds(arriving, listeners, server)
        delays_ms, share = seconds.follow(HEARD_S)
        refresh_s = listeners.refresh_s
        with Fetching(port, page, cookies[0], n_viewers / max(5.0, refresh_s)) as fetched:
            _, share_with_pages = seconds.follow(HEARD_S)
        seen = HeardSeconds(
            delays_ms, share, share_with_pages, len(fetched) / HEARD_S, pss_mb(server)
        )
    yield from lines_of(n_viewers, seen)


class ArrivingSeconds:
    """A run's seconds as they come, one each second, and the server's CPU time meanwhile."""

    def __init__(self, arriving, listeners: "Listeners", server: int) -> None:
        self._arriving, self._listeners, self._server = arriving, listeners, server
        self._next = HOUR_S

    def follow(self, n: int) -> tuple[list[float], float]:
        """Delays, ms, and the share of a core."""
        before_s, began = cpu_s(self._server), time.monotonic()
        delays_ms = [delay for _ in range(n) for delay in self._one()]
        return delays_ms, (cpu_s(self._server) - before_s) / (time.monotonic() - began)

    def _one(self) -> list[float]:
        from campaigns.live.pokes import poke

        second, self._next = self._next, self._next + 1
        self._arriving.arrive(self._next)
        poked = time.monotonic()
        poke(run_id=self._arriving.run.pk, campaign_id=self._arriving.run.campaign_id)
        heard = self._listeners.hear(_id_of(second), HEARD_WITHIN_S)
        time.sleep(max(0.0, poked + 1.0 - time.monotonic()))
        return [1e3 * (at - poked) for at in heard]


class Listeners:
    """Open streams, one for each cookie, which one thread reads."""

    def __init__(self, port: int, path: str, cookies: list[str]) -> None:
        self._selector = selectors.DefaultSelector()
        self._tails: list[bytes] = []
        self._port, self.refresh_s = port, 0.0
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        self._requests = [f"{head}Cookie: {cookie}\r\n\r\n".encode() for cookie in cookies]

    def open(self, n: int, word: bytes) -> None:
        """So many more, until each of them has read this word."""
        for _ in range(n):
            self._tails.append(b"")
            self._connect(len(self._tails) - 1)
        self.hear(word, FOLDED_WITHIN_S, first=len(self._tails) - n)

    def _connect(self, number: int) -> None:
        stream = socket.create_connection(("127.0.0.1", self._port), 10)
        stream.sendall(self._requests[number])
        stream.setblocking(False)
        self._selector.register(stream, selectors.EVENT_READ, number)

    def hear(self, word: bytes, within_s: float, first: int = 0) -> list[float]:
        """When each viewer from the `first` on had read this word, by the clock."""
        heard: dict[int, float] = {}
        until = time.monotonic() + within_s
        while n_left := len(self._tails) - first - len(heard):
            ready = self._selector.select(until - time.monotonic())
            if not ready:
                raise RuntimeError(f"{n_left} viewers did not hear it.")
            for key, _ in ready:
                text = self._tails[key.data] + self._received(key)
                self._tails[key.data] = text[-_TAIL:]
                if word in text and key.data >= first:
                    heard.setdefault(key.data, time.monotonic())
        return list(heard.values())

    def _received(self, key: selectors.SelectorKey) -> bytes:
        received = key.fileobj.recv(1 << 18)
        if not received:  # a stream lasts 100 s
            self._selector.unregister(key.fileobj)
            key.fileobj.close()
            self._connect(key.data)
        if received.startswith(b"HTTP/1.1 ") and not received.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(received[:100].decode())
        _, is_beat, rest = received.rpartition(b'"refresh_s":')
        if is_beat and b"}" in rest:
            self.refresh_s = float(rest.partition(b"}")[0])
        return received


class Fetching:
    """Fetches the page so many times a second while the block lasts; how long each took, s."""

    def __init__(self, port: int, path: str, cookie: str, per_s: float) -> None:
        self._asked = path, {"Cookie": cookie, "X-Requested-With": "XMLHttpRequest"}
        self._port, self._per_s, self._took = port, per_s, []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._fetch)

    def __enter__(self) -> list[float]:
        self._thread.start()
        return self._took

    def __exit__(self, *_: Any) -> None:
        self._is_over.set()
        self._thread.join()

    def _fetch(self) -> None:
        path, headers = self._asked
        server = HTTPConnection("127.0.0.1", self._port, timeout=10)
        begun = time.monotonic()
        while not self._is_over.wait(begun + len(self._took) / self._per_s - time.monotonic()):
            asked = time.monotonic()
            server.request("GET", path, headers=headers)
            answer = server.getresponse()
            answer.read()
            if answer.status != 200:
                raise RuntimeError(f"The page was answered {answer.status}.")
            self._took.append(time.monotonic() - asked)
        server.close()


def _portions(n: int) -> Iterator[int]:
    """As people come: not all in the same instant."""
    for start in range(0, n, AT_ONCE):
        yield min(AT_ONCE, n - start)


def _id_of(second: int) -> bytes:
    return f".s{second}\n".encode()


def lines_of(n_viewers: int, seen: HeardSeconds) -> Iterator[GoalRow]:
    p50, p99 = np.percentile(seen.delays_ms, [50, 99]).tolist()
    yield GoalRow(
        f"{n_viewers} viewers of minute 60, delay",
        f"p50 {p50:.0f}, p99 {p99:.0f} ms, longest {max(seen.delays_ms):.0f}",
        f"p99 ≤ {MOST_MS} ms",
        p99 <= MOST_MS,
    )
    yield GoalRow(
        "  the web process, streams",
        f"{100 * seen.share:.1f} % of a core",
        f"≤ {100 * MOST_SHARE:g} %",
        seen.share <= MOST_SHARE,
    )
    said = f"{100 * seen.share_with_pages:.1f} % of a core, {seen.pages_per_s:.1f} pages/s"
    yield GoalRow("  and the pages that they fetch", said)
    said, is_met = f"{seen.memory_mb:.0f} MB PSS", seen.memory_mb <= MOST_MB
    yield GoalRow("  its memory", said, f"≤ {MOST_MB} MB", is_met)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
    django.setup()
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else VIEWERS
    print(json.dumps([astuple(line) for line in main(asked)]))
