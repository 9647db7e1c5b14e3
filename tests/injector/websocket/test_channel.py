"""A channel reads all there is, and yet leaves the hub its turns. A stock gives things once."""

import time
from itertools import count
from types import SimpleNamespace

import gevent
import pytest

from workers.injector.websocket.channel import Channel
from workers.injector.websocket.exchange_context import Stock

pytestmark = pytest.mark.pure


class _Reader:
    """What a channel needs of a worker."""

    def __init__(self):
        self.switch = gevent.getcurrent().switch

    def park(self, kind):
        gevent.get_hub().switch()


def flooded_channel():
    """Always has more, and 2 ms of work comes with each part of it."""

    def more(count):
        time.sleep(0.002)
        return b"x"

    return Channel(_Reader(), SimpleNamespace(tls=True, send=len, recv=more))


def yields_only(channel):
    time.sleep(0.0001)
    channel.yield_to_hub()


@pytest.mark.parametrize(("go_on", "most"), [(Channel.read, 15), (yields_only, 20)])
def test_a_flood_leaves_the_hub_its_turn_for_timers_and_other_sockets(go_on, most):
    channel, turns, n_times = flooded_channel(), [], 0
    timer = gevent.get_hub().loop.timer(0.001)
    timer.start(turns.append, True)
    while not turns and n_times < 2000:
        go_on(channel)
        n_times += 1
    timer.close()
    assert n_times <= most


def test_it_gives_each_thing_once_and_makes_more_when_there_is_none():
    numbers = count()
    stock = Stock(lambda: [next(numbers) for _ in range(40)])
    taken = [stock.take() for _ in range(100)]
    assert len(set(taken)) == 100
    assert next(numbers) == 120


def test_filled_up_between_attempts_it_need_not_make_any_within_one():
    made = []

    def make():
        made.append(40)
        return list(range(40))

    stock = Stock(make)
    stock.fill_up()
    for _ in range(100):
        n_before = len(made)
        stock.take()
        assert len(made) == n_before
        stock.fill_up()
    assert len(made) == 4
