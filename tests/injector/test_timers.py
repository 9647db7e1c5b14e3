"""What wakes the injector: one alarm for many that wait, and a pacer that is never early."""

import time
from random import Random

import gevent
import pytest
from gevent.event import Event

from tests.waiting import eventually
from workers.injector.pacer import Alarm, Lead, TimerfdPacer

pytestmark = pytest.mark.pure


_MS = 1_000_000


@pytest.fixture
def alarm():
    alarm = Alarm()
    yield alarm
    alarm.close()


def woken_after_ms(alarm, waits_ms):
    """(what each waited for, how long it took), in the order in which they were woken."""
    wakes_ms = []
    began = time.monotonic_ns()

    def sleep(wait_ms):
        alarm.sleep_until(began + int(wait_ms * _MS))
        wakes_ms.append((wait_ms, (time.monotonic_ns() - began) / _MS))

    gevent.joinall([gevent.spawn(sleep, each) for each in waits_ms], timeout=10)
    return wakes_ms


def test_sleepers_are_woken_in_the_order_of_their_times_and_not_before(alarm):
    wakes_ms = woken_after_ms(alarm, [9.3, 3.7, 6.1, 3.7, -1.0])
    assert [wait_ms for wait_ms, _ in wakes_ms] == [-1.0, 3.7, 3.7, 6.1, 9.3]
    assert all(took_ms >= wait_ms for wait_ms, took_ms in wakes_ms)


def test_a_sleep_is_not_rounded_up_to_a_millisecond(alarm):
    def is_in_time():
        ((wait_ms, took_ms),) = woken_after_ms(alarm, [1.2])
        return took_ms - wait_ms < 0.3

    eventually(is_in_time, 10, "a sleep that ends in time: one rounded up never does")


def test_whoever_is_killed_in_their_sleep_is_not_woken(alarm):
    sleeper = gevent.spawn(alarm.sleep_until, time.monotonic_ns() + 200 * _MS)
    gevent.sleep(0.001)
    sleeper.kill()
    assert [wait_ms for wait_ms, _ in woken_after_ms(alarm, [250.0])] == [250.0]
    assert isinstance(sleeper.value, gevent.GreenletExit)


def test_all_can_be_woken_before_their_times(alarm):
    wakes_ns = []
    waits = [gevent.spawn(alarm.sleep_until, time.monotonic_ns() + n * 10**9) for n in (90, 60)]
    for wait in waits:
        wait.link(lambda _: wakes_ns.append(time.monotonic_ns()))
    gevent.sleep(0)
    alarm.ring_now()
    gevent.joinall(waits, timeout=10)
    assert len(wakes_ns) == 2


def wakes(make, gaps_ns):
    """How late each wake came, ns."""
    late_ns, over = [], Event()
    due_ns = []

    def note():
        late_ns.append(time.monotonic_ns() - due_ns[-1])
        over.set()

    pacer = make(note)
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
