"""What Chromium does with the largest pages, and with the page of a run that it follows for an
hour.

Each in a throw-away PostgreSQL and Redis with made-up results, from the web server of `make run`.
"""

import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figures import GoalRow
from local.browsers import find_chromium
from local.throw_away import throw_away_servers

TITLE = "In Chromium: the largest pages, and a run that is followed for an hour"
_PROGRAMS = ("benchmarks.opened_pages", "benchmarks.followed_hour")


def measure() -> Iterator[GoalRow]:
    if find_chromium() is None:
        yield GoalRow("Chromium", "not here; `apt-get install chromium-headless-shell` gets it")
        return
    for program in _PROGRAMS:
        with throw_away_servers() as (_, env):
            command = [sys.executable, "-m", program]
            done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(f"{program} could not measure.")
        yield from (GoalRow(*line) for line in map(json.loads, done.stdout.splitlines()))
