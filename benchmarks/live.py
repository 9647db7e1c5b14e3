"""What a live page costs the server: CPU of a refresh early in a run and an hour into it.

In a throw-away PostgreSQL with made-up seconds, 50 requests for each injector, step and second. The
page asks for itself again every five seconds, and its stream tells each second meanwhile; CPU time
is the process's own, user and system, median of the refreshes.
"""

import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figures import GoalRow
from local.throw_away import throw_away_servers

TITLE = "CPU time of a live run's page: five seconds told by its stream, and one refresh"
GOAL, FIRST_S, NEXT_MS = 2.0, 1.5, 150
SIZES = ((1, 1), (4, 10))


def measure() -> Iterator[GoalRow]:
    with throw_away_servers() as (_, env):
        for injectors, steps in SIZES:
            command = [sys.executable, "-m", "benchmarks.live_page", str(injectors), str(steps)]
            done = subprocess.run(command, env=env, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stderr)
            yield from lines_of(f"{injectors} × {steps}", json.loads(done.stdout))


def lines_of(size: str, seen: dict[str, dict[str, float]]) -> Iterator[GoalRow]:
    """`seen` by "early" and "late": second, told_ms, page_ms, page_kb, kept_s, first_s."""
    early, late = seen["early"], seen["late"]
    for each in (early, late):
        yield GoalRow(
            f"{size}, second {each['second']:,}",
            f"{each['told_ms'] + each['page_ms']:.0f} ms: stream {each['told_ms']:.0f}, page "
            f"{each['page_ms']:.0f} ({each['page_kb']:.0f} kB)",
            f"page ≤ {NEXT_MS} ms",
            each["page_ms"] <= NEXT_MS,
        )
    ratio = _whole(late) / _whole(early)
    yield GoalRow(f"{size}, late / early", f"{ratio:.2f}", f"≤ {GOAL:g}", ratio <= GOAL)
    first_s, kept_s = late["first_s"], late["kept_s"]
    said = f"{first_s:.2f} s; kept by a worker, which took {kept_s:.1f} s"
    yield GoalRow(f"{size}, first in a process", said, f"≤ {FIRST_S:g} s", first_s <= FIRST_S)


def _whole(each: dict[str, float]) -> float:
    return each["told_ms"] + each["page_ms"]
