"""Traps of figures: what looks like a good result and is none. Which is whose: docs/traps.md."""

import itertools
import time

import pytest

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.plan import Plan
from tests.injector.servers import (
    OK_REPLY,
    against,
    always,
    closed,
    make_order,
    measured,
    scripted,
    target_reasons,
)
from tests.injector.test_loads import Arrivals
from tests.values import plan_spec
from workers.injector.local_run import run_here

REDIRECT = b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n"
SILENCE_S = 0.5


def reply_of(size):
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (size, b"x" * size)


def test_replies_of_different_lengths_are_no_failures():
    replies = itertools.cycle([reply_of(4075), reply_of(4076)])

    def script(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(next(replies))

    total, _ = measured(script, load=closed(100))
    assert (total.count("ok"), total.errors) == (100, {})
    heads = len(reply_of(4075)) - 4075
    assert total.count("bytes_received") == 50 * (4075 + 4076) + 100 * heads


def test_a_login_page_is_no_success_where_a_page_is_expected():
    total, _ = measured(always(REDIRECT), plan={"expected_status": ["2xx"]}, load=closed(10))
    assert (total.count("ok"), total.errors) == (0, {"status_unexpected": 10})
    assert total.statuses == {"302": 10}


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
    changed = target_reasons(result)["body_changed"]
    assert (changed.state, changed.value) == ("changing", pytest.approx(0.5, abs=0.1))
    assert changed.second in {1, 2}


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


def test_limits_of_one_kind_of_load_are_refused_in_another():
    """Seed 000 gave httperf a number of connections in a mode in which it means nothing."""
    with pytest.raises(InvalidPlan) as invalid:
        Plan.from_json(plan_spec(model="open", rate_per_s=10, duration_s=5, connections=100))
    assert any("connections" in field for field in invalid.value.errors)


def half_silent(sock, server):
    """Answers the first request of every other connection; the others hear nothing."""
    answers = server.n_connections % 2 == 0
    while server.read_request(sock) is not None:
        if answers:
            sock.sendall(OK_REPLY)
        else:
            time.sleep(3)


@pytest.fixture(scope="module")
def half_stalled():
    with scripted(half_silent) as server:
        limits = {"connect_s": SILENCE_S, "tls_s": SILENCE_S, "total_s": SILENCE_S}
        order = make_order(server.port, mode="new", load=closed(10), timeouts=limits)
        return order, run_here(order, lambda second: None)


def test_timeouts_are_there_with_the_time_that_they_took_at_least(half_stalled):
    _, result = half_stalled
    total = result.total
    assert (total.count("ok"), total.errors) == (5, {"first_byte_timeout": 5})
    assert total.timing("failed").min_us >= SILENCE_S * 1e6
    assert total.timing("response").max_us < SILENCE_S * 1e6


def test_the_longest_attempt_is_no_shorter_than_the_timeout(half_stalled):
    order, result = half_stalled
    report = result.report("plain", order).splitlines()
    row = next(line for line in report if line.startswith("attempts")).split()
    assert (row[1], float(row[-1]) >= SILENCE_S * 1000) == ("10", True)


def test_half_of_the_connections_failing_does_not_shorten_their_lifetimes(half_stalled):
    order, result = half_stalled
    report = result.report("httperf", order)
    assert "failed ones included" in report
    line = next(each for each in report.splitlines() if "failed ones included" in each)
    words = line.split()
    assert float(words[words.index("max") + 1]) >= SILENCE_S * 1000


def cold():
    """A server whose first reply takes half a second."""
    waits = itertools.chain([0.5], itertools.repeat(0.0))
    return Arrivals(lambda: next(waits))


def test_a_cold_server_s_first_request_is_in_the_maximum():
    total, _ = measured(cold(), load=closed(20))
    assert total.timing("response").max_us >= 500_000


def test_with_a_warm_up_it_is_listed_apart():
    load = {"model": "open", "rate_per_s": 20, "duration_s": 1}
    result, _ = against(cold(), warm_up_s=1, load=load)
    assert result.measurement.warm_up.timing("response").max_us >= 500_000
    assert result.total.timing("response").max_us < 500_000


def test_many_requests_on_one_connection_have_connected_once():
    total, _ = measured(always(OK_REPLY), load=closed(100))
    assert (total.timing("response").n, total.timing("connect").n) == (100, 1)


def test_figures_of_a_server_that_waits_are_of_the_wall_and_not_of_our_cpu():
    result, _ = against(Arrivals(service_s=0.5), load=closed(2))
    assert result.total.timing("response").min_us >= 500_000
    assert result.ends[0].cpu_us < 500_000
