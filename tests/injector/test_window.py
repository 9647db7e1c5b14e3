"""The window over real sockets: its marks, its bursts, its counters, and what it holds."""

import threading
import time

import gevent
import pytest

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.load import Hold
from tests.injector.servers import OK_REPLY, against, always, make_order, measure, scripted
from tests.injector.test_loads import is_conserved, local_run
from workers.injector.connection import now
from workers.injector.engine import Engine
from workers.injector.order import Order, Refusal
from workers.injector.window import Marks, WindowLoad

pytestmark = pytest.mark.pure

NS = 1_000_000_000


class Opening:
    """Answers after a moment; notes how many connections are open at once, replied to or not."""

    def __init__(self, service_s=0.02):
        self.service_s = service_s
        self.most_unanswered = self.most_open = 0
        self._n_unanswered = self._open = 0
        self._lock = threading.Lock()

    def _count(self, n_more, n_open):
        with self._lock:
            self._n_unanswered += n_more
            self._open += n_open
            self.most_unanswered = max(self.most_unanswered, self._n_unanswered)
            self.most_open = max(self.most_open, self._open)

    @property
    def n_held(self):
        """Connections that have their reply and are open."""
        return self._open - self._n_unanswered

    def __call__(self, sock, server):
        self._count(1, 1)
        if server.read_request(sock) is None:
            return
        time.sleep(self.service_s)
        self._count(-1, 0)
        sock.sendall(OK_REPLY)
        sock.recv(1)
        self._count(0, -1)


def window_of(low, high, requests=None, **fields):
    return {"model": "window", "low": low, "high": high, "requests": requests} | fields


class Instrumented:
    """Opens nothing, but notes how many are being opened whenever that changes."""

    def __init__(self, count, low, high, is_failing=False):
        self.levels: list[int] = []
        self.level = 0
        self._is_failing = is_failing
        self.events = {"window_throttled": [], "window_resumed": []}
        self.load = WindowLoad(
            self._open_one,
            _Idle,
            range(count),
            Marks(low, high, 10**6),
            (Hold.CLOSE, 0),
            self.events,
        )

    def _open_one(self, worker, number):
        self.level += 1
        self.levels.append(self.level)
        for _turn in range(1 + number % 3):  # turns of the hub, not a time: no machine is too slow
            gevent.sleep(0)
        self.level -= 1
        self.levels.append(self.level)
        return None if self._is_failing else _Closed()

    def run(self):
        self.load.start(now(), None)
        with gevent.Timeout(20):
            while not self.load.is_finished:
                gevent.sleep(0.005)
        return self


class _Idle:
    switch = None
    began = 0


class _Closed:
    def close(self):
        """There is nothing to close."""


