"""Exchanges with a proper server, wsproto's, over real sockets: what is counted and timed."""

import time

from wsproto.events import CloseConnection, Message, Request

from tests.injector.servers import closed, reset, scripted
from tests.injector.test_loads import stop_after
from tests.injector.websocket.peers import (
    after_opening,
    against,
    echo,
    hang,
    head,
    measure,
    read_key,
    tally,
)
from workers.injector.websocket.frames import (
    CLOSE,
    PING,
    PONG,
    TEXT,
    FrameReader,
    close_payload,
    encode_frame,
)

PARTS = ("lateness", "connect", "tls", "handshake", "exchange", "close")


def assert_all_ok(total, n):
    assert (total.errors, total.count("ok"), total.count("started")) == ({}, n, n)


def assert_parts_add_up(total):
    parts = sum(total.timing(part).sum_us for part in PARTS)
    assert parts == total.timing("response").sum_us


def test_it_opens_and_closes_and_times_both():
    total, _ = tally(echo(), closed(20, 4), {})
    assert_all_ok(total, 20)
    assert total.statuses == {"101": 20}
    assert total.count("close_code_1000") == 20
    assert total.timing("handshake").n == total.timing("close").n == 20
    assert not total.timing("exchange").n
    assert_parts_add_up(total)


def interim_replies(count):
    """Opens behind so many interim replies, and closes properly."""

    def script(sock, server):
        key = read_key(sock, server)
        sock.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * count + head(key))
        sock.recv(65536)
        sock.sendall(b"\x88\x02\x03\xe8")

    return script


def test_as_many_interim_replies_as_in_http_may_come_before_it_opens():
    for count, errors in [(20, {}), (21, {"http_parse": 1})]:
        total, _ = tally(interim_replies(count), closed(1), {})
        assert total.errors == errors


def test_it_does_the_same_over_tls(server_tls):
    total, _ = tally(echo(), closed(5, 2), {"messages": 3}, scheme="wss", tls=server_tls)
    assert_all_ok(total, 5)
    assert (total.count("tls_full"), total.timing("tls").n) == (5, 5)
    assert total.count("messages_received") == 15
    assert_parts_add_up(total)


def test_every_message_comes_back():
    for size in [0, 1, 8, 125, 126, 70_000]:
        for binary in [False, True]:
            for mode in ["echo_sync", "echo_async"]:
                exchange = {"messages": 30, "mode": mode, "binary": binary, "size_bytes": size}
                total, _ = tally(echo(), closed(2, 2), exchange)
                assert_all_ok(total, 2)
                assert total.count("messages_sent") == total.count("messages_received") == 60
                assert total.timing("message").n == 60
                assert_parts_add_up(total)


def test_the_server_hears_what_was_planned():
    events = []
    exchange = {
        "path": "/feed?x=1", "headers": [["Origin", "http://shop.test"]],
        "subprotocols": ["chat"], "messages": 2, "size_bytes": 20, "close_code": 4001,
    }  # fmt: skip
    with scripted(echo(events, subprotocol="chat")) as server:
        assert_all_ok(measure(server.port, closed(1), exchange).total, 1)
    request, *messages, end = events
    assert isinstance(request, Request)
    assert (request.target, request.subprotocols) == ("/feed?x=1", ["chat"])
    assert (b"origin", b"http://shop.test") in request.extra_headers
    assert [each.data for each in messages if isinstance(each, Message)] == [
        "00000000benchsite me", "00000001benchsite me",
    ]  # fmt: skip
    assert isinstance(end, CloseConnection)
    assert end.code == 4001


def test_send_only_waits_for_no_echo():
    events = []

    def listen(sock, server):
        echo(events)(_Mute(sock), server)

    total, _ = tally(listen, closed(1), {"messages": 500, "mode": "send_only"})
    assert_all_ok(total, 1)
    assert (total.count("messages_sent"), total.count("messages_received")) == (500, 0)
    assert sum(isinstance(each, Message) for each in events) == 500
    assert not total.timing("message").n


class _Mute:
    """A socket that swallows what an echo would send back, handshakes apart."""

    def __init__(self, sock):
        self._sock = sock
        self.recv = sock.recv

    def sendall(self, data):
        if data[:1] in (b"H", b"\x88"):
            self._sock.sendall(data)


def test_messages_keep_their_rate():
    for mode in ["echo_sync", "echo_async", "send_only"]:
        exchange = {"messages": 21, "rate_per_s": 50, "mode": mode}
        total, _ = tally(echo(), closed(2, 2), exchange)
        assert_all_ok(total, 2)
        exchange_us = total.timing("exchange")
        assert exchange_us.min_us >= 400_000
        assert exchange_us.max_us < 700_000


def test_a_late_echo_makes_the_messages_that_waited_for_it_late():
    """Coordinated omission: a message that is due counts from then on."""
    writes = []

    def freezing(sock, server):
        echo()(_Freezing(sock, writes), server)

    exchange = {"messages": 40, "rate_per_s": 100}
    total, _ = tally(freezing, closed(1), exchange)
    assert_all_ok(total, 1)
    message = total.timing("message")
    assert message.n == 40
    # Some twenty messages were due while the server stood still for 0.2 s.
    assert message.percentile_us(60_000) > 20_000


class _Freezing:
    def __init__(self, sock, writes):
        self._sock = sock
        self._writes = writes
        self.recv = sock.recv

    def sendall(self, data):
        self._writes.append(data)
        if len(self._writes) == 10:
            time.sleep(0.25)
        self._sock.sendall(data)


def test_a_conversation_ends_with_the_load_and_closes_properly():
    load = {"model": "closed", "connections": 3, "duration_s": 0.5}
    result, _ = against(echo(), load, {"messages": 1_000_000, "rate_per_s": 100})
    assert_all_ok(result.total, 3)
    assert 100 <= result.total.count("messages_sent") <= 156
    assert 0.5 <= result.measurement.duration_s < 0.9


