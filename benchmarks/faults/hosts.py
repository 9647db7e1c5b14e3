"""Hosts that join, vanish and come back, and dispatchers that take over from a host that vanished.

    sudo .venv/bin/python -m benchmarks.faults.hosts

To vanish is to lose the link without a word: no connection is closed, as when a machine loses its
power. Each table row is one of `--times`; the exit status is 1 where something did not hold.
"""

import argparse
import os
import sys

from benchmarks.faults import network
from benchmarks.faults.network import HOSTS
from benchmarks.faults.world import start_world
from local.console import LocalError, fail

TAKES_OVER_S = 30.0
ENDS_S = 30.0


def main() -> int:
    options = _read_options()
    try:
        if not network.is_inside():
            network.enter(sys.argv[1:], program="benchmarks.faults.hosts")
        return _serve(options.times)
    except LocalError as error:
        return fail(str(error))


def _serve(times: int) -> int:
    world = start_world()
    from benchmarks.faults.vanishing import Scene  # it needs Django with the database's address

    scene = Scene(world)
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}", flush=True)
    taken_s = [scene.vanish_dispatcher() for _ in range(times)]
    victims = [HOSTS[number % len(HOSTS)] for number in range(times)]
    hosts = [
        (*scene.vanish_host(host, number), scene.join_host(host))
        for number, host in enumerate(victims)
    ]
    print(f"load average {os.getloadavg()[0]:.1f} at the end\n")
    print(f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}")
    for number, (takes_over_s, host) in enumerate(zip(taken_s, hosts, strict=True), 1):
        print(f"| {number} | {takes_over_s:.1f} | {' | '.join(f'{each:.1f}' for each in host)} |")
    ended_s = [host[0] for host in hosts]
    return 0 if max(taken_s) <= TAKES_OVER_S and max(ended_s) <= ENDS_S else 1


_COLUMNS = (
    "time",
    "another dispatcher is active, s",
    "the vanished host's run has ended, s",
    "the next run has begun elsewhere, s",
    "the host is back and heard, s",
    "a killed host has started again and is heard, s",
)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults.hosts", description=__doc__)
    parser.add_argument("--times", type=int, default=10, metavar="N", help="how often (10)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
