"""An injector as a launcher sees it: a process, lines in, lines out."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

OURS = (sys.executable, "-m", "workers.injector")
# The same, but forked from a process that has imported it (forked.py).
FORKED = ("workers.injector",)
# Written from docs/injector.md alone.
OTHER = (sys.executable, str(Path(__file__).parents[1] / "workers" / "other_injector"))
_REST_S = 60


def started(command):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, text=True, **pipes)


class Program:
    """An injector process and its pipes."""

    def __init__(self, process, order):
        self.process = process
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
        """One that waits for what does not come is killed, so that a test fails and not stands."""
        limit = threading.Timer(_REST_S, self.process.kill)
        limit.start()
        try:
            messages = [json.loads(line) for line in self.process.stdout]
            return messages, self.process.wait(5)
        finally:
            limit.cancel()
