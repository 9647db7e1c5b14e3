"""Sessions that arrive: calls, bursts, connections and pauses on the wire, and their counts."""

import contextlib
import random
import socket
import threading
import time
from collections import defaultdict
from itertools import pairwise

import pytest

from tests.injector import servers
from tests.injector.servers import OK_REPLY, always, make_order, scripted
from tests.injector.test_loads import Arrivals, is_conserved, kept
from tests.injector.test_sessions import counting_visits, visits_of
from workers.injector.connection import now
from workers.injector.engine import Engine
from workers.injector.order import Order

OPEN = {"model": "open", "arrival_unit": "session", "rate_per_s": 100, "requests": 20}
ERROR_REPLY = b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"


def measure(port, **given):
    """With a limit that a crowded machine keeps, too."""
    return servers.measure(port, **{"timeouts": {"total_s": 20}, **given})


def session(calls, **fields):
    return {"session": {"calls_per_session": calls, **fields}}


def think(seconds):
    return {"kind": "constant", "mean_s": seconds}


def sessions_are_conserved(result) -> bool:
    """As requests are: started = ok + failed + dropped + carried + in flight at the end."""
    totals, end = result.ends[0].totals, result.ends[0]
    parts = sum(totals.get(f"sessions_{name}", 0) for name in ("ok", "failed", "dropped"))
    carried = totals.get("sessions_carried", 0)
    return totals.get("sessions_started", 0) == parts + carried + end.sessions_in_flight


def answering_pipelined(sock, server):
    """A reply for each request, several of which may come at once."""
    data = b""
    while more := sock.recv(65536):
        data += more
        while b"\r\n\r\n" in data:
            head, _, data = data.partition(b"\r\n\r\n")
            server.requests.append(head)
            sock.sendall(OK_REPLY)


class Connections:
    """Notes per connection when each of its requests came, and how many were served at once."""

    def __init__(self, service_s=0.0):
        self.times: list[list[float]] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._service_s = service_s

    def __call__(self, sock, server):
        mine: list[float] = []
        self.times.append(mine)
        while server.read_request(sock) is not None:
            mine.append(time.monotonic())
            with self._lock:
                self._at_once += 1
                self.most_at_once = max(self.most_at_once, self._at_once)
            time.sleep(self._service_s)
            with self._lock:
                self._at_once -= 1
            sock.sendall(OK_REPLY)


def test_each_arrival_makes_the_calls_of_a_session_on_one_connection():
    with scripted(always(OK_REPLY)) as server:
        result = measure(server.port, load=OPEN, plan=session(5))
    total = result.total
    assert (total.count("ok"), total.errors, server.n_connections) == (100, {}, 20)
    assert (total.count("sessions_started"), total.count("sessions_ok")) == (20, 20)
    assert total.count("session_length_5") == total.timing("session").n == 20
    assert total.timing("connect").n == 20
    assert is_conserved(result)
    assert sessions_are_conserved(result)


def test_only_first_calls_are_due_at_an_instant_and_can_be_late():
    with scripted(always(OK_REPLY)) as server:
        total = measure(server.port, load=OPEN, plan=session(5)).total
    assert (total.timing("lateness").n, total.timing("response").n) == (20, 100)
    late, parts = total.timing("lateness").sum_us, ("connect", "send", "wait", "receive")
    whole = late + sum(total.timing(part).sum_us for part in parts)
    assert total.timing("response").sum_us == whole


@pytest.mark.parametrize(
    "how",
    [
        {"model": "over", "requests": 12, "over_s": 0.5},
        {"model": "open", "rate_per_s": 24, "duration_s": 0.5},
        {"model": "open", "rate_per_s": 24, "duration_s": 0.5, "distribution": "exponential"},
        {"model": "open", "stages": [{"duration_s": 0.5, "from_per_s": 8, "to_per_s": 40}]},
        {
            "model": "open", "requests": 12, "distribution": "uniform",
            "uniform_min_s": 0, "uniform_max_s": 0.05,
        },
    ],
)  # fmt: skip
def test_sessions_arrive_in_every_way_in_which_requests_do(how):
    with scripted(always(OK_REPLY)) as server:
        result = measure(server.port, load=how | {"arrival_unit": "session"}, plan=session(3))
    assert (result.total.count("sessions_ok"), result.total.count("ok")) == (12, 36)
    assert server.n_requests == 36


