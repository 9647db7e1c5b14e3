"""Ramp-up, random arrivals and saturation over real sockets."""

import time

import pytest

from tests.injector.servers import OK_REPLY, against, always, measure, scripted
from tests.injector.test_loads import Arrivals, is_conserved, stopped
from tests.waiting import eventually


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


def saturated(when, server, duration_s):
    load = {"model": "open", "rate_per_s": 100, "duration_s": duration_s, "max_in_flight": 10}
    return measure(server.port, load=load | {"when_saturated": when}, timeouts={"total_s": 20})


def test_a_full_queue_makes_lateness_grow_and_says_how_many_waited():
    with scripted(Arrivals(service_s=0.25)) as server:
        result = saturated("queue", server, duration_s=1)
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
        result = saturated("drop", server, duration_s=2)
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


@pytest.mark.parametrize(
    "load",
    [
        {"model": "closed", "connections": 3, "requests": 9, "start_offset_s": 0.4},
        {"model": "window", "low": 1, "high": 1, "requests": 9, "start_offset_s": 0.4},
    ],
    ids=["closed", "window"],
)
def test_the_third_injector_begins_two_offsets_later(load):
    with scripted(always(OK_REPLY)) as server:
        first = measure(server.port, load=load, shard={"index": 0, "count": 3})
        third = measure(server.port, load=load, shard={"index": 2, "count": 3})
    assert server.n_requests == 6
    assert first.measurement.duration_s < 0.3
    assert 0.79 < third.measurement.duration_s < 1.1
    assert is_conserved(third)


@pytest.mark.parametrize("model", ["closed", "window"])
def test_a_stop_does_not_wait_for_an_injector_that_has_not_begun(model):
    marks = {"low": 1, "high": 1} if model == "window" else {"connections": 3}
    load = {"model": model, "requests": 9, "start_offset_s": 60} | marks
    began = time.monotonic()
    end = stopped(1, 0.2, load=load, shard={"index": 1, "count": 3})
    assert time.monotonic() - began < 1.2
    assert (end.outcome, end.totals.get("started", 0)) == ("stopped", 0)
