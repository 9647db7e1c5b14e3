"""Whatever a server does, an injector's memory does not grow with the number of failures."""

import gc
import json
import resource
import socket
import subprocess
import sys
import time
import weakref

import pytest

from tests.injector import hostile_tls
from tests.injector.forked import OURS, Program, launch
from tests.injector.http2 import test_hostile as hostile_http2
from tests.injector.http2.server_frames import reply
from tests.injector.servers import OK_REPLY, always, closed, make_order, reset, scripted
from tests.injector.websocket import test_hostile as hostile_websocket
from tests.injector.websocket.peers import after_opening
from workers.injector import vitals
from workers.injector.vitals import RestingCollector

pytestmark = pytest.mark.long

N_FAILURES = 2000
MOST_GROWTH_BYTES = 8 * 1024 * 1024
TIMEOUTS = {"connect_s": 1, "tls_s": 1, "total_s": 1}
HASTY = {
    "timeouts": {"connect_s": 0.1, "tls_s": 0.1, "total_s": 0.1},
    "load": closed(N_FAILURES, 100),
}
# A frame of 16 MB, and bytes without end.
HUGE_FRAME = b"\xff\xff\xff" + bytes(60_000)


def ok_and_then(n_ok, end):
    """Some proper replies, and this instead of another."""

    def script(sock, server):
        for _ in range(n_ok):
            if server.read_request(sock) is None:
                return
            sock.sendall(OK_REPLY)
        server.read_request(sock)
        end(sock)

    return script


def other_heads(sock, server):
    while server.read_request(sock) is not None:
        headers = b"X-Request: %d\r\nContent-Length: 0\r\n\r\n" % server.n_requests
        sock.sendall(b"HTTP/1.1 500 Error\r\n" + headers)


def leave(sock):
    """Close the connection."""


def http1(script, **fields):
    return script, {"timeouts": TIMEOUTS} | fields, None


def http2(script, streams=4, **fields):
    plan = {"http_version": "2", "streams": streams}
    return script, {"timeouts": TIMEOUTS, "plan": plan} | fields, None


def http2_case(name, **fields):
    return http2(hostile_http2.CASES[name].script, **fields)


def tls(name):
    case = hostile_tls.CASES[name]
    plain = case.plain()
    return plain.script, plain.fields | {"timeouts": TIMEOUTS}, case.context


def websocket(script, messages=1):
    exchange = {"messages": messages, "size_bytes": 8, "close_timeout_s": 0.1}
    fields = {"scheme": "ws", "mode": "new", "plan": {"exchange": exchange, "steps": []}}
    return script, {"timeouts": TIMEOUTS} | fields, None


def opening(name):
    return websocket(hostile_websocket.OPENING[name][0])


def exchange(name):
    return websocket(after_opening(hostile_websocket.EXCHANGE[name][0]))


def closing(name):
    return websocket(after_opening(hostile_websocket.CLOSING[name][0]), messages=0)


def pipeline(script):
    return http1(script, plan={"session": {"pipeline_depth": 3}})


def users(script):
    session = {"calls_per_session": 4, "burst_length": 2, "cookies": True}
    return http1(script, plan={"session": session})


def http2_replies(n_ok, end):
    def answer(stream_id):
        if stream_id > 2 * n_ok:
            raise ConnectionError
        return reply(stream_id=stream_id)

    def script(sock, server):
        try:
            hostile_http2.answers(answer)(sock, server)
        except ConnectionError:
            end(sock)

    return script