def test_pauses_lie_between_bursts_and_in_no_response_time():
    connections = Connections()
    plan = session(4, burst_length=2, think_time=think(0.6))
    with scripted(connections) as server:
        total = measure(server.port, load=OPEN | {"requests": 5}, plan=plan).total
    for times in connections.times:
        gaps = [after - before for before, after in pairwise(times)]
        assert [gap > 0.5 for gap in gaps] == [False, True, False]
    assert total.timing("response").percentile_us(50_000) < 300_000
    assert total.timing("session").min_us >= 598_000


def test_after_its_first_call_a_burst_shares_several_connections():
    connections = Connections(service_s=0.3)
    plan = session(5, burst_length=5, connections_per_session=3)
    with scripted(connections) as server:
        result = measure(server.port, load=OPEN | {"requests": 1}, plan=plan)
    calls = sorted(map(len, connections.times))
    assert (sum(calls), len(calls)) == (5, 3)
    first = min(each[0] for each in connections.times)
    later = sorted(time for each in connections.times for time in each)[1:]
    # The first one alone: the others come when its reply is there, three at a time.
    assert min(later) - first > 0.29
    assert connections.most_at_once == 3
    assert is_conserved(result)


def test_all_at_once_the_first_call_waits_for_none_either():
    connections = Connections(service_s=0.5)
    plan = session(4, burst_length=4, connections_per_session=4, first_call_alone=False)
    with scripted(connections) as server:
        measure(server.port, load=OPEN | {"requests": 1}, plan=plan)
    assert (connections.most_at_once, len(connections.times)) == (4, 4)


def test_with_new_connections_each_call_of_a_session_has_its_own():
    plan = session(5, burst_length=5, connections_per_session=3)
    with scripted(always(OK_REPLY)) as server:
        result = measure(server.port, load=OPEN, plan=plan, mode="new")
    assert server.n_connections == result.total.count("ok") == 100
    assert result.to_json()["sessions"]["connections_each"] == 5


def test_a_connection_of_a_session_ends_after_its_calls():
    with scripted(always(OK_REPLY)) as server:
        measure(server.port, load=OPEN, plan=session(4, calls_per_connection=2))
    assert server.n_connections == 40
    assert sum(b"Connection: close" in request for request in server.requests) == 40


def test_a_burst_is_pipelined_up_to_the_depth():
    most = []

    def counting(sock, server):
        while data := sock.recv(65536):
            # What else is sent without a reply has come by then.
            time.sleep(0.1)
            with contextlib.suppress(BlockingIOError):
                data += sock.recv(65536, socket.MSG_DONTWAIT)
            most.append(data.count(b"\r\n\r\n"))
            sock.sendall(OK_REPLY * most[-1])

    plan = session(5, burst_length=5, pipeline_depth=4)
    with scripted(counting) as server:
        total = measure(server.port, load=OPEN | {"requests": 4}, plan=plan).total
    assert (total.count("ok"), total.errors, server.n_connections) == (20, {}, 4)
    assert (most[0], max(most)) == (1, 4)


def test_pipelines_on_several_connections_answer_every_call():
    plan = session(9, burst_length=5, pipeline_depth=2, connections_per_session=2)
    with scripted(answering_pipelined) as server:
        result = measure(server.port, load=OPEN, plan=plan)
    assert (result.total.count("ok"), result.total.errors) == (180, {})
    assert server.n_connections <= 40
    assert is_conserved(result)


