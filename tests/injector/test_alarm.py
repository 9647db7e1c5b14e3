"""Many that wait, one timer: everyone is woken at their own time, and whoever left is not."""

import time

import gevent
import pytest

from tests.waiting import eventually
from workers.injector.alarm import Alarm

pytestmark = pytest.mark.pure

_MS = 1_000_000


@pytest.fixture
def alarm():
    alarm = Alarm()
    yield alarm
    alarm.close()


def woken_after_ms(alarm, waits_ms):
    """(what each waited for, how long it took), in the order in which they were woken."""
    woken = []
    began = time.monotonic_ns()

    def sleep(wait_ms):
        alarm.sleep_until(began + int(wait_ms * _MS))
        woken.append((wait_ms, (time.monotonic_ns() - began) / _MS))

    gevent.joinall([gevent.spawn(sleep, each) for each in waits_ms], timeout=10)
    return woken


def test_sleepers_are_woken_in_the_order_of_their_times_and_not_before(alarm):
    woken = woken_after_ms(alarm, [9.3, 3.7, 6.1, 3.7, -1.0])
    assert [wait_ms for wait_ms, _ in woken] == [-1.0, 3.7, 3.7, 6.1, 9.3]
    assert all(took_ms >= wait_ms for wait_ms, took_ms in woken)


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
    woken = []
    waits = [gevent.spawn(alarm.sleep_until, time.monotonic_ns() + n * 10**9) for n in (90, 60)]
    for wait in waits:
        wait.link(lambda _: woken.append(time.monotonic_ns()))
    gevent.sleep(0)
    alarm.ring_now()
    gevent.joinall(waits, timeout=10)
    assert len(woken) == 2
