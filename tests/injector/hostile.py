"""Hostile cases: a script for the server, what every attempt must end in, and how to run many.

Each case has a server on a port of its own and an engine of its own; many engines share one hub,
which proves on the way that no reply keeps the hub from the others.
"""

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gevent
from gevent.pool import Pool

from tests.injector.servers import Script, closed, make_order, reset, scripted
from workers.injector.connection import now
from workers.injector.engine import Engine
from workers.injector.order import Order
from workers.injector.summary import LocalRun

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
SPARE_S = 0.5
# Long enough that a busy machine makes no timeout of what is none.
_PATIENT = {"connect_s": 3, "tls_s": 3, "total_s": 3}
SHORT = {"connect_s": 0.5, "tls_s": 0.5, "total_s": 0.5}
_AT_ONCE = 12


@dataclass(frozen=True)
class Case:
    """`kinds`: what an attempt may end in; more than one only where two ends race each other.

    `ok` is one, too.
    """

    script: Script
    kinds: tuple[str, ...]
    fields: dict[str, Any] = field(default_factory=dict)
    requests: int = 3


@dataclass
class Outcome:
    """What the injector counted, and what the server wrote into its own ledger."""

    result: LocalRun
    n_answered: int
    limit_s: float

    @property
    def kinds(self) -> dict[str, int]:
        total = self.result.total
        return {**({"ok": total.count("ok")} if total.count("ok") else {}), **total.errors}

    @property
    def longest_s(self) -> float:
        total = self.result.total
        return max(total.timing(name).max_us or 0 for name in ("response", "failed")) / 1e6


def run_case(case: Case, **server_given: Any) -> Outcome:
    """One case from start to end, in the greenlet that calls."""
    with scripted(case.script, **server_given) as server:
        fields = {"timeouts": _PATIENT, "load": closed(case.requests)} | case.fields
        order = Order.from_json(make_order(server.port, **fields))
        local_run = LocalRun(order.plan)
        engine = Engine(order, local_run)
        engine.prepare()
        local_run.ends.append(engine.run(now() + 10_000_000))
        return Outcome(local_run, server.n_answered, fields["timeouts"]["total_s"])


def run_all(cases: dict[str, Case], run: Callable[[Case], Outcome] = run_case) -> dict[str, Any]:
    """Outcomes by name, many at once; one that was late on a busy machine is run again alone."""
    pool = Pool(_AT_ONCE)
    running = {name: pool.spawn(run, case) for name, case in cases.items()}
    gevent.joinall(list(running.values()))
    outcomes = {name: greenlet.get() for name, greenlet in running.items()}
    for name, outcome in outcomes.items():
        if fault(cases[name], outcome):
            outcomes[name] = run(cases[name])
    return outcomes


def fault(case: Case, outcome: Outcome) -> str | None:
    """What is wrong with an outcome, in words, or None."""
    total, kinds = outcome.result.total, outcome.kinds
    if not kinds or set(kinds) - set(case.kinds):
        return f"expected {case.kinds}, got {kinds}"
    if sum(kinds.values()) != total.count("started"):
        return f"{total.count('started')} attempts, but {kinds}"
    if total.count("ok") != outcome.n_answered:
        return f"{total.count('ok')} ok, but the server's ledger has {outcome.n_answered}"
    if outcome.longest_s > outcome.limit_s + SPARE_S:
        return f"an attempt took {outcome.longest_s:.2f} s of {outcome.limit_s} s"
    return None


def say(
    *pieces: bytes, end: Callable | None = None, pause_s: float = 0.0, is_proper: bool = False
) -> Script:
    """Answer every request with these pieces, each in a segment; then `end` the connection."""

    def script(sock, server):
        while server.read_request(sock) is not None:
            server.n_answered += is_proper
            for piece in pieces:
                sock.sendall(piece)
                time.sleep(pause_s)
            if end:
                end(sock)
                return

    return script


def well(*pieces: bytes, **options: Any) -> Script:
    """The same, written into the ledger as a proper answer before its last byte goes out."""
    return say(*pieces, is_proper=True, **options)


def finish(sock) -> None:
    """An orderly end: FIN, after what was written.

    A close with bytes unread, such as of the next request, would be a reset.
    """
    sock.shutdown(socket.SHUT_WR)
    stay(sock)


def cut(sock) -> None:
    """A reset, after the client had time to read what was written."""
    time.sleep(0.05)
    reset(sock)


def stay(sock) -> None:
    """Silence until the client goes."""
    sock.settimeout(10)
    while sock.recv(65536):
        pass


def endless(*start: bytes, block: bytes, pause_s: float = 0.0) -> Script:
    """A start, and then the same block for ever, or one every `pause_s`."""

    def script(sock, server):
        server.read_request(sock)
        for piece in start:
            sock.sendall(piece)
        while True:
            sock.sendall(block)
            time.sleep(pause_s)

    return script


def bad(kind: str, replies: dict[str, bytes], **fields: Any) -> dict[str, Case]:
    """Cases of one kind, from replies in one segment on a connection that stays open."""
    return {name: Case(say(reply), (kind,), fields) for name, reply in replies.items()}


def good(replies: dict[str, bytes], **fields: Any) -> dict[str, Case]:
    return {name: Case(well(reply), ("ok",), fields) for name, reply in replies.items()}


def merge(*tables: dict[str, Case]) -> dict[str, Case]:
    """One table; a name given twice would hide a case."""
    cases: dict[str, Case] = {}
    for table in tables:
        assert not cases.keys() & table.keys(), cases.keys() & table.keys()
        cases |= table
    return cases
