"""What a live page costs the server: CPU of a refresh at several minutes of a run, up to an hour.

In a throw-away PostgreSQL with made-up seconds, 50 requests for each injector, step and second. The
page asks for itself again every five seconds, and its stream tells each second meanwhile; CPU time
is the process's own, user and system, median and p95 of the refreshes.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence

from benchmarks.figures import GoalRow
from local.throw_away import throw_away_servers

TITLE = "CPU time of a live run's page: five seconds told by its stream, and one refresh"
GOAL, FIRST_S, NEXT_MS = 2.0, 1.5, 150
SIZES = ((1, 1), (4, 10))


def measure() -> Iterator[GoalRow]:
    for injectors, steps in SIZES:
        with throw_away_servers() as (_, env):  # of another run a worker would keep more as well
            command = [sys.executable, "-m", "benchmarks.live_page", str(injectors), str(steps)]
            done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError("The live page could not be measured.")
        yield from lines_of(f"{injectors} × {steps}", json.loads(done.stdout))


def lines_of(size: str, seen: Sequence[dict[str, float]]) -> Iterator[GoalRow]:
    """`seen` at each minute, oldest first: minute, told_ms, page_ms, page_p95_ms, page_kb, kept_s,
    first_s."""
    for each in seen:
        yield GoalRow(
            f"{size}, minute {each['minute']:.0f}, page",
            f"{each['page_ms']:.0f} ms, p95 {each['page_p95_ms']:.0f} ({each['page_kb']:.0f} kB); "
            f"stream {each['told_ms']:.0f}",
            f"p95 ≤ {NEXT_MS} ms",
            each["page_p95_ms"] <= NEXT_MS,
        )
        first_s, kept_s = each["first_s"], each["kept_s"]
        said = f"{first_s:.2f} s; kept by a worker, which took {kept_s:.1f} s"
        yield GoalRow("  in a process just started", said, f"≤ {FIRST_S:g} s", first_s <= FIRST_S)
    ratio = _whole(seen[-1]) / _whole(seen[0])
    yield GoalRow(f"{size}, last minute / first", f"{ratio:.2f}", f"≤ {GOAL:g}", ratio <= GOAL)


def _whole(each: dict[str, float]) -> float:
    return each["told_ms"] + each["page_ms"]
