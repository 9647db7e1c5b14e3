"""Is the injector on time, and how much memory do many connections take?"""

import json
import resource
import sys
from collections.abc import Iterator

from benchmarks.figures import GoalRow
from benchmarks.injector_cost import run
from benchmarks.servers import Server

RATE_PER_S, DURATION_S = 5000, 5
CONNECTIONS, CONNECTED_S = 10_000, 10
P50_MS, P99_MS, MEMORY_MB = 0.1, 1.0, 300


def measure(server: Server) -> Iterator[GoalRow]:
    yield from _lateness(server)
    yield from _memory(server)


def _run(server: Server, *arguments: str) -> dict:
    command = [sys.executable, "-m", "workers.injector", server.url("http"), "--json", *arguments]
    return json.loads(run(command)[0])


def _lateness(server: Server) -> Iterator[GoalRow]:
    seen = _run(server, "--rate", str(RATE_PER_S), "--duration", str(DURATION_S))
    late, planned = seen["timings_ms"]["own_delay"], RATE_PER_S * DURATION_S
    sent = seen["counters"]["started"]
    name = f"open loop {RATE_PER_S:,}/s"
    yield GoalRow(f"{name}, count", f"{sent:,}", f"{planned:,} exactly", sent == planned)
    yield GoalRow(
        f"{name}, lateness p50", f"{late['p50']:.3f} ms", "≤ 0.1 ms", late["p50"] <= P50_MS
    )
    yield GoalRow(f"{name}, lateness p99", f"{late['p99']:.3f} ms", "≤ 1 ms", late["p99"] <= P99_MS)


def _memory(server: Server) -> Iterator[GoalRow]:
    """Each connection sends, and thinks for a second."""
    name = f"{CONNECTIONS:,} connections, 1/s each"
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < CONNECTIONS + 100:
        yield GoalRow(name, f"not measured: a process may open {most:,} files")
        return
    load = ["--connections", str(CONNECTIONS), "--duration", str(CONNECTED_S)]
    seen = _run(server, *load, "--think-time", "1", "--ramp-up", "5")
    memory_mb, errors = seen["vitals"]["rss_bytes"] / 1e6, sum(seen["errors"].values())
    n_open = seen["vitals"]["open_connections"]
    yield GoalRow(f"{name}, open", f"{n_open:,} at most", f"{CONNECTIONS:,}", n_open == CONNECTIONS)
    yield GoalRow(f"{name}, memory", f"{memory_mb:.0f} MB", "≤ 300 MB", memory_mb <= MEMORY_MB)
    yield GoalRow(f"{name}, errors", f"{errors:,}", "none", errors == 0)
