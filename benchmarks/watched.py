"""What it costs that many watch a run: how late they hear of each second, and whether all see the
final page when it ends.

In a throw-away PostgreSQL with made-up seconds; the viewers are `benchmarks.watched_live` and
`benchmarks.watched_end`.
"""

import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figures import GoalRow
from local.throw_away import throw_away_servers

TITLE = "A run that many watch, and its end"
_PROGRAMS = ("benchmarks.watched_live", "benchmarks.watched_end")


def measure() -> Iterator[GoalRow]:
    for program in _PROGRAMS:
        with throw_away_servers() as (_, env):
            command = [sys.executable, "-m", program]
            done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(f"{program} could not measure.")
        yield from (GoalRow(*line) for line in json.loads(done.stdout.splitlines()[-1]))
