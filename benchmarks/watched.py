"""What it costs that many watch a run when it ends, and whether all see its final page.

In a throw-away PostgreSQL with made-up seconds; the viewers are `benchmarks.watched_end`.
"""

import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figures import GoalRow
from local.throw_away import throw_away_servers

TITLE = "The end of a run that many watch"


def measure() -> Iterator[GoalRow]:
    with throw_away_servers() as (_, env):
        command = [sys.executable, "-m", "benchmarks.watched_end"]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError("The viewers could not be measured.")
        yield from (GoalRow(*line) for line in json.loads(done.stdout.splitlines()[-1]))
