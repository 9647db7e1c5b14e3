"""The load models over real sockets: how many, when, at most how many at once, and what adds up."""

import random
import threading
import time
from statistics import median

import gevent
import pytest

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.plan import Plan
from tests.injector.servers import (
    OK_REPLY,
    against,
    always,
    closed,
    make_order,
    measure,
    reset,
    scripted,
    tally,
)
from tests.waiting import eventually
from workers.injector.connection import now
from workers.injector.engine import Engine
from workers.injector.loads import OpenLoad
from workers.injector.order import Order
from workers.injector.summary import LocalRun

NS = 1_000_000_000


class Arrivals:
    """Notes when requests arrive and how many are served at once; `service_s` may be a function."""

    def __init__(self, service_s=0.0, reply=OK_REPLY):
        self.times: list[float] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._service_s = service_s if callable(service_s) else lambda: service_s
        self._reply = reply

    def __call__(self, sock, server):
        while server.read_request(sock) is not None:
            with self._lock:
                self.times.append(time.monotonic())
                self._at_once += 1
                self.most_at_once = max(self.most_at_once, self._at_once)
            time.sleep(self._service_s())
            with self._lock:
                self._at_once -= 1
            sock.sendall(self._reply)


def is_conserved(result: LocalRun) -> bool:
    """started = ok + failed + dropped + carried + in flight at the end, over all seconds."""
    totals = result.ends[0].totals
    n_ended = sum(totals.get(name, 0) for name in ("ok", "failed", "dropped", "carried"))
    return totals.get("started", 0) == n_ended + result.ends[0].in_flight


def test_n_over_t_starts_at_even_distances_and_not_at_the_end():
    arrivals = Arrivals()
    load = {"model": "over", "requests": 50, "over_s": 1}
    result, _ = against(arrivals, mode="new", load=load)
    assert len(arrivals.times) == 50
    # The last is due at 0.98 s. Where 0 is, most of them say: the first may have come late.
    zeros = [each - number / 50 for number, each in enumerate(arrivals.times)]
    off = sorted(abs(zero - median(zeros)) for zero in zeros)
    assert off[25] < 0.02  # on a busy machine some are late
    assert result.total.count("connections_opened") == 50
    assert is_conserved(result)


def test_an_open_load_sends_an_exact_number():
    for rate, duration, count in [(75, 1, 75), (37.5, 0.4, 15), (3, 1, 3)]:
        load = {"model": "open", "rate_per_s": rate, "duration_s": duration}
        result, server = against(always(OK_REPLY), load=load)
        assert server.n_requests == count
        assert result.total.count("ok") == count
        assert result.total.timing("lateness").n == count


def test_an_idle_connection_that_the_server_closed_is_opened_anew():
    def one_each(sock, server):
        server.read_request(sock)
        sock.sendall(OK_REPLY)

    load = {"model": "open", "rate_per_s": 20, "requests": 8}
    total, server = tally(one_each, load=load)
    assert (total.count("ok"), total.errors) == (8, {})
    assert server.n_connections == 8


def test_arrivals_that_were_never_sent_are_dropped_and_counted():
    load = {"model": "open", "rate_per_s": 100, "requests": 30, "max_in_flight": 2}
    limits = {"connect_s": 0.4, "tls_s": 0.4, "total_s": 0.4}
    result, _ = against(Arrivals(service_s=5), load=load, timeouts=limits)
    total = result.total
    assert total.count("dropped") > 0
    assert total.count("started") == 30
    assert total.count("failed") + total.count("dropped") == 30
    assert is_conserved(result)


def test_as_many_arrivals_as_are_handed_over_at_once_wait_no_longer_than_others():
    for n_requests in [255, 256, 512]:
        load = {"model": "over", "requests": n_requests, "over_s": 0.00001, "max_in_flight": 8}
        limits = {"connect_s": 0.5, "tls_s": 0.5, "total_s": 0.5}
        result, _ = against(Arrivals(service_s=0.2), load=load, timeouts=limits)
        # Eight each 0.2 s, for the 0.5 s that the last of them may wait.
        assert result.ends[0].totals["dropped"] >= n_requests - 8 * 5
        assert is_conserved(result)


