"""Sessions and connections that arrive: calls, bursts, pauses on the wire, and their counts."""

import threading
import time
from collections import defaultdict
from itertools import pairwise

import pytest

from tests.injector.servers import OK_REPLY, always, make_order, scripted
from tests.injector.test_loads import Arrivals, is_conserved, local_run, stop_after
from tests.injector.test_sessions import counting_visits, visits_of
from tests.injector.test_window import window_of
from tests.injector.visits import (
    OPEN,
    Connections,
    against,
    answering_pipelined,
    measure,
    session,
    sessions_are_conserved,
    tally,
    think,
)
from tests.waiting import eventually
from workers.injector.engine import Engine
from workers.injector.order import Order


def test_each_arrival_makes_the_calls_of_a_session_on_one_connection():
    result, server = against(always(OK_REPLY), load=OPEN, plan=session(5))
    total = result.total
    assert (total.count("ok"), total.errors, server.n_connections) == (100, {}, 20)
    assert (total.count("sessions_started"), total.count("sessions_ok")) == (20, 20)
    assert total.count("session_length_5") == total.timing("session").n == 20
    assert total.timing("connect").n == 20
    assert is_conserved(result)
    assert sessions_are_conserved(result)


def test_only_first_calls_are_due_at_an_instant_and_can_be_late():
    total, _ = tally(always(OK_REPLY), load=OPEN, plan=session(5))
    assert (total.timing("lateness").n, total.timing("response").n) == (20, 100)
    late, parts = total.timing("lateness").sum_us, ("connect", "send", "wait", "receive")
    whole = late + sum(total.timing(part).sum_us for part in parts)
    assert total.timing("response").sum_us == whole


def test_pauses_lie_between_bursts_and_in_no_response_time():
    connections = Connections()
    plan = session(4, burst_length=2, think_time=think(0.6))
    total, _ = tally(connections, load=OPEN | {"requests": 5}, plan=plan)
    for times in connections.times:
        gaps = [after - before for before, after in pairwise(times)]
        assert [gap > 0.5 for gap in gaps] == [False, True, False]
    assert total.timing("response").percentile_us(50_000) < 300_000
    assert total.timing("session").min_us >= 598_000


def test_after_its_first_call_a_burst_shares_several_connections():
    connections = Connections(service_s=0.3)
    plan = session(5, burst_length=5, connections_per_session=3)
    result, _ = against(connections, load=OPEN | {"requests": 1}, plan=plan)
    calls = sorted(map(len, connections.times))
    assert (sum(calls), len(calls)) == (5, 3)
    first = min(each[0] for each in connections.times)
    later = sorted(time for each in connections.times for time in each)[1:]
    # The first one alone: the others come when its reply is there, three at a time.
    assert min(later) - first > 0.29
    assert connections.most_at_once == 3
    assert is_conserved(result)


def test_pipelines_on_several_connections_answer_every_call():
    plan = session(9, burst_length=5, pipeline_depth=2, connections_per_session=2)
    result, server = against(answering_pipelined, load=OPEN, plan=plan)
    assert (result.total.count("ok"), result.total.errors) == (180, {})
    assert server.n_connections <= 40
    assert is_conserved(result)


def test_what_a_reply_gives_belongs_to_its_session_alone():
    counts = defaultdict(int)
    lock = threading.Lock()

    def giving(sock, server):
        while (request := server.read_request(sock)) is not None:
            path = request.split()[1]
            with lock:
                counts[path] += 1
                body = b"token=%d;" % len(server.requests)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    steps = [
        {"path": "/give", "extract": [{"name": "token", "pattern": "token=(\\d+);"}]},
        {"path": "/use/${token}"},
    ]
    with scripted(giving) as server:
        measure(server.port, steps=steps, load=OPEN, plan=session(2))
    uses = [count for path, count in counts.items() if path.startswith(b"/use/")]
    assert counts[b"/give"] == 20
    assert uses == [1] * 20


