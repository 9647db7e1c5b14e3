"""The whole table with one command, or parts of it: what a request costs beside peers, punctuality,
accuracy, the site's largest pages, the words of comparisons and the search for a capacity.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator

from benchmarks import (
    accuracy,
    capacity,
    http2,
    injector_cost,
    open_loop,
    pages,
    turns,
    websocket,
    words,
)
from benchmarks.figures import GoalRow, load_average, show
from benchmarks.servers import Server, pin, serving

Section = tuple[str, Iterable[GoalRow]]
COST, HTTP2, WEBSOCKET, OPEN_LOOP = "cost", "http2", "websocket", "open-loop"
OF_INJECTOR = (COST, HTTP2, WEBSOCKET, OPEN_LOOP)
ACCURACY = "accuracy"
OF_SITE = {"pages": pages, "words": words, "capacity": capacity}
NAMES = (*OF_INJECTOR, ACCURACY, *OF_SITE)


def main() -> int:
    names = _read_names()
    cores = os.sched_getaffinity(0)
    print(f"{len(cores)} cores, load average {load_average()} before the first case")
    are_whole = [show(title, lines) for title, lines in _sections(names, cores)]
    print(f"\nload average {load_average()} after the last")
    return 0 if all(are_whole) else 1


def _read_names() -> frozenset[str]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parts = f"{', '.join(NAMES)} (everything)"
    parser.add_argument("names", nargs="*", metavar="PART", help=parts)
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in NAMES]:
        parser.error(f"there is no {unknown[0]}; choose from {', '.join(NAMES)}")
    return frozenset(names or NAMES)


def _sections(names: frozenset[str], cores: set[int]) -> Iterator[Section]:
    """In order; each is measured as its lines are read."""
    if names & {*OF_INJECTOR}:
        with serving(core=1) as server:
            pin(0)
            yield from _of_injector(names, server)
        os.sched_setaffinity(0, cores)
    if ACCURACY in names:
        yield "Accuracy, against the demo target's own log", accuracy.measure()
    for name, module in OF_SITE.items():
        if name in names:
            yield module.TITLE, module.measure()


def _of_injector(names: frozenset[str], server: Server) -> Iterator[Section]:
    if COST in names:
        title = f"CPU time a request against {server.name}, {injector_cost.CONNECTIONS} connections"
        yield title, injector_cost.measure(server)
        yield turns.TITLE, turns.measure(server)
    if HTTP2 in names:
        yield http2.TITLE, http2.measure()
    if WEBSOCKET in names:
        yield websocket.TITLE, websocket.measure()
    if OPEN_LOOP in names:
        yield f"On time, against {server.name}", open_loop.measure(server)


if __name__ == "__main__":
    sys.exit(main())