def test_a_closed_load_keeps_its_connections_busy_and_sends_an_exact_number():
    arrivals = Arrivals(service_s=0.02)
    result, _ = against(arrivals, load=closed(100, 10))
    assert len(arrivals.times) == 100
    assert 9 <= arrivals.most_at_once <= 10
    assert result.total.timing("lateness").n == 0
    assert is_conserved(result)


def test_a_duration_ends_a_closed_load_and_lets_the_last_replies_come():
    def ends_in_time():
        arrivals = Arrivals(service_s=0.05)
        with scripted(arrivals) as server:
            load = {"model": "closed", "connections": 2, "duration_s": 0.5}
            result = measure(server.port, load=load)
        assert result.total.count("ok") == len(arrivals.times)
        assert is_conserved(result)
        assert result.measurement.duration_s > 0.45
        return result.measurement.duration_s < 0.7

    # A busy machine may hold up the end of a run; a load that goes on too long does so each time.
    eventually(ends_in_time, 20, "a run of half a second that ends in time")


def test_several_steps_and_no_vitals_but_in_the_first():
    result, _ = against(always(OK_REPLY), steps=[{"path": "/a"}, {"path": "/b"}], load=closed(4))
    assert [row.vitals is not None for row in result.seconds] == [True, False]


def test_the_warm_up_has_negative_seconds_and_counts_for_nothing():
    for load in [
        {"model": "open", "rate_per_s": 50, "duration_s": 0.5},
        {"model": "closed", "connections": 2, "requests": 20},
    ]:
        arrivals = Arrivals(service_s=0.02)
        result, _ = against(arrivals, load=load, warm_up_s=1)
        warm = [row for row in result.seconds if row.second < 0]
        assert {row.second for row in warm} == {-1}
        n_warm = sum(row.counters["ok"] for row in warm)
        n = load.get("requests", 25)
        assert result.total.count("ok") == n
        assert n_warm + n + result.total.count("carried") == len(arrivals.times)
        assert is_conserved(result)


def test_a_frozen_server_shows_in_response_time_but_not_in_the_median_of_service_time():
    requests_at = []

    def service_s():
        """Half a second after the first request the server freezes for a second."""
        requests_at.append(time.monotonic())
        since = requests_at[-1] - requests_at[0] - 0.5
        return max(0.0, 1 - since) if since > 0 else 0

    # So few in flight that those which the standstill itself caught are fewer than a hundredth.
    load = {"model": "open", "rate_per_s": 100, "duration_s": 3, "max_in_flight": 2}
    total, _ = tally(Arrivals(service_s), load=load, timeouts={"total_s": 5})
    assert total.count("ok") == 300
    assert total.timing("response").percentile_us(99_000) >= 900_000
    assert total.timing("service").percentile_us(50_000) < 20_000


def test_response_is_lateness_plus_parts_to_the_microsecond(server_tls):
    load = {"model": "open", "rate_per_s": 200, "requests": 60}
    with scripted(Arrivals(service_s=0.002), server_tls) as server:
        total = measure(server.port, scheme="https", mode="new", load=load).total
    parts = ("lateness", "connect", "tls", "send", "wait", "receive")
    assert total.timing("response").sum_us == sum(total.timing(name).sum_us for name in parts)
    service = total.timing("response").sum_us - total.timing("lateness").sum_us
    assert total.timing("service").sum_us == service