def test_a_connection_that_arrived_says_all_whenever_that_ends():
    """Of ten that arrive, six wait until after the end of arrivals."""
    for load, connections in [
        ({"model": "open", "rate_per_s": 20, "duration_s": 0.5, "max_in_flight": 4}, 10),
        ({"model": "window", "low": 2, "high": 4, "duration_s": 0.2}, None),
    ]:
        total, _ = tally(echo(), load, {"messages": 4, "rate_per_s": 10})
        n = connections or total.count("ok")
        assert_all_ok(total, n)
        assert total.count("messages_sent") == total.count("messages_received") == 4 * n


def test_what_is_under_way_when_measuring_begins_goes_on():
    load = {"model": "open", "rate_per_s": 10, "duration_s": 1}
    result, _ = against(echo(), load, {"messages": 6, "rate_per_s": 10}, warm_up_s=1)
    n_carried, n_ok = result.total.count("carried"), result.total.count("ok")
    assert (n_carried > 0, n_ok, result.total.errors) == (True, 10, {})
    sent = result.total.count("messages_sent") + result.measurement.warm_up.count("messages_sent")
    assert sent == 20 * 6


def test_after_a_stop_a_conversation_sends_nothing_more_and_closes_properly():
    for exchange in [
        {"rate_per_s": None},
        {"rate_per_s": 100, "mode": "echo_async"},
        {"rate_per_s": 100, "mode": "send_only"},
        {"rate_per_s": 0.1},  # the next message is due long after the stop
    ]:
        with scripted(echo()) as server:
            plan = {"steps": [], "exchange": {"messages": 1_000_000} | exchange}
            fields = {"load": closed(2, 2), "scheme": "ws", "mode": "new"}
            end = stop_after(server.port, 0.5, plan=plan, **fields)
        assert (end.totals["ok"], end.totals["started"], end.errors) == (2, 2, {})


def test_pings_are_answered_with_pongs():
    pongs = []

    def ping(sock):
        sock.sendall(encode_frame(PING, b"are you there"))
        sock.sendall(encode_frame(PING, b""))
        reader = FrameReader(expects_mask=True)
        while len(pongs) < 2 and (data := sock.recv(65536)):
            pongs.extend(text for kind, text in reader.feed(data) if kind == PONG)
        sock.sendall(encode_frame(CLOSE, close_payload(1000)))

    with scripted(after_opening(ping)) as server:
        exchange = {"messages": 1, "rate_per_s": 0.1}
        load = {"model": "closed", "connections": 1, "duration_s": 0.3}
        measure(server.port, load, exchange)
    assert pongs == [b"are you there", b""]


def test_length_is_enough_where_the_plan_says_so():
    def shout(sock):
        sock.recv(65536)
        sock.sendall(encode_frame(1, b"SHOUTING"))
        sock.recv(65536)
        sock.sendall(encode_frame(CLOSE, close_payload(1000)))

    exchange = {"messages": 1, "size_bytes": 8, "verify": "length"}
    with scripted(after_opening(shout)) as server:
        assert_all_ok(measure(server.port, closed(1), exchange).total, 1)


def test_a_window_counts_opening_handshakes_only():
    """Never more than the high mark are being opened, though closing takes long (T30)."""
    opening, most = set(), []

    def slow_to_close(sock, server):
        opening.add(sock)
        most.append(len(opening))
        time.sleep(0.005)
        key = read_key(sock, server)
        opening.discard(sock)
        sock.sendall(head(key))
        frame = sock.recv(65536)
        time.sleep(0.1)
        assert frame[:1] == b"\x88"
        sock.sendall(encode_frame(CLOSE, close_payload(1000)))

    load = {"model": "window", "low": 3, "high": 6, "requests": 60}
    result, _ = against(slow_to_close, load, {"close_timeout_s": 2})
    assert_all_ok(result.total, 60)
    # The server sees a connection closed a little after the client has opened the next.
    assert max(most) <= 6 + 2
    assert result.total.count("window_throttled") >= 2
    assert result.total.count("window_resumed") >= 2
    # One after another the closing handshakes alone would take 6 s / 6.
    assert result.measurement.duration_s < 0.9


# --- each opened connection has exactly one close code, whatever becomes of it ------------------
GOING_AWAY = encode_frame(CLOSE, close_payload(1001))


def say(*frames):
    def script(sock):
        sock.sendall(b"".join(frames))
        hang(sock)

    return script


def test_it_is_counted_once():
    for script, exchange, code in [
        (say(GOING_AWAY), {"messages": 3, "rate_per_s": 5}, 1001),
        (say(encode_frame(CLOSE, b"")), {}, 1005),
        (say(encode_frame(TEXT, b"x", b"abcd")), {}, 1006),
        (say(encode_frame(TEXT, b"unasked")), {"messages": 3, "rate_per_s": 5}, 1006),
        (lambda sock: None, {}, 1006),
        (reset, {}, 1006),
        (hang, {}, 1006),
    ]:
        timeouts = {"connect_s": 2, "tls_s": 2, "total_s": 2}
        total, _ = tally(after_opening(script), closed(2, 2), exchange, timeouts=timeouts)
        codes = {name: n for name, n in total.counters.items() if name.startswith("close_code")}
        assert codes == {f"close_code_{code}": 2}


def test_what_was_never_opened_has_none():
    with scripted(lambda sock, server: sock.sendall(b"HTTP/1.1 403 No\r\n\r\n")) as server:
        total = measure(server.port, closed(2), {}).total
    assert not any(name.startswith("close_code") for name in total.counters)
