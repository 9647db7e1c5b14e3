"""Thin gigabytes of old seconds while an injector stores new ones, and look how long anything was
locked: `python -m benchmarks.retention --gb 5`.

In a PostgreSQL of its own, which syncs as a real one does; its data are made by copying and removed
at the end. By the rows that it thins for a second of CPU, 5 GB take an hour or more.
"""

import argparse
import json
import os
import subprocess
import sys

from benchmarks.figures import GoalRow, show
from local.throw_away import throw_away_servers


def main() -> int:
    options = _read_options()
    print(f"load average {os.getloadavg()[0]:.1f}")
    with throw_away_servers(is_durable=True) as (_, env):
        command = [sys.executable, "-m", "benchmarks.retention_trial"]
        command += [str(options.gb), str(options.minutes)]
        env |= {"BENCHSITE_LOG_LEVEL": "ERROR", "BENCHSITE_ALLOWED_NETWORKS": "10.0.0.0/8"}
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
            rows = (GoalRow(*json.loads(line)) for line in process.stdout)
            show(f"Retention: {options.gb:g} GB of seconds", rows)
    print(f"load average {os.getloadavg()[0]:.1f} at the end")
    return process.returncode


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retention", description=__doc__)
    size = "how large the table of seconds is made, its index included (5)"
    parser.add_argument("--gb", type=float, default=5.0, metavar="N", help=size)
    longest = "end after so long although not all is thinned (120)"
    parser.add_argument("--minutes", type=float, default=120.0, metavar="M", help=longest)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
