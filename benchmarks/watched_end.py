"""Many viewers of one run when it ends: `python -m benchmarks.watched_end 200` starts the web
server as `make run` does, opens a stream for each of them, ends the run, and lets each fetch its
page as the page's JavaScript does. The database is the one that the environment names.
"""

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import django

from benchmarks.figures import GoalRow

VIEWERS, SECONDS = 500, 60
AT_ONCE = 50
SESSIONS_EACH = 10
GOAL_S, GIVEN_UP_S = 10.0, 60.0


@dataclass(slots=True)
class Watcher:
    """`statuses` of its requests for the page; when it saw the final one, by the clock."""

    port: int
    paths: tuple[str, str]  # of the stream and of the page
    headers: dict[str, str]
    is_listening: threading.Event = field(default_factory=threading.Event)
    statuses: list[int] = field(default_factory=list)
    final_at: float | None = None
    spread_s: float = 0.0

    def watch(self) -> None:
        """Streams last 100 s, and tell where the next one begins."""
        path = self.paths[0]
        while path:
            with closing(HTTPConnection("127.0.0.1", self.port, timeout=GIVEN_UP_S)) as server:
                server.request("GET", path, headers=self.headers)
                path = self.hear(server.getresponse())
        self._fetch()

    def hear(self, stream: Iterable[bytes]) -> str:
        """Where the stream goes on; "" once the run has ended."""
        kind = ""
        for line in stream:
            name, _, value = line.decode().strip().partition(": ")
            kind = value if name == "event" else kind
            if name == "data" and kind == "beat":
                self.spread_s = json.loads(value)["spread_ms"] / 1000
                self.is_listening.set()
            if name == "data" and kind == "again":
                return f"{self.paths[0]}?{urlencode(json.loads(value))}"
            if name == "event" and kind == "end":
                return ""
        raise RuntimeError("A stream ended without a word.")

    def _fetch(self) -> None:
        """As static/js/live/coalesced.js does."""
        pause_s, began = 0.0, time.monotonic()
        while time.monotonic() - began < GIVEN_UP_S:
            time.sleep(pause_s + random.random() * self.spread_s)
            if self._is_final():
                self.final_at = time.monotonic()
                return
            pause_s = min(30, 2 ** (len(self.statuses) - 1)) * (0.5 + random.random() / 2)

    def _is_final(self) -> bool:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=GIVEN_UP_S)) as server:
            server.request("GET", self.paths[1], headers=self.headers)
            answer = server.getresponse()
            page = answer.read().decode()
        self.statuses.append(answer.status)
        return answer.status == 200 and "data-run-progress" not in page


def main(n_viewers: int) -> list[GoalRow]:
    from django.core.management import call_command
    from django.urls import reverse

    from benchmarks.live_page import Watching, run_under_way

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    run = run_under_way(1, 1)
    Watching(run, 1, 1).arrive(SECONDS)
    cookies = signed_in(run.campaign.project, n_viewers)
    paths = tuple(reverse(each, args=[run.pk]) for each in ("run-stream", "run-detail"))
    with served() as (port, server):
        viewers = [
            Watcher(port, paths, {"Cookie": cookie, "X-Requested-With": "XMLHttpRequest"})
            for cookie in cookies
        ]
        threads = [threading.Thread(target=each.watch) for each in viewers]
        for start in range(0, n_viewers, AT_ONCE):  # they come one after another, and go together
            portion = slice(start, start + AT_ONCE)
            for thread in threads[portion]:
                thread.start()
            if not all(each.is_listening.wait(GIVEN_UP_S) for each in viewers[portion]):
                raise RuntimeError("A stream was not opened.")
        time.sleep(3)  # each hears how many they are with its next beat
        before_s = cpu_s(server)
        ended_at = end_run(run)
        for thread in threads:
            thread.join()
        took_s = cpu_s(server) - before_s
    return lines_of(viewers, ended_at, took_s)


def signed_in(project, n: int) -> list[str]:
    """Cookies of so many sessions, of members of the project who have up to ten open each."""
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client

    cookies = []
    for number in range(n):
        if number % SESSIONS_EACH == 0:
            user = User.objects.create(username=f"viewer-{number}")
            project.memberships.create(user=user, role="viewer")
        client = Client()
        client.force_login(user)
        name = settings.SESSION_COOKIE_NAME
        cookies.append(f"{name}={client.cookies[name].value}")
    return cookies


def lines_of(viewers: list[Watcher], ended_at: float, took_s: float) -> list[GoalRow]:
    name = f"{len(viewers)} viewers when the run ends"
    late = sorted(each.final_at - ended_at for each in viewers if each.final_at is not None)
    statuses = Counter(status for each in viewers for status in each.statuses)
    n_failed = statuses.total() - statuses[200]
    seen = f"{len(late)} see it within {late[-1]:.1f} s" if late else "nobody sees it"
    is_met = len(late) == len(viewers) and late[-1] <= GOAL_S and not n_failed
    return [
        GoalRow(name, f"{seen}, {n_failed} errors", f"all ≤ {GOAL_S:g} s, 0 errors", is_met),
        GoalRow(
            "  the web process", f"{took_s:.1f} s of CPU, {1e3 * took_s / len(viewers):.1f} ms each"
        ),
    ]


@contextmanager
def served():
    """The port and the process id of a web server with the settings of `make run`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "-c", "benchsite/gunicorn.py", "benchsite.wsgi"]
    env = {**os.environ, "BENCHSITE_BIND": f"127.0.0.1:{port}"}
    server = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield port, server.pid
    finally:
        server.terminate()
        server.wait(20)


def _wait_for(port: int) -> None:
    until = time.monotonic() + GIVEN_UP_S
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("The web server did not start.")


def cpu_s(parent: int) -> float:
    """User and system time of a process and its children."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            told = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if parent in (int(stat.parent.name), int(told[1])):
            ticks += int(told[11]) + int(told[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def end_run(run, seconds: int = SECONDS) -> float:
    """When the run was done, by the clock: as the dispatcher ends it."""
    from campaigns.models import Run
    from campaigns.services import endings

    end = {"type": "end", "outcome": "complete", "duration_us": seconds * 1_000_000}
    run.shards.update(state="done", end=end)
    Run.objects.filter(pk=run.pk).update(state="finalizing")
    endings.finalise_runs()
    return time.monotonic()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
    django.setup()
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else VIEWERS
    print(json.dumps([astuple(line) for line in main(asked)]))