def stop_after(port, after_s, why="user", **fields):
    """The end of a run that is stopped so long after its start."""
    engine = Engine(Order.from_json(make_order(port, **fields)), local_run())
    engine.prepare()
    timer = gevent.get_hub().loop.timer(after_s)
    timer.start(engine.stop, why)
    return engine.run(now() + NS // 100)


def misbehave(sock, server):
    """One of everything, in an order that only the seed knows."""
    dice = random.Random(server.n_connections)
    while server.read_request(sock) is not None:
        match dice.randrange(7):
            case 0:
                reset(sock)
                return
            case 1:
                return
            case 2:
                sock.sendall(b"garbage\r\n\r\n")
                return
            case 3:
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
                return
            case 4:
                sock.sendall(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")
            case _:
                sock.sendall(OK_REPLY)


def test_every_attempt_is_in_exactly_one_count():
    for load in [closed(300, 8), {"model": "over", "requests": 300, "over_s": 1}]:
        result, _ = against(misbehave, load=load, method="POST")
        total = result.total
        assert total.count("started") == 300
        assert total.count("ok") + total.count("failed") == 300
        assert sum(total.errors.values()) == total.count("failed") == total.timing("failed").n
        assert len(total.errors) >= 4
        assert is_conserved(result)


def local_run() -> LocalRun:
    """An engine's output that keeps what it is given."""
    return LocalRun(Plan.from_json(make_order(80)["plan"]))


@pytest.mark.parametrize(
    "load",
    [
        {"model": "closed", "connections": 5, "duration_s": 60},
        {"model": "open", "rate_per_s": 50, "duration_s": 60, "max_in_flight": 5},
    ],
)
def test_a_stop_ends_within_a_second_and_what_is_under_way_is_aborted(load):
    output = local_run()
    with scripted(Arrivals(service_s=30)) as server:
        order = make_order(server.port, load=load, timeouts={"total_s": 60})
        engine = Engine(Order.from_json(order), output)
        engine.prepare()
        stopped_at = []

        def stop():
            stopped_at.append(time.monotonic())
            engine.stop("user")

        timer = gevent.get_hub().loop.timer(0.4)
        timer.start(stop)
        end = engine.run(now() + NS // 100)
        took = time.monotonic() - stopped_at[0]
        n_seen = server.n_requests
        time.sleep(0.1)  # whatever was sent after the stop would have come
        assert server.n_requests == n_seen == 5
    output.ends.append(end)
    assert took < 1
    assert (end.outcome, end.reason) == ("stopped", "user")
    assert end.errors == {Kind.ABORTED_BY_STOP: 5}
    assert is_conserved(output)


def test_what_began_before_the_end_and_ended_after_it_was_started_in_its_second():
    # Each of the connections has a request under way when the second is over, and is then watched
    # for strays while the second is handed out.
    load = {"model": "closed", "connections": 4, "duration_s": 1}
    result, server = against(Arrivals(service_s=0.03), load=load)
    assert is_conserved(result)
    first = result.seconds[0]
    assert first.counters["started"] == server.n_requests == first.counters["ok"] + 4
    assert first.in_flight == 4


def test_an_open_load_is_calm_between_arrivals_only():
    """Not shortly before one is due, and not while the reply to the last one may come at once."""
    ms = NS // 1000
    load = OpenLoad([], lambda: None, [(0, 10 * ms), (1, 20 * ms)], 1, NS)
    zero_ns = now() + 3600 * NS
    load.start(zero_ns, None)
    calm = [at for at in range(12) if load.is_calm(zero_ns + at * ms)]
    assert calm == [0, 1, 2, 3, 4, 5, 6, 7]

    load = OpenLoad([], lambda: None, [(0, 0), (1, 20 * ms)], 0, NS)
    zero_ns = now() - ms
    load.start(zero_ns, None)
    gevent.sleep(0.005)
    assert [at for at in range(21) if load.is_calm(zero_ns + at * ms)] == list(range(2, 18))
    load.stop()


class Openings:
    """Notes when each connection is accepted; answers slowly enough that all stay busy."""

    def __init__(self, service_s=0.02):
        self.times: list[float] = []
        self._service_s = service_s

    def __call__(self, sock, server):
        self.times.append(time.time())
        while server.read_request(sock) is not None:
            time.sleep(self._service_s)
            sock.sendall(OK_REPLY)


def test_connections_begin_one_by_one_over_the_ramp_up():
    """None ever before it is due. A busy machine may hold up some of a run, a wrong schedule some
    of every run."""
    load = {"model": "closed", "connections": 10, "duration_s": 1.2, "ramp_up_s": 1}

    def begin_when_due():
        openings = Openings()
        with scripted(openings) as server:
            result = measure(server.port, load=load)
        late = [at - result.started_at - i / 10 for i, at in enumerate(sorted(openings.times))]
        assert len(late) == 10
        assert min(late) > -0.005
        assert is_conserved(result)
        return sorted(late)[7] < 0.03

    eventually(begin_when_due, 20, "eight of ten begin within 30 ms")


def test_a_ramp_up_begins_with_the_warm_up():
    openings = Openings()
    load = {"model": "closed", "connections": 5, "duration_s": 0.3, "ramp_up_s": 0.25}
    with scripted(openings) as server:
        measure(server.port, load=load, warm_up_s=1)
    assert max(openings.times) - min(openings.times) < 0.5


def test_requests_that_are_used_up_end_the_ramp_up():
    load = {"model": "closed", "connections": 50, "requests": 5, "ramp_up_s": 3000}
    began = time.monotonic()
    result, server = against(always(OK_REPLY), load=load)
    assert time.monotonic() - began < 5
    assert (server.n_requests, server.n_connections) == (5, 1)
    assert is_conserved(result)


def overload(when, server, duration_s):
    load = {"model": "open", "rate_per_s": 100, "duration_s": duration_s, "max_in_flight": 10}
    return measure(server.port, load=load | {"when_saturated": when}, timeouts={"total_s": 20})


def test_a_full_queue_makes_lateness_grow_and_says_how_many_waited():
    with scripted(Arrivals(service_s=0.25)) as server:
        result = overload("queue", server, duration_s=1)
    total = result.total
    assert (total.count("ok"), total.count("dropped")) == (100, 0)
    # 40 a second are served of 100: the last one is due at 0.99 s and sent after 9 times 0.25 s.
    assert 1_250_000 <= total.timing("lateness").max_us < 2_000_000
    means = [
        row.timings["lateness"].mean_us for row in result.seconds if row.timings.get("lateness")
    ]
    assert means == sorted(means)
    assert total.count("queued") >= 85
    assert is_conserved(result)


def test_drops_are_counted_when_they_were_due():
    with scripted(Arrivals(service_s=0.5)) as server:
        result = overload("drop", server, duration_s=2)
    total = result.total
    assert total.count("ok") + total.count("dropped") == total.count("started") == 200
    assert 30 <= total.count("ok") <= 50
    by_second = {row.second: row.counters.get("dropped", 0) for row in result.seconds}
    assert 70 <= by_second[0] <= 90
    assert 70 <= by_second[1] <= 90
    assert total.timing("lateness").percentile_us(90_000) < 50_000
    assert total.count("queued") == 0
    assert is_conserved(result)


def test_drops_of_the_warm_up_stay_in_the_warm_up():
    load = {"model": "open", "rate_per_s": 50, "duration_s": 0.2, "max_in_flight": 1}
    with scripted(Arrivals(service_s=0.1)) as server:
        result = measure(server.port, load=load | {"when_saturated": "drop"}, warm_up_s=1)
    assert result.total.count("started") == 10
    warm = next(row for row in result.seconds if row.second == -1)
    assert warm.counters["dropped"] >= 30
    assert is_conserved(result)


def test_the_third_injector_begins_two_offsets_later():
    for load in [
        {"model": "closed", "connections": 3, "requests": 9, "start_offset_s": 0.4},
        {"model": "window", "low": 1, "high": 1, "requests": 9, "start_offset_s": 0.4},
    ]:
        with scripted(always(OK_REPLY)) as server:
            first = measure(server.port, load=load, shard={"index": 0, "count": 3})
            third = measure(server.port, load=load, shard={"index": 2, "count": 3})
        assert server.n_requests == 6
        assert first.measurement.duration_s < 0.3
        assert 0.79 < third.measurement.duration_s < 1.1
        assert is_conserved(third)


def test_a_stop_does_not_wait_for_an_injector_that_has_not_begun():
    for model in ["closed", "window"]:
        marks = {"low": 1, "high": 1} if model == "window" else {"connections": 3}
        load = {"model": model, "requests": 9, "start_offset_s": 60} | marks
        began = time.monotonic()
        end = stop_after(1, 0.2, load=load, shard={"index": 1, "count": 3})
        assert time.monotonic() - began < 1.2
        assert (end.outcome, end.totals.get("started", 0)) == ("stopped", 0)
