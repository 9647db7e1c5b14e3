"""What lists, long runs, exports, the dispatcher and launchers cost, by the goals of the issue that
asked for it.

In a throw-away PostgreSQL with made-up results. CPU time of pages is the process's own, as in
`benchmarks.pages`; "first" is a process's first call of that page after a small one of its kind.
"""

import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figures import GoalRow
from local.throw_away import throw_away_servers

TITLE = "What grows with runs, history and hosts: lists, exports, dispatcher, launchers"
_PROGRAMS = ("benchmarks.page_costs", "benchmarks.engine_costs")


def measure() -> Iterator[GoalRow]:
    for program in _PROGRAMS:
        with throw_away_servers() as (_, env):
            yield from _lines_of(program, env)


def _lines_of(program: str, env: dict[str, str]) -> Iterator[GoalRow]:
    command = [sys.executable, "-m", program]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield GoalRow(*json.loads(line))
    if process.returncode:
        raise RuntimeError(f"{program} could not measure.")
