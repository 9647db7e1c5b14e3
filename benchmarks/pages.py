"""What the site's largest pages cost the server.

In a throw-away PostgreSQL with made-up results; CPU time is the process's own, user and system,
median of 20 calls after 3, without gunicorn and the network. The first call in a process stands
apart. A large page of a finished campaign is made before that, by a worker: what that costs is told
too.
"""

import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figures import GoalRow
from local.servers import throw_away_servers

TITLE = "CPU time of the largest pages"
# By the names of `benchmarks.served_pages`: what it is, and the goal in ms.
PAGES = {
    "overview": ("overview of 200 tests", 200),
    "long": ("a test with 10,000 campaigns", 150),
    "list": ("list of 10,000 campaigns", 200),
    "runs": ("list of 10,000 runs, a page", 60),
    "campaign": ("a campaign of 200 tests × 5", 200),
    "comparison": ("10 tests × 5 × 600 s, compared", 150),
    "matrix": ("matrix of 8 servers × 12 plans × 10", 200),
}


def measure() -> Iterator[GoalRow]:
    with throw_away_servers() as (_, env):
        command = [sys.executable, "-m", "benchmarks.served_pages"]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError("The pages could not be measured.")
    for page in json.loads(done.stdout):
        name, goal_ms = PAGES[page["name"]]
        first_ms, warm_ms, made_ms = (page[f"{which}_ms"] for which in ("first", "warm", "made"))
        said = f"first {first_ms:.0f} ms, later {warm_ms:.0f}; "
        said += f"made in {made_ms:.0f}; {page['kb']:.0f} kB"
        yield GoalRow(name, said, f"≤ {goal_ms} ms", max(first_ms, warm_ms) <= goal_ms)
