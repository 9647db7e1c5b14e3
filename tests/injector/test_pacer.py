"""The pacer: never before the instant, and as little after it as a sleeper can wake."""

import time
from random import Random

import gevent
import pytest
from gevent.event import Event

from workers.injector.pacer import Lead, TimerfdPacer

pytestmark = pytest.mark.pure

_MS = 1_000_000


def wakes(make, gaps_ns):
    """How late each wake came, ns."""
    late_ns, over = [], Event()
    due_ns = []

    def woken():
        late_ns.append(time.monotonic_ns() - due_ns[-1])
        over.set()

    pacer = make(woken)
    try:
        for gap_ns in gaps_ns:
            over.clear()
            due_ns.append(time.monotonic_ns() + gap_ns)
            pacer.wake_at(due_ns[-1])
            assert over.wait(5)
    finally:
        pacer.close()
    return late_ns


def test_no_wake_comes_before_its_instant():
    assert min(wakes(TimerfdPacer, [2 * _MS] * 150)) >= 0


def test_an_instant_that_is_past_wakes_at_once_and_teaches_nothing():
    teachers = []

    def make(callback):
        teachers.append(TimerfdPacer(callback))
        return teachers[-1]

    assert len(wakes(make, [-_MS] * 20)) == 20
    assert teachers[0]._lead.ns == 0


def test_a_lead_grows_to_the_time_that_waking_takes():
    lead, dice = Lead(), Random(1)
    early = []
    for _ in range(2000):
        late_ns = dice.randint(40_000, 60_000) - lead.ns
        early.append(late_ns <= 0)
        lead.learn(late_ns)
    assert 50_000 < lead.ns < 70_000
    assert 0.7 < sum(early[1000:]) / 1000 < 0.9


def test_a_lead_stays_so_short_that_replies_do_not_wait_for_it():
    lead = Lead()
    for _ in range(1000):
        lead.learn(5 * _MS)
    assert lead.ns == 100_000


def test_the_hub_serves_others_between_two_wakes():
    turns = []
    other = gevent.spawn(lambda: [turns.append(gevent.sleep(0.001)) for _ in range(30)])
    wakes(TimerfdPacer, [2 * _MS] * 60)
    other.kill()
    assert len(turns) >= 20
