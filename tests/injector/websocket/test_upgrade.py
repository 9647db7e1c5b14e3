"""The opening handshake, held against wsproto; a channel that leaves the hub its turns."""

import base64
import time
from itertools import count
from types import SimpleNamespace

import gevent
import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, Request

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.exchange import Exchange
from workers.injector.http1 import BadReply
from workers.injector.websocket.channel import (
    Channel,
    UpgradeCheck,
    UpgradeRequest,
    accept_of,
    make_keys,
)
from workers.injector.websocket.exchange_context import Stock

pytestmark = pytest.mark.pure


# The example of RFC 6455, section 1.3.
KEY, ACCEPT = b"dGhlIHNhbXBsZSBub25jZQ==", b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
USUAL = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": ACCEPT.decode()}


def head_of(fields: dict[str, str], status: str = "101 Switching Protocols") -> bytes:
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()


def test_the_accept_is_that_of_the_standard():
    assert accept_of(KEY) == ACCEPT


def test_keys_are_sixteen_bytes_in_base64_each_another():
    keys = make_keys(1000)
    assert len(set(keys)) == 1000
    assert {len(base64.b64decode(key, validate=True)) for key in keys} == {16}


def test_wsproto_accepts_the_request_and_its_reply_opens_the_connection():
    for subprotocol in ["chat", "superchat"]:
        exchange = Exchange(
            path="/feed?x=1", headers=(("X-A", "b"),), subprotocols=("chat", "superchat")
        )
        (key,) = make_keys(1)
        server = WSConnection(ConnectionType.SERVER)
        server.receive_data(UpgradeRequest.of(exchange, "shop.test").bytes_with(key))
        (event,) = server.events()
        assert isinstance(event, Request)
        assert (event.target, event.host) == ("/feed?x=1", "shop.test")
        assert event.subprotocols == ["chat", "superchat"]
        assert (b"x-a", b"b") in event.extra_headers
        reply = server.send(AcceptConnection(subprotocol=subprotocol))
        assert UpgradeCheck(exchange.subprotocols).opens(reply, accept_of(key))


GOOD = {
    "as usual": USUAL,
    "in another case": USUAL | {"Upgrade": "WebSocket", "Connection": "upgrade"},
    "with more tokens": USUAL | {"Connection": "keep-alive, Upgrade"},
    "a subprotocol that was offered": USUAL | {"Sec-WebSocket-Protocol": "chat"},
}
BAD = {
    "no Upgrade": {name: USUAL[name] for name in USUAL if name != "Upgrade"},
    "another Upgrade": USUAL | {"Upgrade": "h2c"},
    "no Connection": {name: USUAL[name] for name in USUAL if name != "Connection"},
    "another Connection": USUAL | {"Connection": "close"},
    "no accept": {name: USUAL[name] for name in USUAL if name != "Sec-WebSocket-Accept"},
    "the wrong accept": USUAL | {"Sec-WebSocket-Accept": accept_of(b"x").decode()},
    "the accept in lower case": USUAL | {"Sec-WebSocket-Accept": ACCEPT.decode().lower()},
    "the accept elsewhere": USUAL | {"Sec-WebSocket-Accept": "x", "X-Accept": ACCEPT.decode()},
    "an extension": USUAL | {"Sec-WebSocket-Extensions": "permessage-deflate"},
    "a subprotocol nobody offered": USUAL | {"Sec-WebSocket-Protocol": "soap"},
}


def test_it_opens():
    for name in GOOD:
        check = UpgradeCheck(("chat",) if "Sec-WebSocket-Protocol" in GOOD[name] else ())
        for _ in range(2):
            check.opens(head_of(GOOD[name]), ACCEPT)


def test_a_server_that_takes_no_subprotocol_refuses():
    with pytest.raises(BadReply, match="it took no subprotocol of chat, news") as failure:
        UpgradeCheck(("chat", "news")).opens(head_of(USUAL), ACCEPT)
    assert failure.value.kind == Kind.WS_UPGRADE_REJECTED


def test_it_does_not_open():
    for name in BAD:
        check = UpgradeCheck(())
        check.opens(head_of(USUAL), ACCEPT)
        for _ in range(2):
            with pytest.raises(BadReply) as failure:
                check.opens(head_of(BAD[name]), ACCEPT)
            assert failure.value.kind == Kind.WS_PROTOCOL


def test_a_head_that_was_good_is_known_by_all_but_its_accept():
    check, other = UpgradeCheck(()), accept_of(b"another key")
    assert not check.knows(head_of(USUAL), ACCEPT)
    check.opens(head_of(USUAL), ACCEPT)
    assert check.knows(head_of(USUAL), ACCEPT)
    assert check.knows(head_of(USUAL | {"Sec-WebSocket-Accept": other.decode()}), other)
    assert not check.knows(head_of(USUAL), other)
    assert not check.knows(head_of(USUAL) + b"x", ACCEPT)
    assert not check.knows(head_of(USUAL)[:-1], ACCEPT)


def test_the_accept_counts_only_where_it_belongs():
    """A server that repeats it elsewhere is not known: there it might be right, and wrong here."""
    check, other = UpgradeCheck(()), accept_of(b"another key")
    check.opens(head_of({"X-Accept": ACCEPT.decode()} | USUAL), ACCEPT)
    wrong = head_of({"X-Accept": other.decode()} | USUAL)
    assert not check.knows(wrong, other)
    with pytest.raises(BadReply):
        check.opens(wrong, other)


def test_heads_with_a_date_are_known_each_second_anew():
    check = UpgradeCheck(())
    for second in range(200):
        head = head_of(USUAL | {"Date": f"{second}"})
        check.opens(head, ACCEPT)
        assert check.knows(head, ACCEPT)


def test_the_accept_of_an_earlier_key_does_not_open():
    check = UpgradeCheck(())
    check.opens(head_of(USUAL), ACCEPT)
    with pytest.raises(BadReply):
        check.opens(head_of(USUAL), accept_of(b"another key"))


def test_another_status_is_a_rejection():
    for status in ["200 OK", "301 Moved", "403 Forbidden", "426 Upgrade", "503 x"]:
        with pytest.raises(BadReply) as failure:
            UpgradeCheck(()).opens(head_of(USUAL, status), ACCEPT)
        assert (failure.value.kind, failure.value.status) == (
            Kind.WS_UPGRADE_REJECTED, int(status.split()[0]),
        )  # fmt: skip


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


def test_a_flood_leaves_the_hub_its_turn_for_timers_and_other_sockets():
    for go_on, most in [(Channel.read, 15), (yields_only, 20)]:
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
    things = [stock.take() for _ in range(100)]
    assert len(set(things)) == 100
    assert next(numbers) == 120


def test_filled_up_between_attempts_it_need_not_make_any_within_one():
    batches = []

    def make():
        batches.append(40)
        return list(range(40))

    stock = Stock(make)
    stock.fill_up()
    for _ in range(100):
        n_before = len(batches)
        stock.take()
        assert len(batches) == n_before
        stock.fill_up()
    assert len(batches) == 4