PATHS = {
    "refused": http1(None),
    "closed without a reply": http1(ok_and_then(0, leave)),
    "reset without a reply": http1(ok_and_then(0, reset)),
    "reset after replies": http1(ok_and_then(3, reset)),
    "silence": http1(ok_and_then(0, lambda sock: sock.recv(1)), **HASTY),
    "half a reply after others": http1(ok_and_then(3, lambda sock: sock.sendall(OK_REPLY[:20]))),
    "two replies to one request": http1(ok_and_then(3, lambda sock: sock.sendall(OK_REPLY * 2))),
    "no HTTP": http1(always(b"SSH-2.0-OpenSSH_9.2\r\n", then_close=True)),
    "503": http1(always(b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy")),
    "another head each time": http1(other_heads),
    "pipelined, closed": pipeline(ok_and_then(2, leave)),
    "users, reset": users(ok_and_then(3, reset)),
    "TLS, HTTP instead": tls("HTTP instead of TLS"),
    "TLS, an unknown authority": tls("right, but of an authority that the machine does not trust"),
    "TLS, a reset after the handshake": tls("reset in a reply"),
    "HTTP/2, refused": http2(None),
    "HTTP/2, a huge frame": http2(hostile_http2.says(HUGE_FRAME * 3)),
    "HTTP/2, a PING flood": http2_case("a PING flood"),
    "HTTP/2, a CONTINUATION flood": http2_case("a CONTINUATION flood"),
    "HTTP/2, HTTP/1": http2(ok_and_then(0, lambda sock: sock.sendall(OK_REPLY))),
    "HTTP/2, reset before the reply": http2_case("reset before the reply"),
    "HTTP/2, reset after replies": http2(http2_replies(3, reset)),
    "HTTP/2, a goodbye with an error": http2_case("a goodbye with an error"),
    # Each request is sent ten times.
    "HTTP/2, a goodbye to all": http2_case("a goodbye to all, always", load=closed(200, 16)),
    "HTTP/2, streams refused": http2_case("every stream refused"),
    "HTTP/2, streams reset": http2_case("every stream reset"),
    "HTTP/2, silence": http2_case("settings and silence", **HASTY),
    "HTTP/2, reset within a body": http2(ok_and_then(0, reset), method="POST", body="x" * 100_000),
    "WebSocket, refused": websocket(None),
    "WebSocket, 403": opening("403"),
    "WebSocket, a wrong accept": opening("wrong accept"),
    "WebSocket, a masked frame": exchange("a masked frame"),
    "WebSocket, another message": exchange("another message"),
    "WebSocket, reset instead of an echo": exchange("reset instead of an echo"),
    "WebSocket, reset instead of a close": closing("reset instead of a close"),
}


@pytest.fixture(scope="module")
def closed_port():
    """Bound, so that nobody else listens on it."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


@pytest.fixture(scope="module")
def process():
    with subprocess.Popen(
        [sys.executable, "-m", "tests.injector.failing"],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        yield process
        process.stdin.close()


def test_two_thousand_failures_leave_the_memory_as_it_is(process, closed_port):
    for name in PATHS:
        script, fields, context = PATHS[name]
        fields = {"load": closed(N_FAILURES, 64)} | fields
        with scripted(script, context and context()) as server:
            order = make_order(server.port if script else closed_port, **fields)
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
            growth = json.loads(process.stdout.readline())
        assert growth["bytes"] < MOST_GROWTH_BYTES


class Cycle:
    def __init__(self):
        self.itself = self


def test_growth_wakes_the_resting_collector_once():
    # The kernel adds to the maximum in steps, so it may be a little behind.
    most_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    grown_bytes = most_bytes + 2 * vitals.GROWTH_BYTES
    with RestingCollector() as collector:
        lost = weakref.ref(Cycle())
        collector.look(0)
        assert lost() is not None
        collector.look(grown_bytes)
        assert lost() is None
        lost = weakref.ref(Cycle())
        collector.look(grown_bytes)
        assert lost() is not None
    gc.collect()


def test_an_injector_near_its_memory_limit_ends_with_that_cause():
    load = {"model": "closed", "connections": 1, "duration_s": 30}
    with scripted(always(OK_REPLY)) as server:
        program = Program(launch(OURS), make_order(server.port, load=load))
        ready = program.hear()
        with open(f"/proc/{ready['pid']}/statm") as file:
            data_bytes = int(file.read().split()[5]) * resource.getpagesize()
        limit = data_bytes * 105 // 100
        resource.prlimit(ready["pid"], resource.RLIMIT_DATA, (limit, limit))
        program.say({"start_at_ns": time.monotonic_ns()})
        messages, status = program.rest()
    assert (messages[-1]["outcome"], messages[-1]["reason"], status) == ("stopped", "memory", 0)
    assert messages[-1]["totals"]["ok"] > 0
