"""The whole table, with one command: cost, punctuality, memory, accuracy."""

import os
import sys

from benchmarks import accuracy, injector_cost, open_loop, websocket
from benchmarks.figures import show
from benchmarks.servers import pin, serving


def main() -> int:
    cores = os.sched_getaffinity(0)
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{len(cores)} cores, load average {load} before the first case")
    with serving(core=1) as server:
        pin(0)
        title = f"CPU time a request against {server.name}, {injector_cost.CONNECTIONS} connections"
        show(title, injector_cost.measure(server))
        show(websocket.TITLE, websocket.measure())
        show(f"On time, against {server.name}", open_loop.measure(server))
    os.sched_setaffinity(0, cores)
    show("Accuracy, against the demo target's own log", accuracy.measure())
    print(f"\nload average {' '.join(f'{each:.1f}' for each in os.getloadavg())} after the last")
    return 0


sys.exit(main())
