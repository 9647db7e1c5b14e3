"""What a request over HTTP/2 costs the injector, beside h2load and k6: CPU time, user and system.

As in injector_cost.py each tool runs alone, pinned to one core, against nginx on the other. k6 has
no HTTP/2 without TLS; for several streams each of its users asks for a batch, and waits for all of
it.
"""

import re
from collections.abc import Iterator

from benchmarks import peers
from benchmarks.figures import GoalRow
from benchmarks.injector_cost import DURATION_S, Case, Cost, costs_of, k6_on, lines_of, ours
from benchmarks.servers import Server, serving_http2

TITLE = "CPU time a request over HTTP/2"
H2LOAD, K6 = 1.3, 1 / 5
_HOW = "not measured: {} is not installed (Debian: {})"


def _case(scheme: str, connections: int, streams: int) -> Case:
    name = f"{connections} × {streams}, {'TLS' if scheme == 'https' else 'clear text'}"
    flags = ("--http", "2", "--streams", str(streams))
    goals = {"h2load": H2LOAD} | ({"k6": K6} if scheme == "https" else {})
    return Case(name, scheme, flags, 0, goals, connections=connections, streams=streams)


CASES = tuple(_case(scheme, *shape) for scheme in ("http", "https") for shape in ((4, 32), (32, 1)))


def h2load(case: Case, server: Server) -> tuple[list[str], Cost]:
    load = ["-c", str(case.connections), "-m", str(case.streams), "-t", "1", "-D", str(DURATION_S)]
    return ["h2load", *load, server.url(case.scheme)], h2load_cost_us


def h2load_cost_us(output: str, cpu_us: float) -> float:
    """RuntimeError if some requests failed."""
    done, succeeded = re.search(r"(\d+) done, (\d+) succeeded", output).groups()
    if done != succeeded:
        raise RuntimeError(f"h2load: {done} done, of which {succeeded} succeeded")
    return cpu_us / int(succeeded)


def k6(case: Case, server: Server) -> tuple[list[str], Cost]:
    return k6_on(server.url(case.scheme), case.connections, case.streams)


TOOLS = {"ours": ours, "h2load": h2load, "k6": k6}


def measure() -> Iterator[GoalRow]:
    """A line for each case, and one for k6 where it has a goal."""
    with serving_http2(core=1) as server:
        if server is None:
            yield GoalRow("HTTP/2", _HOW.format("nginx", "nginx"))
            return
        tools = {name: TOOLS[name] for name in TOOLS if name == "ours" or peers.find(name)}
        for case in CASES:
            taken = {name: tool for name, tool in tools.items() if case.takes(name)}
            yield from lines_of(case, costs_of(case, server, taken))
        if "h2load" not in tools:
            yield GoalRow("h2load", _HOW.format("h2load", "nghttp2-client"))
