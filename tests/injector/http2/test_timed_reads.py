"""How long a reply over HTTP/2 lies unread is told apart from the target's time, as in HTTP/1.1."""

import time

import gevent
import pytest

from tests.injector.http2.h2_server import h2_server, ok
from tests.injector.servers import closed, measure
from tests.injector.test_read_delay import block_again_and_again

HTTP_2 = {"http_version": "2"}


def after_20_ms(headers, body):
    time.sleep(0.02)
    return ok(headers, body)


def is_timed(total):
    sampled, undelayed = total.timing("sampled"), total.timing("undelayed")
    assert undelayed.n == sampled.n
    return sampled.n > 0


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_reply_that_waits_for_a_blocked_event_loop_counts_as_the_injectors_time(
    scheme, server_tls
):
    load = {"model": "closed", "connections": 2, "duration_s": 2.5}
    with h2_server(after_20_ms, tls=server_tls if scheme == "https" else None) as (server, _):
        blocker = gevent.spawn(block_again_and_again)
        total = measure(server.port, load=load, plan=HTTP_2, scheme=scheme).total
        blocker.kill()
    sampled, undelayed = total.timing("sampled"), total.timing("undelayed")
    assert sampled.n == undelayed.n == total.count("ok")
    assert sampled.sum_us == total.timing("response").sum_us
    assert (sampled.sum_us - undelayed.sum_us) / sampled.n > 10_000
    assert undelayed.min_us >= 19_000


@pytest.mark.parametrize("mode", ["keep-alive", "new", "resumed"])
def test_attempts_are_timed_whoever_had_the_connection_before(mode, server_tls):
    load = {"model": "open", "rate_per_s": 50, "requests": 30, "max_in_flight": 20}
    with h2_server(tls=server_tls) as (server, _):
        total = measure(server.port, load=load, plan=HTTP_2, scheme="https", mode=mode).total
    sampled, undelayed = total.timing("sampled"), total.timing("undelayed")
    assert (total.count("ok"), undelayed.n) == (30, sampled.n)
    assert sampled.n > 15  # of a stall's burst not all are timed
    assert undelayed.sum_us <= sampled.sum_us


def test_between_several_replies_in_one_read_the_kernel_does_not_tell_the_difference():
    with h2_server() as (server, _):
        several = measure(server.port, load=closed(40), plan=HTTP_2 | {"streams": 2}).total
        one = measure(server.port, load=closed(40), plan=HTTP_2 | {"streams": 1}).total
    assert (is_timed(several), is_timed(one)) == (False, True)
