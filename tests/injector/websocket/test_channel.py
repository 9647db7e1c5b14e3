"""A channel reads all that there is, and yet leaves the hub its turns."""

import time
from types import SimpleNamespace

import gevent
import pytest

from workers.injector.websocket.channel import Channel

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