@pytest.mark.parametrize("fields", [{}, {"burst_length": 4, "connections_per_session": 4}])
def test_a_failure_ends_the_session_and_the_calls_it_had_left_are_counted(fields):
    def failing_second(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(ERROR_REPLY if b"/b" in server.requests[-1] else OK_REPLY)

    steps = [{"path": f"/{name}"} for name in "abcd"]
    with scripted(failing_second) as server:
        result = measure(server.port, steps=steps, load=OPEN, plan=session(4, **fields))
    total = result.total
    assert (total.count("sessions_failed"), total.count("sessions_ok")) == (20, 0)
    assert total.count("failed") == total.errors["status_unexpected"] == 20
    assert total.count("started") + total.count("calls_skipped") == 80
    assert total.timing("session_failed").n == 20
    if not fields:
        assert (total.count("calls_skipped"), total.count("session_length_1")) == (40, 20)
    assert is_conserved(result)
    assert sessions_are_conserved(result)


class Stumbling:
    """Answers step b badly so many times in a row for each session, whose cookie says which."""

    def __init__(self, n_bad, bad):
        self._n_bad, self._bad = n_bad, bad
        self._seen = defaultdict(int)
        self.served = []

    def __call__(self, sock, server):
        while request := server.read_request(sock):
            path = request.split(b" ")[1]
            session = path.partition(b"?")[2]
            self.served.append(path)
            self._seen[session] += path.startswith(b"/b")
            if path.startswith(b"/b") and self._seen[session] <= self._n_bad:
                if not self._bad(sock):
                    return
            else:
                sock.sendall(OK_REPLY)


def with_500(sock):
    sock.sendall(ERROR_REPLY)
    return True


def with_a_reset(sock):
    servers.reset(sock)
    return False


def retrying(port, **fields):
    """Four calls of each session, by a number that the server can tell sessions apart by."""
    steps = [{"path": f"/{name}?${{n}}"} for name in "abcd"]
    rows = "\n".join(["n", *map(str, range(20))])
    plan = session(4, retry_on_failure=True, **fields) | {"variables": {"csv": rows}}
    return measure(port, steps=steps, load=OPEN, plan=plan)


@pytest.mark.parametrize("bad", [with_500, with_a_reset])
@pytest.mark.parametrize("fields", [{}, {"burst_length": 4, "connections_per_session": 3}])
def test_a_failed_call_is_made_again_and_the_session_goes_on(bad, fields):
    n_failed = 40  # twice for each of 20 sessions
    stumbling = Stumbling(2, bad)
    with scripted(stumbling) as server:
        result = retrying(server.port, **fields)
    total = result.total
    assert (total.count("sessions_ok"), total.count("sessions_failed")) == (20, 0)
    assert (total.count("ok"), total.count("failed")) == (80, n_failed)
    assert total.count("calls_retried") == n_failed
    assert total.count("session_length_4") == 20
    assert total.count("started") + total.count("calls_skipped") == 80 + n_failed
    assert sorted(stumbling.served).count(b"/b?7") == 3
    assert sorted(stumbling.served).count(b"/c?7") == 1
    assert is_conserved(result)
    assert sessions_are_conserved(result)


def test_after_three_more_tries_the_session_has_failed():
    with scripted(Stumbling(99, with_500)) as server:
        total = retrying(server.port).total
    assert (total.count("sessions_ok"), total.count("sessions_failed")) == (0, 20)
    assert (total.count("ok"), total.count("failed"), total.count("calls_retried")) == (20, 80, 60)
    assert total.count("calls_skipped") == 40
    assert total.count("started") + total.count("calls_skipped") == 80 + 60
    assert total.count("session_length_1") == 20


def test_a_timeout_is_never_tried_again():
    load = OPEN | {"requests": 3}
    plan = session(2, retry_on_failure=True)
    with scripted(Arrivals(service_s=20)) as server:
        result = measure(server.port, load=load, plan=plan, timeouts={"total_s": 0.3})
    assert result.total.errors == {"first_byte_timeout": 3}
    assert result.total.count("calls_retried") == 0


def test_refused_connections_are_tried_again_after_a_pause_and_not_for_ever():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    result = measure(port, load=OPEN | {"requests": 3}, plan=session(2, retry_on_failure=True))
    assert result.total.errors == {"connect_refused": 12}
    assert result.total.count("sessions_failed") == 3


def test_a_server_that_closes_while_a_session_thinks_is_nobodys_failure():
    def one_reply_each(sock, server):
        server.read_request(sock)
        sock.sendall(OK_REPLY)

    with scripted(one_reply_each) as server:
        plan = session(3, think_time=think(0.05))
        total = measure(server.port, load=OPEN, plan=plan).total
    assert (total.count("sessions_ok"), total.errors) == (20, {})
    assert total.count("connections_opened") == server.n_connections == 60


def test_each_session_has_its_own_cookies():
    with scripted(counting_visits) as server:
        total = measure(server.port, load=OPEN, plan=session(4, cookies=True)).total
    seen = visits_of(server)
    assert [seen.count(number) for number in range(4)] == [20] * 4
    assert total.count("bytes_sent") == sum(map(len, server.requests))


def test_what_a_reply_gives_belongs_to_its_session_alone():
    issued = defaultdict(int)
    lock = threading.Lock()

    def giving(sock, server):
        while (request := server.read_request(sock)) is not None:
            path = request.split()[1]
            with lock:
                issued[path] += 1
                body = b"token=%d;" % len(server.requests)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    steps = [
        {"path": "/give", "extract": [{"name": "token", "pattern": "token=(\\d+);"}]},
        {"path": "/use/${token}"},
    ]
    with scripted(giving) as server:
        measure(server.port, steps=steps, load=OPEN, plan=session(2))
    used = [count for path, count in issued.items() if path.startswith(b"/use/")]
    assert issued[b"/give"] == 20
    assert used == [1] * 20


def paths_by_session(**given):
    """What each session sent, by the number of its arrival, which the path says."""
    rows = "id\n" + "\n".join(map(str, range(30)))
    plan = session(4) | {"variables": {"csv": rows}, "order": {"kind": "random"}}
    steps = [{"path": f"/{name}/${{id}}"} for name in "abcde"]
    load = OPEN | {"requests": 30, "rate_per_s": 200}
    with scripted(always(OK_REPLY)) as server:
        measure(server.port, steps=steps, load=load, plan=plan, seed=7, **given)
    sent = defaultdict(list)
    for request in server.requests:
        _, name, number = request.split()[1].decode().split("/")
        sent[int(number)].append(name)
    return sent


def test_the_shards_together_send_the_sessions_of_one():
    whole = paths_by_session()
    parts = [paths_by_session(shard={"index": i, "count": 3}) for i in range(3)]
    assert [sorted(part) for part in parts] == [list(range(i, 30, 3)) for i in range(3)]
    assert {**parts[0], **parts[1], **parts[2]} == whole
    assert len({tuple(names) for names in whole.values()}) > 10


def test_sessions_arrive_when_they_are_due_whatever_earlier_ones_do():
    arrivals = Arrivals(service_s=0.4)
    load = OPEN | {"rate_per_s": 20, "requests": 20}
    with scripted(arrivals) as server:
        measure(server.port, load=load, plan=session(2))
    offsets = sorted(each - arrivals.times[0] for each in arrivals.times)
    expected = sorted([i / 20 for i in range(20)] + [i / 20 + 0.4 for i in range(20)])
    off = sorted(abs(a - b) for a, b in zip(offsets, expected, strict=True))
    assert off[20] < 0.1


def saturated(when, **fields):
    load = OPEN | {"max_in_flight": 3, "when_saturated": when}
    connections = Connections(service_s=0.1)
    plan = session(4, burst_length=3, connections_per_session=2, **fields)
    with scripted(connections) as server:
        result = measure(server.port, load=load, plan=plan, timeouts={"total_s": 20})
    return result, connections


def test_at_most_so_many_sessions_are_under_way_and_the_rest_wait():
    result, connections = saturated("queue")
    assert result.total.count("sessions_ok") == 20
    assert result.total.count("queued") >= 15
    assert connections.most_at_once <= 6
    # Seven rounds of three sessions, each at least 0.3 s.
    assert result.total.timing("slot_wait").max_us > 1_500_000
    assert is_conserved(result)
    assert sessions_are_conserved(result)


def test_dropped_sessions_are_counted_with_the_calls_that_they_would_have_made():
    result, _ = saturated("drop")
    total = result.total
    assert total.count("sessions_dropped") == total.count("dropped") >= 15
    assert total.count("sessions_ok") + total.count("sessions_dropped") == 20
    assert total.count("started") + total.count("calls_skipped") == 80
    assert is_conserved(result)
    assert sessions_are_conserved(result)


def test_sessions_of_the_warm_up_that_go_on_are_carried():
    load = OPEN | {"rate_per_s": 20, "requests": 10}
    plan = session(3, think_time=think(0.2))
    with scripted(always(OK_REPLY)) as server:
        result = measure(server.port, load=load, plan=plan, warm_up_s=1)
    carried = result.ends[0].totals["sessions_carried"]
    assert 5 <= carried <= 20
    assert result.total.count("sessions_ok") == result.total.timing("session").n == 10
    assert is_conserved(result)
    assert sessions_are_conserved(result)


def test_a_stop_leaves_sessions_that_think_in_flight():
    load = OPEN | {"rate_per_s": 50, "requests": None, "duration_s": 30}
    with scripted(always(OK_REPLY)) as server:
        plan = session(3, think_time=think(60))
        engine = Engine(Order.from_json(make_order(server.port, load=load, plan=plan)), kept())
        engine.prepare()
        timer = engine._loop.timer(0.4)
        timer.start(engine.stop, "user")
        began = time.monotonic()
        end = engine.run(now())
    assert time.monotonic() - began < 1.6
    totals = end.totals
    assert end.sessions_in_flight == totals["sessions_started"] == totals["ok"] > 5
    assert "sessions_ok" not in totals


def test_calls_under_way_at_a_stop_fail_their_sessions():
    load = OPEN | {"rate_per_s": 50, "requests": None, "duration_s": 30}
    with scripted(lambda sock, server: time.sleep(3)) as server:
        plan = session(3, burst_length=3, connections_per_session=2, first_call_alone=False)
        order = make_order(server.port, load=load, plan=plan, timeouts={"total_s": 20})
        engine = Engine(Order.from_json(order), kept())
        engine.prepare()
        timer = engine._loop.timer(0.3)
        timer.start(engine.stop, "user")
        end = engine.run(now())
    totals = end.totals
    assert totals["sessions_failed"] == totals["sessions_started"] > 3
    assert end.errors == {"aborted_by_stop": totals["failed"]}
    assert end.sessions_in_flight == 0


@pytest.mark.parametrize(("of_each", "most"), [(None, 7), (3, 21)])
def test_an_order_says_how_many_connections_its_sessions_may_need(of_each, most):
    load = OPEN | {"max_in_flight": 7}
    plan = session(4, burst_length=4, connections_per_session=of_each)
    facts = Engine(Order.from_json(make_order(9, load=load, plan=plan)), kept()).prepare()
    assert (facts["connections"], facts["planned_requests"]) == (most, 80)


HALF_REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
LAST_REPLY = OK_REPLY.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n", 1)
FAULTS = [HALF_REPLY, LAST_REPLY, ERROR_REPLY, b"nonsense\r\n\r\n"]


def misbehaving(sock, server):
    """One reply in two is well; the others are faults, drawn anew for each connection."""
    rng = random.Random(server.n_connections)
    while server.read_request(sock) is not None:
        match rng.randrange(12):
            case 0:
                servers.reset(sock)
            case 1:
                time.sleep(0.5)
            case fault if fault < 6:
                reply = FAULTS[fault - 2]
                sock.sendall(reply)
                if reply in {HALF_REPLY, LAST_REPLY}:
                    return
            case _:
                sock.sendall(OK_REPLY)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"burst_length": 6, "connections_per_session": 3},
        {"burst_length": 3, "connections_per_session": 2, "first_call_alone": False},
        {"burst_length": 6, "pipeline_depth": 4},
        {"burst_length": 3, "pipeline_depth": 2, "connections_per_session": 2,
         "think_time": {"kind": "exponential", "mean_s": 0.01}},
    ],
)  # fmt: skip
def test_whatever_the_target_does_calls_and_sessions_add_up(fields):
    with scripted(misbehaving) as server:
        plan = session(6, **fields)
        load = OPEN | {"rate_per_s": 200, "requests": 60}
        result = measure(server.port, load=load, plan=plan, timeouts={"total_s": 0.3})
    total = result.total
    assert total.count("started") + total.count("calls_skipped") == 360
    assert sum(total.errors.values()) == total.count("failed") > 0
    assert total.timing("session_failed").n == total.count("sessions_failed") > 0
    assert total.timing("session").n == total.count("sessions_ok")
    ended = sum(n for name, n in total.counters.items() if name.startswith("session_length_"))
    assert ended == total.count("sessions_started") == 60
    assert is_conserved(result)
    assert sessions_are_conserved(result)


