"""Counts against the logs of nginx, Apache and node, in each load model, in clear text and TLS."""

import pytest

from tests.injector.http2 import log_lines
from tests.injector.servers import closed, measure
from workers.injector.http2.frames import HEAD_BYTES

pytestmark = pytest.mark.long

ARRIVING = {"model": "open", "rate_per_s": 150, "requests": 30}
WINDOW = {"model": "window", "low": 3, "high": 6, "requests": 40}
PAUSE = {"kind": "constant", "mean_s": 0.01}
# How many requests each makes, on how many connections where the plan says that; the load, the
# streams, the session.
LOADS = {
    "closed": (800, 4, closed(800, 4), 8, {}),
    "sequential": (60, 1, {"model": "sequential", "requests": 60}, 1, {}),
    "at a rate": (
        300, None, {"model": "open", "rate_per_s": 1000, "requests": 300, "max_in_flight": 64}, 8,
        {},
    ),
    "spread over a time": (
        200, None, {"model": "over", "requests": 200, "over_s": 0.4, "max_in_flight": 64}, 8, {},
    ),
    "users with pauses": (120, 2, closed(120, 2), 4, {"think_time": PAUSE, "burst_length": 5}),
    "sessions of a closed load": (120, None, closed(120, 4), 1, {"calls_per_session": 3}),
    "a window": (40, 40, WINDOW, 1, {}),
    "a window that keeps": (40, 40, WINDOW | {"hold": "keep_until_all"}, 1, {}),
    "a window with bursts": (
        200, 40, WINDOW, 4, {"calls_per_connection": 5, "burst_length": 5},
    ),
    "arriving connections": (30, 30, ARRIVING | {"arrival_unit": "connection"}, 1, {}),
    "arriving connections with bursts": (
        180, 30, ARRIVING | {"arrival_unit": "connection"}, 4,
        {"calls_per_connection": 6, "burst_length": 3, "think_time": PAUSE},
    ),
    "arriving sessions": (
        180, 30, ARRIVING | {"arrival_unit": "session"}, 8,
        {"calls_per_session": 6, "burst_length": 3, "think_time": PAUSE, "cookies": True},
    ),
    "arriving sessions on several connections": (
        240, None, ARRIVING | {"arrival_unit": "session"}, 2,
        {"calls_per_session": 8, "burst_length": 8, "connections_per_session": 3,
         "first_call_alone": False},
    ),
}  # fmt: skip
STEPS = [{"path": "/"}, {"path": "/missing"}, {"path": "/large"}]
SERVERS = {"nginx": "nginx", "apache2": "apache", "node": "node"}


def loads(program):
    """Every load against each server, one way at least: over TLS, or in clear text."""
    for nth, name in enumerate(LOADS):
        for scheme in ("http", "https"):
            if program == "nginx" or (scheme == "https") == bool(nth % 2):
                yield scheme, LOADS[name]


@pytest.fixture(scope="module")
def start(tmp_path_factory, certificate):
    """Start a server by its program's name, once; skip where it is not installed."""
    contexts, servers = [], {}

    def start(program, **options):
        if log_lines.find(program) is None:
            pytest.skip(f"{program} is not installed: apt install {program}")
        key = program, *options.items()
        if key not in servers:
            folder = tmp_path_factory.mktemp(program)
            folder.chmod(0o755)
            contexts.append(getattr(log_lines, SERVERS[program])(folder, certificate, **options))
            servers[key] = contexts[-1].__enter__()
        servers[key].begin()
        return servers[key]

    yield start
    for context in contexts:
        context.__exit__(None, None, None)


def run(server, scheme, load, streams=8, session=(), **fields):
    port = server.tls_port if scheme == "https" else server.port
    plan = {"http_version": "2", "streams": streams, "expected_status": ["2xx", "4xx"]}
    plan |= {"session": dict(session)} if session else {}
    timeouts = {"connect_s": 10, "tls_s": 10, "total_s": 20}
    return measure(port, scheme=scheme, load=load, plan=plan, timeouts=timeouts, **fields)


@pytest.mark.parametrize("program", SERVERS)
def test_what_is_counted_is_what_the_servers_log_says(start, program):
    for scheme, (n_requests, n_connections, load, streams, session) in loads(program):
        server = start(program)
        total = run(server, scheme, load, streams, session, steps=STEPS).total
        lines = server.lines(n_requests)
        assert total.errors == {}
        assert total.count("started") == total.count("ok") == len(lines) == n_requests
        assert total.statuses == {
            status: sum(line.status == status for line in lines) for status in ("200", "404")
        }
        assert total.count("body_received") == sum(line.body_bytes for line in lines)
        n_seen = len({line.connection for line in lines})
        assert total.count("connections_opened") == n_seen == (n_connections or n_seen)
        assert {line.protocol for line in lines} == {"HTTP/2.0"}
        if program == "nginx":
            assert total.count("bytes_received") == sum(line.sent_bytes for line in lines)
            # nginx leaves out the head of the HEADERS frame.
            sent = sum(line.received_bytes + HEAD_BYTES for line in lines)
            assert total.count("bytes_sent") == sent


@pytest.mark.parametrize("program", SERVERS)
def test_new_connections_are_those_of_the_log(start, program):
    for mode in ["new", "resumed"]:
        server = start(program)
        total = run(server, "https", closed(100, 4), mode=mode).total
        lines = server.lines(100)
        assert total.count("ok") == len({line.connection for line in lines}) == 100
        n_resumed = total.count("tls_resumed")
        assert (n_resumed >= 92) if mode == "resumed" else (n_resumed == 0)


def test_uploads_are_those_of_the_log(start):
    server = start("nginx")
    step = {"method": "POST", "path": "/upload", "body": "x" * 200_000}
    total = run(server, "http", closed(40, 2), steps=[step]).total
    lines = server.lines(40)
    assert total.count("ok") == 40
    assert total.count("body_received") == 40 * len("200000")
    # 13 DATA frames at least.
    assert 13 * 9 <= total.count("bytes_sent") / 40 - lines[0].received_bytes <= 40 * 9
    assert {line.status for line in lines} == {"200"}


def test_a_server_that_ends_connections_loses_no_request(start):
    server = start("nginx", per_connection=20)
    total = run(server, "http", closed(1000, 2)).total
    lines = server.lines(1000)
    assert (total.count("ok"), total.errors, len(lines)) == (1000, {}, 1000)
    assert total.count("connections_opened") >= 50


def test_a_connection_that_arrived_and_that_the_server_ends_is_not_replaced(start):
    server = start("nginx", per_connection=20)
    load = {"model": "open", "arrival_unit": "connection", "rate_per_s": 100, "requests": 10}
    session = {"calls_per_connection": 30}
    total = run(server, "http", load, streams=1, session=session).total
    lines = server.lines(200)
    assert total.count("ok") + total.count("failed") + total.count("calls_skipped") == 300
    assert total.count("ok") == len(lines)
    assert len({line.connection for line in lines}) == total.count("connections_opened") == 10