def paths_by_session(**fields):
    """What each session sent, by the number of its arrival, which the path says."""
    rows = "id\n" + "\n".join(map(str, range(30)))
    plan = session(4) | {"variables": {"csv": rows}, "order": {"kind": "random"}}
    steps = [{"path": f"/{name}/${{id}}"} for name in "abcde"]
    load = OPEN | {"requests": 30, "rate_per_s": 200}
    with scripted(always(OK_REPLY)) as server:
        measure(server.port, steps=steps, load=load, plan=plan, seed=7, **fields)
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
    dues = sorted([i / 20 for i in range(20)] + [i / 20 + 0.4 for i in range(20)])
    off = sorted(abs(a - b) for a, b in zip(offsets, dues, strict=True))
    assert off[20] < 0.1


def overload(when, **fields):
    load = OPEN | {"max_in_flight": 3, "when_saturated": when}
    connections = Connections(service_s=0.1)
    plan = session(4, burst_length=3, connections_per_session=2, **fields)
    result, _ = against(connections, load=load, plan=plan, timeouts={"total_s": 20})
    return result, connections


def test_at_most_so_many_sessions_are_under_way_and_the_rest_wait():
    result, connections = overload("queue")
    assert result.total.count("sessions_ok") == 20
    assert result.total.count("queued") >= 15
    assert connections.most_at_once <= 6
    # Seven rounds of three sessions, each at least 0.3 s.
    assert result.total.timing("slot_wait").max_us > 1_500_000
    assert is_conserved(result)
    assert sessions_are_conserved(result)


def test_dropped_sessions_are_counted_with_the_calls_that_they_would_have_made():
    result, _ = overload("drop")
    total = result.total
    assert total.count("sessions_dropped") == total.count("dropped") >= 15
    assert total.count("sessions_ok") + total.count("sessions_dropped") == 20
    assert total.count("started") + total.count("calls_skipped") == 80
    assert is_conserved(result)
    assert sessions_are_conserved(result)


def test_sessions_of_the_warm_up_that_go_on_are_carried():
    load = OPEN | {"rate_per_s": 20, "requests": 10}
    plan = session(3, think_time=think(0.2))
    result, _ = against(always(OK_REPLY), load=load, plan=plan, warm_up_s=1)
    n_carried = result.ends[0].totals["sessions_carried"]
    assert 5 <= n_carried <= 20
    assert result.total.count("sessions_ok") == result.total.timing("session").n == 10
    assert is_conserved(result)
    assert sessions_are_conserved(result)


def test_a_stop_leaves_sessions_that_think_in_flight():
    load = OPEN | {"rate_per_s": 50, "requests": None, "duration_s": 30}
    with scripted(always(OK_REPLY)) as server:
        began = time.monotonic()
        end = stop_after(server.port, 0.4, load=load, plan=session(3, think_time=think(60)))
    assert time.monotonic() - began < 1.6
    totals = end.totals
    assert end.sessions_in_flight == totals["sessions_started"] == totals["ok"] > 5
    assert "sessions_ok" not in totals


def test_an_order_says_how_many_connections_its_sessions_may_need():
    for of_each, most in [(None, 7), (3, 21)]:
        load = OPEN | {"max_in_flight": 7}
        plan = session(4, burst_length=4, connections_per_session=of_each)
        facts = Engine(Order.from_json(make_order(9, load=load, plan=plan)), local_run()).prepare()
        assert (facts["connections"], facts["planned_requests"]) == (most, 80)


ARRIVING = {"model": "open", "arrival_unit": "connection", "rate_per_s": 100, "requests": 20}
LAST_REPLY = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"


def calls(count, **fields):
    return {"session": {"calls_per_connection": count, **fields}}


def closing_after(count, last_reply):
    """Answers so many requests on each connection, the last one as said, and closes."""

    def script(sock, server):
        for nth in range(count):
            if server.read_request(sock) is None:
                return
            sock.sendall(last_reply if nth == count - 1 else OK_REPLY)

    return script