def test_what_comes_unasked_after_the_last_reply_fails_the_session():
    def answering_twice(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(OK_REPLY)
            if len(server.requests) % 2 == 0:
                sock.sendall(OK_REPLY)

    with scripted(answering_twice) as server:
        load = OPEN | {"rate_per_s": 20, "requests": 6}
        plan = session(2, think_time=think(0.05))
        result = measure(server.port, load=load, plan=plan)
    total = result.total
    # Sent in one piece or in two: in the second case the session may be over before it comes.
    assert total.errors.get("http_parse", 0) == total.count("sessions_failed")
    assert is_conserved(result)
    assert sessions_are_conserved(result)


def test_what_comes_while_a_session_thinks_fails_it_and_its_next_call_is_not_made():
    def answering_late_again(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(OK_REPLY)
            time.sleep(0.05)
            sock.sendall(OK_REPLY)

    with scripted(answering_late_again) as server:
        load = OPEN | {"rate_per_s": 20, "requests": 6}
        result = measure(server.port, load=load, plan=session(2, think_time=think(0.3)))
    total = result.total
    # Where a second ended between reply and stray, the call had been counted as ok already.
    assert total.errors["http_parse"] == total.count("sessions_failed") >= 5
    assert total.count("started") + total.count("calls_skipped") == 12
    assert is_conserved(result)
