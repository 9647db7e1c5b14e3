"""Traps of figures: what looks like a good result and is none. Which is whose: docs/traps.md."""

import itertools
import time

import pytest

from tests.injector.servers import (
    OK_REPLY,
    against,
    always,
    closed,
    make_order,
    scripted,
    tally,
    target_reasons,
)
from tests.injector.test_loads import Arrivals
from workers.injector.summary import run_here

REDIRECT = b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n"
SILENCE_S = 0.5


def reply_of(size):
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (size, b"x" * size)


def test_nothing_but_redirects_is_doubted_and_shown_as_such():
    with scripted(always(REDIRECT)) as server:
        order = make_order(server.port, load=closed(10))
        result = run_here(order, lambda second: None)
    assert "only_redirects" in target_reasons(result)
    report = result.report("httperf", order)
    assert "1xx=0 2xx=0 3xx=10 4xx=0 5xx=0" in report


def test_a_page_that_becomes_another_within_a_run_is_doubted():
    """Such as a cache's error page, or what a deployment brought."""

    def script(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(reply_of(4075 if server.n_requests < 130 else 2000))

    with scripted(script) as server:
        load = {"model": "open", "rate_per_s": 100, "duration_s": 3}
        result = run_here(make_order(server.port, load=load), lambda second: None)
    change = target_reasons(result)["body_changed"]
    assert (change.state, change.value) == ("changing", pytest.approx(0.5, abs=0.1))
    assert change.second in {1, 2}


def test_random_server_names_do_not_pile_up():
    def script(sock, server):
        while server.read_request(sock) is not None:
            name = b"\r\nServer: %d\r\n" % server.n_requests
            sock.sendall(OK_REPLY.replace(b"\r\n", name, 1))

    result, _ = against(script, load=closed(100))
    assert len(result.ends[0].servers) == 20


def test_requests_in_flight_are_rate_times_time():
    with scripted(Arrivals(service_s=0.1)) as server:
        load = {"model": "closed", "connections": 20, "duration_s": 1.5}
        order = make_order(server.port, load=load)
        result = run_here(order, lambda second: None)
    total = result.total
    rate_per_s, response_s = (
        result.measurement.figures.rate_per_s,
        total.timing("response").mean_us / 1e6,
    )
    assert response_s >= 0.1
    assert rate_per_s * response_s == pytest.approx(20, rel=0.1)
    assert "20 connections planned" in result.report("plain", order)


def half_silent(sock, server):
    """Answers the first request of every other connection; the others hear nothing."""
    answers = server.n_connections % 2 == 0
    while server.read_request(sock) is not None:
        if answers:
            sock.sendall(OK_REPLY)
        else:
            time.sleep(3)


def test_timeouts_are_there_with_the_time_that_they_took_at_least():
    limits = {"connect_s": SILENCE_S, "tls_s": SILENCE_S, "total_s": SILENCE_S}
    total, _ = tally(half_silent, mode="new", load=closed(10), timeouts=limits)
    assert (total.count("ok"), total.errors) == (5, {"first_byte_timeout": 5})
    assert total.timing("failed").min_us >= SILENCE_S * 1e6
    assert total.timing("response").max_us < SILENCE_S * 1e6


def test_a_cold_server_s_first_request_is_in_the_maximum_unless_there_is_a_warm_up():
    def cold():
        """A server whose first reply takes half a second."""
        waits = itertools.chain([0.5], itertools.repeat(0.0))
        return Arrivals(lambda: next(waits))

    total, _ = tally(cold(), load=closed(20))
    assert total.timing("response").max_us >= 500_000
    load = {"model": "open", "rate_per_s": 20, "duration_s": 1}
    result, _ = against(cold(), warm_up_s=1, load=load)
    assert result.measurement.warm_up.timing("response").max_us >= 500_000
    assert result.total.timing("response").max_us < 500_000