def test_each_connection_that_arrives_makes_its_calls_and_says_close_in_the_last():
    for how in [ARRIVING, {**ARRIVING, "model": "over", "over_s": 0.2}]:
        for mode in ["keep-alive", "new"]:
            load = {
                name: each for name, each in how.items() if how is ARRIVING or name != "rate_per_s"
            }
            result, server = against(always(OK_REPLY), load=load, plan=calls(4), mode=mode)
            total = result.total
            assert (total.count("ok"), total.errors, server.n_connections) == (80, {}, 20)
            assert sum(b"Connection: close" in request for request in server.requests) == 20
            assert total.timing("lateness").n == total.timing("connect").n == 20
            assert total.count("sessions_started") == 0
            assert is_conserved(result)


def test_where_the_server_says_that_it_ends_the_rest_of_the_calls_is_left_out():
    result, server = against(closing_after(2, LAST_REPLY), load=ARRIVING, plan=calls(5))
    total = result.total
    assert (total.count("ok"), total.errors, total.count("calls_skipped")) == (40, {}, 60)
    assert server.n_connections == 20
    assert is_conserved(result)


def test_a_connection_that_arrived_is_not_replaced_by_another():
    result, server = against(closing_after(2, OK_REPLY), load=ARRIVING, plan=calls(5))
    total = result.total
    assert server.n_connections == total.count("connections_opened") == 20
    assert total.count("ok") == 40
    assert total.count("started") + total.count("calls_skipped") == 100
    assert set(total.errors) <= {"eof_before_reply", "reset", "write_error"}


# --- windows -------------------------------------------------------------------------------------
def test_a_connection_of_a_window_makes_its_calls_and_closes():
    result, server = against(always(OK_REPLY), load=window_of(3, 6, 40), plan=calls(3))
    assert (result.total.count("ok"), server.n_connections) == (120, 40)
    assert sum(b"Connection: close" in request for request in server.requests) == 40
    assert is_conserved(result)


def test_what_follows_the_first_reply_is_no_part_of_the_window():
    connections = Connections()
    plan = calls(2, think_time=think(0.3))
    result, _ = against(connections, load=window_of(2, 4, 40), plan=plan)
    # Were the second calls a part of it, ten times four of them would take 3 s.
    assert result.measurement.duration_s < 2.5
    assert (result.total.count("ok"), len(connections.times)) == (80, 40)
    assert is_conserved(result)


@pytest.mark.parametrize(
    ("hold", "seconds"), [({"hold": "keep_s", "hold_s": 0.5}, 0.5), ({"hold": "close"}, 0)]
)
def test_a_held_connection_is_kept_after_its_last_call(hold, seconds):
    gaps_s: list[float] = []

    def script(sock, server):
        last = 0.0
        while server.read_request(sock) is not None:
            last = time.monotonic()
            sock.sendall(OK_REPLY)
        gaps_s.append(time.monotonic() - last)

    with scripted(script) as server:
        result = measure(server.port, load=window_of(2, 4, 8, **hold), plan=calls(3))
        eventually(lambda: len(gaps_s) == 8, 5, "the server has seen the last close")
    assert result.total.count("ok") == 24
    says_close = sum(b"Connection: close" in request for request in server.requests)
    assert says_close == (0 if seconds else 8)
    assert len(gaps_s) == 8
    assert min(gaps_s) >= seconds * 0.98


def test_each_connection_of_a_window_has_its_own_cookies_and_its_row():
    plan = calls(3, cookies=True) | {"variables": {"csv": "id\n" + "\n".join("abcdefghij")}}
    with scripted(counting_visits) as server:
        measure(server.port, path="/${id}", load=window_of(2, 4, 10), plan=plan)
    assert [visits_of(server).count(number) for number in range(3)] == [10] * 3
    paths = sorted(request.split()[1].decode() for request in server.requests)
    assert paths == sorted(f"/{name}" for name in "abcdefghij" for _ in range(3))
