"""The end of a second: counted at once, handed out in steps between which the load is served."""

import time
from types import SimpleNamespace

import gevent
import pytest

from workers.injector.attempt_row import FIELDS
from workers.injector.recorder import StepRecorder
from workers.injector.request_keeper import RequestKeeper
from workers.injector.seconds import Seconds
from workers.injector.users import VisitRecorder

pytestmark = pytest.mark.pure

S, MS, US = 10**9, 10**6, 10**3
# In the future, so that the clock of the end is never ahead of the test's.
ZERO = time.monotonic_ns() + 3600 * S


def attempt(end, took_us=2000):
    """A row of FIELDS: an ok attempt on a kept connection that began when it was due."""
    start = end - took_us * US
    times = {"intended": start, "start": start, "sent": start + 10 * US, "first": end, "end": end}
    return tuple((times | {"status": 200, "received": 150}).get(name, 0) for name in FIELDS)


class Run:
    def __init__(self, n_steps=1):
        self.recorders = [StepRecorder(step, 80, is_scheduled=True) for step in range(n_steps)]
        self.rows = []
        self.has_ended = False
        self.wire = {}
        dialler = SimpleNamespace(take_wire=self.take_wire, n_open=0, count_open=list)
        dialler.has_wire = False
        self.dialler = dialler
        crew = SimpleNamespace(recorders=self.recorders, visits=[], keeper=RequestKeeper(0))
        self.is_calm = True
        self.seconds = Seconds(crew, dialler, [], self.rows.append, lambda _: self.is_calm)
        self.seconds.begin(ZERO, 0)
        self.seconds.watch()

    def take_wire(self):
        wire, self.wire, self.dialler.has_wire = self.wire, {}, False
        return wire

    def end(self):
        if not self.has_ended:
            self.has_ended = True
            self.seconds.end(dropped=0)

    def responses(self):
        return [(row.second, row.step, row.timings["response"].n) for row in self.rows]


def wait_until(is_so):
    with gevent.Timeout(10):
        while not is_so():
            gevent.sleep(0.001)


@pytest.fixture
def run():
    runs = []

    def make(n_steps=1):
        runs.append(Run(n_steps))
        return runs[-1]

    yield make
    for each in runs:
        each.end()


def test_a_second_is_handed_out_whole_but_not_within_the_sweep_that_ends_it(run):
    one = run(n_steps=3)
    for recorder in one.recorders:
        recorder.record(attempt(ZERO + 500 * MS))
    one.seconds.sweep(ZERO + S)
    assert one.rows == []
    wait_until(lambda: len(one.rows) == 3)
    assert one.responses() == [(0, 0, 1), (0, 1, 1), (0, 2, 1)]
    assert one.rows[0].vitals["lateness_p99_us"] == 0


def test_others_are_served_between_the_steps(run):
    one = run(n_steps=3)
    turns = []
    timer = gevent.get_hub().loop.timer(0.001, 0.001)
    timer.start(lambda: turns.append(len(one.rows)))
    one.seconds.sweep(ZERO + S)
    wait_until(lambda: one.rows)
    timer.stop()
    assert turns.count(0) >= 3


def test_nothing_is_done_before_the_load_leaves_a_moment_for_it(run):
    one = run()
    one.recorders[0].record(attempt(ZERO + 500 * MS))
    one.is_calm = False
    one.seconds.sweep(ZERO + S)
    assert one.recorders[0].last_second is None, "what was noted is not even counted"
    one.is_calm = True
    wait_until(lambda: one.rows)
    assert one.responses() == [(0, 0, 1)]


def test_a_second_is_handed_out_though_the_load_is_never_calm(run):
    one = run()
    one.recorders[0].record(attempt(ZERO + 500 * MS))
    one.is_calm = False
    one.seconds.sweep(ZERO + S)
    wait_until(lambda: one.rows)
    assert one.responses() == [(0, 0, 1)]


def test_what_ended_after_the_second_is_left_to_the_next(run):
    one = run()
    one.recorders[0].record(attempt(ZERO + 990 * MS, took_us=3000))
    one.recorders[0].record(attempt(ZERO + 1010 * MS, took_us=20_000))
    one.seconds.sweep(ZERO + 1020 * MS)
    wait_until(lambda: len(one.rows) == 1)
    one.recorders[0].record(attempt(ZERO + 1500 * MS, took_us=4000))
    one.seconds.sweep(ZERO + 2 * S)
    wait_until(lambda: len(one.rows) == 2)
    responses = [row.timings["response"] for row in one.rows]
    assert [(each.n, each.min_us, each.max_us) for each in responses] == [
        (1, 3000, 3000),
        (2, 4000, 20_000),
    ]
    # Both had begun in the first: what was under way at its end is counted then.
    assert [row.in_flight for row in one.rows] == [1, 0]


def test_what_an_attempt_sent_more_than_its_step_counts_in_its_own_second(run):
    one = run()
    for end, extra in ((ZERO + 990 * MS, 7), (ZERO + 1010 * MS, -30)):
        one.recorders[0].record(attempt(end))
        one.recorders[0].note_sent((end, extra))
    one.seconds.sweep(ZERO + 1020 * MS)
    one.end()
    assert [row.counters["bytes_sent"] for row in one.rows] == [87, 50]


def test_a_second_that_is_still_in_the_making_is_handed_out_before_the_next(run):
    one = run()
    one.recorders[0].record(attempt(ZERO + 500 * MS))
    one.seconds.sweep(ZERO + S)
    one.recorders[0].record(attempt(ZERO + 1500 * MS))
    one.seconds.sweep(ZERO + 2 * S)
    assert one.responses() == [(0, 0, 1)]


def test_what_is_found_after_its_second_was_handed_out_counts_in_the_next(run):
    """A start in the past, or a loop that stood still: arrivals are dropped long after due."""
    one = run()
    one.seconds.sweep(ZERO + S)
    one.recorders[0].events["dropped"].append(ZERO + 100 * MS)
    one.end()
    assert [(row.second, row.counters) for row in one.rows] == [
        (0, {}),
        (1, {"dropped": 1, "started": 1}),
    ]


def test_what_connections_carried_is_not_lost_where_their_second_is_written(run):
    one = run()
    one.recorders[0].record(attempt(ZERO + 900 * MS))
    one.seconds.sweep(ZERO + S)
    wait_until(lambda: one.rows)
    one.wire, one.dialler.has_wire = {"wire_sent": 80}, True
    one.end()
    assert [(row.second, row.counters.get("wire_sent")) for row in one.rows] == [(0, None), (1, 80)]


def test_sessions_that_were_dropped_long_after_they_were_due_are_not_lost():
    visits = VisitRecorder(n_calls=3, has_sessions=True)
    visits.zero_ns = ZERO
    assert visits.take(0) == ({}, {})
    visits.note_drop(ZERO + 100 * MS)
    counters, _ = visits.take(1)
    assert counters == {"sessions_started": 1, "sessions_dropped": 1, "calls_skipped": 2}


def test_at_the_end_nothing_waits(run):
    one = run()
    one.recorders[0].record(attempt(ZERO + 500 * MS))
    one.seconds.sweep(ZERO + S)
    one.recorders[0].record(attempt(ZERO + 1200 * MS))
    one.end()
    assert [(second, n) for second, _, n in one.responses()] == [(0, 1), (1, 1)]
