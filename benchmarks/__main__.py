"""The whole table, with one command: cost, punctuality, memory, accuracy."""

import os
import sys

from benchmarks import accuracy, injector_cost, open_loop
from benchmarks.figures import Line, show
from benchmarks.servers import pin, serving

_NO_NATIVE_SERVER = "not measured: it needs a native WebSocket server"


def main() -> int:
    cores = os.sched_getaffinity(0)
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{len(cores)} cores, load average {load} before the first case")
    with serving(core=1) as server:
        pin(0)
        title = f"CPU time a request against {server.name}, {injector_cost.CONNECTIONS} connections"
        show(title, injector_cost.measure(server))
        show("WebSocket", [Line("handshakes/s", _NO_NATIVE_SERVER, "≥ 15,000/s")])
        show(f"On time, against {server.name}", open_loop.measure(server))
    os.sched_setaffinity(0, cores)
    show("Accuracy, against the demo target's own log", accuracy.measure())
    print(f"\nload average {' '.join(f'{each:.1f}' for each in os.getloadavg())} after the last")
    return 0


sys.exit(main())
