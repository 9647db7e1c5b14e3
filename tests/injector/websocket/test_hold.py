"""What a window does with open WebSockets: keeps them, and then shakes hands for the end."""

import threading
import time

from campaigns.domain.metrics.outcomes import Kind
from tests.injector.servers import make_order, scripted
from tests.injector.test_loads import stop_after
from tests.injector.websocket.peers import after_opening, echo, head, read_key, tally
from tests.injector.websocket.test_exchange import assert_all_ok, assert_parts_add_up
from workers.injector import preflight
from workers.injector.summary import run_here
from workers.injector.websocket.frames import CLOSE, close_payload, encode_frame


def window(requests, hold="keep_until_all", low=2, high=4, **fields):
    marks = {"model": "window", "low": low, "high": high, "requests": requests}
    return marks | {"hold": hold} | fields


class Counting:
    """A proper server that notes how many connections are open at once, and when each is closed."""

    def __init__(self, closing_s=0.0):
        self._closing_s = closing_s
        self.most_open = self.n_open = 0
        self.when_closing_began = []
        self._lock = threading.Lock()

    def __call__(self, sock, server):
        key = read_key(sock, server)
        with self._lock:
            self.n_open += 1
            self.most_open = max(self.most_open, self.n_open)
        sock.sendall(head(key))
        frame = sock.recv(65536)
        self.when_closing_began.append((time.monotonic(), self.n_open))
        time.sleep(self._closing_s)
        if frame[:1] == b"\x88":
            sock.sendall(encode_frame(CLOSE, close_payload(1000)))
        with self._lock:
            self.n_open -= 1


def test_all_stay_open_until_the_last_one_is_open_and_then_shake_hands_for_the_end():
    """T30: hold_open keeps the sockets."""
    server = Counting()
    total, _ = tally(server, window(20), {"close_timeout_s": 2})
    assert_all_ok(total, 20)
    assert server.most_open == 20
    assert server.when_closing_began[0][1] == 20
    assert total.count("close_code_1000") == 20
    assert total.count("window_throttled") >= 2
    assert_parts_add_up(total)


def test_they_close_no_more_at_a_time_than_were_opened():
    """Or the last would measure the crowd, and not the server."""
    closing, most, lock = set(), [], threading.Lock()

    def slow_to_close(sock):
        sock.recv(65536)
        with lock:
            closing.add(sock)
            most.append(len(closing))
        time.sleep(0.05)
        with lock:
            closing.discard(sock)
        sock.sendall(encode_frame(CLOSE, close_payload(1000)))

    total, _ = tally(after_opening(slow_to_close), window(20), {"close_timeout_s": 2})
    assert_all_ok(total, 20)
    assert 2 <= max(most) <= 4


def test_the_time_for_which_it_is_kept_is_in_no_figure():
    total, _ = tally(echo(), window(4, "keep_s", hold_s=0.5), {"messages": 2})
    assert_all_ok(total, 4)
    assert_parts_add_up(total)
    for name in ("response", "service", "close", "exchange"):
        assert total.timing(name).max_us < 400_000, name


def test_messages_are_said_first_and_may_take_longer_than_the_time():
    exchange = {"messages": 6, "rate_per_s": 20}
    total, _ = tally(echo(), window(3, "keep_s", hold_s=0.05), exchange)
    assert_all_ok(total, 3)
    assert total.count("messages_received") == 18


def test_one_that_the_server_closes_meanwhile_has_failed():
    for leave, code in [
        (lambda sock: sock.sendall(encode_frame(CLOSE, close_payload(1001))), 1001),
        (lambda sock: None, 1006),
    ]:
        total, _ = tally(after_opening(leave), window(2, "keep_s", hold_s=0.3), {})
        assert total.errors == {Kind.EOF_MID_BODY: 2}
        assert total.count(f"close_code_{code}") == 2


def test_no_more_are_open_than_the_process_may_have_however_long_they_close(monkeypatch):
    monkeypatch.setattr(preflight, "raise_descriptor_limit", lambda: 64 + 8)
    server = Counting(closing_s=0.05)
    load = window(30, "close", low=4, high=6)
    total, _ = tally(server, load, {"close_timeout_s": 2})
    assert_all_ok(total, 30)
    assert 4 <= server.most_open <= 8


def test_the_warm_up_keeps_nothing_open():
    seconds = []
    with scripted(echo()) as peer:
        order = make_order(
            peer.port, load=window(3, "keep_s", hold_s=0.4), scheme="ws", mode="new", warm_up_s=1
        )
        order["plan"] |= {"steps": [], "exchange": {}}
        run_here(order, seconds.append)
    warm_up, *rest = seconds
    # With a hold of its own no more than the high mark could have been opened in each 0.4 s.
    assert warm_up.counters["ok"] > 3 * 4
    assert sum(each.counters.get("ok", 0) for each in rest) >= 3


def test_a_stop_lets_go_of_all_and_they_still_shake_hands():
    with scripted(echo()) as peer:
        plan = {"steps": [], "exchange": {"close_timeout_s": 1}}
        fields = {"load": window(5, "keep_s", hold_s=60), "scheme": "ws", "mode": "new"}
        end = stop_after(peer.port, 0.6, plan=plan, **fields)
    assert (end.outcome, end.in_flight) == ("stopped", 0)
    assert end.totals["ok"] == end.totals["started"] == 5


def test_how_many_are_open_is_told_every_second():
    seconds = []
    with scripted(echo()) as peer:
        order = make_order(peer.port, load=window(8, "keep_s", hold_s=1.5), scheme="ws", mode="new")
        order["plan"] |= {"steps": [], "exchange": {}}
        run_here(order, seconds.append)
    first = seconds[0]
    assert (first.vitals["open_connections"], first.in_flight) == (8, 8)
