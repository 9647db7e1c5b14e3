"""The demo target: what it answers, how it misbehaves, and its own account of what arrived."""

import json
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from itertools import count
from random import Random
from urllib.parse import urlsplit

import pytest

from tests.injector.servers import measure
from tests.waiting import eventually
from workers.echo.arrival import enable_receive_timestamps, receive
from workers.echo.replies import EchoRequest

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps what arrives")


class Echo:
    def __init__(self, directory):
        self.log = directory / "arrivals.jsonl"
        self.process = subprocess.Popen(
            [
                sys.executable, "-m", "workers.echo", "--http-port", "0", "--https-port", "0",
                "--cert-dir", str(directory), "--log", str(self.log),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        self.http, self.https = (self.process.stdout.readline().split()[0] for _ in range(2))

    def port(self, scheme="http"):
        return urlsplit(getattr(self, scheme)).port

    def arrivals(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    echo = Echo(tmp_path_factory.mktemp("echo"))
    yield echo
    echo.process.send_signal(signal.SIGTERM)
    assert echo.process.wait(5) == 0
    echo.process.stdout.close()


def get(url):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(url, timeout=5, context=context) as reply:
        return reply.status, dict(reply.headers), reply.read()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_it_answers(echo, scheme):
    status, headers, body = get(getattr(echo, scheme))
    assert (status, headers["Server"]) == (200, "benchsite-echo")
    assert b"ok" in body


def test_the_query_string_dials_the_reply(echo):
    for query, check in [
        ("size=5000", lambda headers, body: len(body) == 5000),
        ("size=9000&chunked=1", lambda headers, body: len(body) == 9000),
        ("close=1", lambda headers, body: headers["Connection"] == "close"),
        ("junk=7", lambda headers, body: headers["X-Junk-6"]),
        ("split=1", lambda headers, body: b"ok" in body),
        ("delay_ms=nonsense", lambda headers, body: b"ok" in body),
    ]:
        _, headers, body = get(f"{echo.http}?{query}")
        assert check(headers, body)


def took_us(total):
    """From the beginning of the send: the target counts from the request's arrival, which may be
    some tenths of a millisecond before the send returns and the wait begins."""
    assert total.count("ok") == 1
    return total.timing("send").sum_us + total.timing("wait").sum_us


def assert_takes(least_us, most_us, take_us):
    """A busy machine may hold up any reply; a wait that is too long holds up every one."""

    def is_in_time():
        took = take_us()
        assert took >= least_us
        return took < most_us

    eventually(is_in_time, 20, f"a reply within {most_us} µs")


def test_soap_takes_a_realistic_moment(echo):
    def take_us():
        return took_us(measure(echo.port(), path="/soap", method="POST", body="<a/>").total)

    assert_takes(2_000, 50_000, take_us)


def test_it_misbehaves_on_request(echo):
    for fault, kind in [
        ("reset", "reset"),
        ("hang", "first_byte_timeout"),
        ("garbage", "http_parse"),
        ("half-head", "eof_mid_body"),
        ("half-body", "eof_mid_body"),
        ("slow-drip", "body_timeout"),
        ("endless-head", "header_cap"),
        ("endless-body", "body_cap"),
        ("two-lengths", "http_parse"),
        ("extra-reply", "http_parse"),
        ("close", "eof_before_reply"),
    ]:
        limits = {"connect_s": 0.5, "tls_s": 0.5, "total_s": 0.5 if "body" not in fault else 5}
        total = measure(echo.port(), path=f"/fault/{fault}", timeouts=limits).total
        assert total.errors == {kind: 1}


def test_nonsense_is_answered_and_the_connection_closed(echo):
    with socket.create_connection(("127.0.0.1", echo.port())) as sock:
        sock.sendall(b"nonsense\r\n\r\n")
        assert sock.recv(100).startswith(b"HTTP/1.1 400")


def test_a_wait_may_be_drawn_from_a_distribution():
    for dial, least_ms, most_ms in [
        ("delay_ms=5&timed=1", 5, 5),
        ("bimodal=2,30,0.5", 2, 30),
        ("pareto=2,3", 2, 2000),
        ("bimodal=nonsense", 0, 0),
        ("pareto=1,0", 0, 0),
    ]:
        request, rng = EchoRequest.of("GET", f"/?{dial}", wants_close=False), Random(7)
        drawn_ms = [request.draw_delay_s(rng) * 1000 for _ in range(200)]
        assert least_ms <= min(drawn_ms) <= max(drawn_ms) <= most_ms
        assert request.logs_service_time
        if dial.startswith("bimodal=2"):
            assert 0.3 < drawn_ms.count(30) / 200 < 0.7


def lines_of(echo, path, count):
    """The lines of that path; a line is written after its reply."""

    def lines():
        rows = [each for each in echo.arrivals() if each["path"] == path]
        return rows if len(rows) >= count else None

    return eventually(lines, 5, f"{count} lines of {path}")


def test_the_log_of_a_drawn_wait_says_how_long_the_request_took(echo):
    get(f"{echo.http}timed?bimodal=5,5,0.5")
    (line,) = lines_of(echo, "/timed", 1)
    assert 5_000 <= line["service_us"] < 500_000


@only_linux
def test_the_log_counts_from_the_arrival_although_the_target_looks_late(echo):
    with socket.create_connection(("127.0.0.1", echo.port()), 5) as client:
        client.sendall(b"GET /late?delay_ms=1&timed=1 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(4096)
        echo.process.send_signal(signal.SIGSTOP)
        sent_ns = time.monotonic_ns()
        client.sendall(b"GET /late?delay_ms=0&timed=1 HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(0.3)  # that long it is late
        echo.process.send_signal(signal.SIGCONT)
        assert client.recv(4096)
    rows = lines_of(echo, "/late", 2)
    assert rows[1]["service_us"] >= 290_000
    assert abs(rows[1]["monotonic_ns"] - sent_ns) < 100_000_000


def test_a_wait_ends_when_it_is_over_and_not_at_the_next_millisecond(echo):
    numbers = count(1)

    def take_us():
        get(f"{echo.http}exact?delay_ms=2.3&timed=1")
        return lines_of(echo, "/exact", next(numbers))[-1]["service_us"]

    assert_takes(2_300, 2_550, take_us)


@pytest.fixture
def ends():
    """The target's end of a connection, and its client's."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        enable_receive_timestamps(listener)
        with socket.create_connection(listener.getsockname()) as client:
            target, _ = listener.accept()
            with target:
                yield target, client


@only_linux
def test_bytes_that_wait_to_be_read_have_arrived_before(ends):
    target, client = ends
    before_ns = time.monotonic_ns()
    client.sendall(b"x")
    sent_ns = time.monotonic_ns()
    time.sleep(0.1)
    data, arrived_ns = receive(target)
    assert data == b"x"
    # The two clocks are read one after the other.
    assert before_ns - 20_000_000 <= arrived_ns <= sent_ns + 20_000_000


@only_linux
def test_a_clock_set_forward_puts_no_arrival_before_the_one_before(ends, monkeypatch):
    target, client = ends
    client.sendall(b"x")
    since_ns = time.monotonic_ns()
    ahead_ns = time.time_ns() + 300 * 10**9
    monkeypatch.setattr("workers.echo.arrival.time.time_ns", lambda: ahead_ns)
    assert receive(target, since_ns) == (b"x", since_ns)


@only_linux
def test_a_clock_set_back_puts_no_arrival_after_the_look(ends, monkeypatch):
    target, client = ends
    client.sendall(b"x")
    back_ns = time.time_ns() - 300 * 10**9
    monkeypatch.setattr("workers.echo.arrival.time.time_ns", lambda: back_ns)
    assert receive(target)[1] <= time.monotonic_ns()
