"""How long load goes on after a user stopped its run: from the click to the last request that
reached the target, by the target's own log. `sudo .venv/bin/python -m benchmarks.faults.stops`.

With `--slow-database` PostgreSQL stands still for nine tenths of the time, half a second at once.
With `--of-projects` owners stop all load of one of two projects; that of the other has to go on.
"""

import argparse
import sys

from benchmarks.faults import network
from benchmarks.faults.world import start_world
from local.console import LocalError, fail

STOPS = 100


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults.stops", description=__doc__)
    parser.add_argument("--stops", type=int, default=STOPS, metavar="N", help=f"({STOPS})")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="when to stop (1)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--slow-database", action="store_true")
    how.add_argument("--of-projects", action="store_true")
    options = parser.parse_args()
    try:
        if not network.is_inside():
            network.enter(sys.argv[1:], program="benchmarks.faults.stops")
        world = start_world()
        from benchmarks.faults.silences import measure  # it needs Django with its database

        how = {"is_slow": options.slow_database, "of_projects": options.of_projects}
        measure(world, options.stops, options.seed, **how)
    except (LocalError, KeyboardInterrupt) as error:
        return fail(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
