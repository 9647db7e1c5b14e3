"""A site that comes and goes, the agent's own program, and a candle that tells when it went out."""

import subprocess
import sys
import threading
from collections.abc import Sequence
from math import floor
from pathlib import Path

from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.core.servers.basehttp import ThreadedWSGIServer
from django.test.testcases import QuietWSGIRequestHandler
from django.utils import timezone

from campaigns.models import MachineSecond, Run
from tests.waiting import eventually

# The program with shorter pauses: it sends three times a second instead of every two.
PROGRAM = """
import sys, time
from workers.agent import __main__ as agent
agent.SEND_EVERY_S, agent.MOST_PAUSE_S = 0.3, 0.6
ahead_ns, own_clock = {ahead_s} * 10**9, time.time_ns
time.time_ns = lambda: own_clock() + ahead_ns
sys.exit(agent.main())
"""


class Site:
    """The whole site's answers at one address, in threads of the test."""

    def __init__(self, host: str = "127.0.0.1"):
        self._address = (host, 0)
        self.begin()

    @property
    def url(self) -> str:
        return "http://{}:{}".format(*self._address)

    def begin(self) -> None:
        self._server = ThreadedWSGIServer(self._address, QuietWSGIRequestHandler)
        self._address = self._server.server_address
        self._server.set_app(WSGIHandler())
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def end(self) -> None:
        """From now on connections are refused."""
        self._server.shutdown()
        self._server.server_close()


class Candle:
    """A process that the agent watches: the seconds say how many there are, 1 until it is put out
    and 0 after, so they tell by themselves where they belong."""

    def __init__(self):
        self._process = subprocess.Popen(["sleep", "600"])

    @property
    def name(self) -> str:
        return f"pid:{self._process.pid}"

    def put_out(self) -> float:
        """When it was, in seconds since 1970."""
        self._process.kill()
        self._process.wait()
        return timezone.now().timestamp()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


class WatchedRun:
    """A run under way, and what agents told of it."""

    def __init__(self, run: Run, candle: Candle):
        self._run, self._candle = run, candle

    def seconds(self) -> list[int]:
        rows = MachineSecond.objects.filter(run=self._run)
        return sorted(rows.values_list("second", flat=True))

    def second_of(self, at_s: float) -> int:
        """That of the sample, from one whole second of the clock to the next, in which it was."""
        return floor(floor(at_s) + 0.5 - self._run.t0.timestamp())

    def now(self) -> int:
        return self.second_of(timezone.now().timestamp())

    def dark(self) -> list[int]:
        """The seconds at whose end the candle was out."""
        rows = MachineSecond.objects.filter(run=self._run).order_by("second")
        told = rows.values_list("second", "did")
        return [at for at, did in told if not did["processes"][self._candle.name]["processes"]]

    def is_told_up_to(self, second: int) -> None:
        eventually(lambda: second in self.seconds(), 20, f"second {second} arrives")


def start_agent(
    url: str, token: str, watch: str, ahead_s: int = 0, within: Sequence[str] = ()
) -> subprocess.Popen:
    """The agent's program on a machine whose own clock is ahead, from when it watches; `within`:
    the command that puts it into a namespace."""
    program = PROGRAM.format(ahead_s=ahead_s)
    agent = subprocess.Popen(
        [*within, sys.executable, "-c", program, "--url", url, "--watch", watch],
        cwd=Path(settings.BASE_DIR),
        env={"BENCHSITE_AGENT_TOKEN": token, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        stderr=subprocess.PIPE,
        text=True,
    )
    said = ""
    while "Watching" not in said:
        said = agent.stderr.readline()
        assert said, "the agent has ended"
    return agent