def test_opening_stays_below_the_high_mark_and_bursts_begin_below_the_low_one():
    for is_failing in [False, True]:
        for count, low, high in [
            (3000, 250, 500),
            (200, 1, 10),
            (100, 7, 7),
            (5, 1, 1),
            (3, 250, 500),
        ]:
            window = Instrumented(count, low, high, is_failing).run()
            assert 0.9 * min(high, count) < max(window.levels) <= min(high, count)
            n_throttled, n_resumed = (len(each) for each in window.events.values())
            refills = -(-(count - min(high, count)) // max(1, high - low + 1))
            assert n_resumed == refills
            # Every burst but one that ran out of numbers ends at the high mark.
            assert n_throttled in {n_resumed, n_resumed + 1} if count > high else n_throttled == 0


def test_a_refill_is_one_burst_from_below_low_up_to_high():
    bursts = []
    original = WindowLoad._fill

    class Watched(WindowLoad):
        def _fill(self):
            before = self._n_opening
            original(self)
            bursts.append((before, self._n_opening))

    window = Instrumented(1000, 25, 50)
    window.load.__class__ = Watched
    window.run()
    assert bursts[0] == (0, 50)
    assert set(bursts[1:-1]) == {(24, 50)}
    assert bursts[-1][0] == 24


@pytest.mark.sockets
def test_it_sends_an_exact_number_each_on_a_connection_of_its_own():
    opening = Opening()
    result, server = against(opening, load=window_of(5, 10, 60))
    assert (server.n_connections, server.n_requests) == (60, 60)
    assert result.total.count("ok") == result.total.count("connections_opened") == 60
    assert opening.most_unanswered <= 10
    assert result.total.count("window_resumed") == 9
    assert result.total.count("window_throttled") in {9, 10}
    assert is_conserved(result)


@pytest.mark.sockets
def test_processes_share_the_number_and_each_has_the_whole_window():
    for count in [2, 3]:
        with scripted(always(OK_REPLY)) as server:
            for index in range(count):
                shard = {"index": index, "count": count}
                measure(server.port, load=window_of(2, 4, 10), shard=shard)
        assert server.n_requests == 10


@pytest.mark.sockets
def test_kept_connections_stay_open_until_all_are():
    opening = Opening(service_s=0.01)
    result, server = against(opening, load=window_of(5, 10, 40, hold="keep_until_all"))
    assert opening.most_open == 40
    assert opening.most_unanswered <= 10
    assert result.total.count("ok") == 40
    assert b"Connection: close" not in server.requests[0]


@pytest.mark.sockets
def test_connections_are_kept_for_a_time():
    opening = Opening(service_s=0.01)
    began = time.monotonic()
    load = window_of(2, 4, 20, hold="keep_s", hold_s=0.4)
    result, _ = against(opening, load=load)
    assert time.monotonic() - began > 0.4
    assert opening.most_open >= 15
    assert result.total.count("ok") == 20


@pytest.mark.sockets
def test_a_warm_up_uses_no_number_up():
    result, server = against(Opening(service_s=0.05), load=window_of(1, 2, 10), warm_up_s=1)
    assert result.total.count("ok") == 10
    assert server.n_requests > 10
    assert is_conserved(result)


def test_more_than_the_process_may_have_open_is_refused(monkeypatch):
    monkeypatch.setattr("workers.injector.preflight.raise_descriptor_limit", lambda: 164)
    load = window_of(5, 10, 101, hold="keep_until_all")
    with pytest.raises(Refusal, match="101 connections need"):
        Engine(Order.from_json(make_order(1, load=load)), local_run()).prepare()


def test_a_window_waits_for_room_where_held_connections_take_it():
    events = {"window_throttled": [], "window_resumed": []}
    load = WindowLoad(_open_held, _Idle, range(10), Marks(2, 4, 5), (Hold.KEEP_S, 0.02), events)
    load.start(now(), None)
    most = 0
    with gevent.Timeout(5):
        while not load.is_finished:
            most = max(most, load._n_opening + len(load._held_sockets))
            gevent.sleep(0.001)
    assert most <= 5


def _open_held(worker, number):
    gevent.sleep(0.001)
    return _Closed()


@pytest.mark.sockets
def test_a_stop_closes_what_is_held_within_a_second():
    opening, stopped_at = Opening(service_s=0.01), []
    with scripted(opening) as server:
        order = make_order(server.port, load=window_of(2, 4, 20, hold="keep_s", hold_s=60))
        engine = Engine(Order.from_json(order), local_run())
        engine.prepare()

        def stop_when_all_are_held():
            with gevent.Timeout(10):
                while opening.n_held < 20:
                    gevent.sleep(0.01)
            # The last reply is written; the injector has yet to read it.
            gevent.sleep(0.2)
            stopped_at.append(time.monotonic())
            engine.stop("user")

        gevent.spawn(stop_when_all_are_held)
        end = engine.run(now() + NS // 100)
    assert time.monotonic() - stopped_at[0] < 1
    assert end.outcome == "stopped"
    assert Kind.ABORTED_BY_STOP not in end.errors
    assert end.totals["ok"] == 20


@pytest.mark.sockets
@pytest.mark.parametrize("plan", [{}, {"session": {"calls_per_connection": 2}}])
def test_a_stop_in_the_middle_of_a_burst_leaves_the_rest_of_it_unopened(plan, monkeypatch):
    with scripted(always(OK_REPLY)) as server:
        order = make_order(server.port, load=window_of(50, 50, 100), plan=plan)
        engine = Engine(Order.from_json(order), local_run())
        engine.prepare()
        original = WindowLoad._fill

        def fill_and_stop(load):
            original(load)
            engine.stop("user")

        monkeypatch.setattr(WindowLoad, "_fill", fill_and_stop)
        end = engine.run(now() + NS // 100)
        gevent.sleep(0.1)
    assert (end.outcome, end.in_flight) == ("stopped", 0)
    assert (end.totals.get("started", 0), server.n_connections) == (0, 0)
