"""Several calls unanswered on one connection: matched in order, failed one by one."""

import socket
import time

import pytest

from campaigns.domain.metrics.outcomes import Kind
from tests.injector.servers import OK_REPLY, against, closed, measure, reset, scripted, tally
from tests.injector.test_loads import stop_after


def depth(count: int, **fields):
    return {"session": {"pipeline_depth": count, **fields}}


def read_requests(sock: socket.socket, count: int) -> list[bytes]:
    """The next requests, which have no bodies; fewer where the client closed."""
    data = b""
    while data.count(b"\r\n\r\n") < count:
        more = sock.recv(65536)
        if not more:
            break
        data += more
    return data.split(b"\r\n\r\n")[:-1]


def reply(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def four_at_a_time(*answers: bytes, then=None):
    """Read four requests before anything is answered, then send the answers 1 ms apart."""

    def script(sock, server):
        while len(read := read_requests(sock, 4)) == 4:
            server.requests += read
            for answer in answers:
                sock.sendall(answer)
                time.sleep(0.001)
            if then:
                then(sock)
                return

    return script


def test_four_leave_before_the_first_reply_and_each_gets_its_own():
    steps = [{"path": f"/{size}"} for size in (1, 20, 300, 4000)]
    answers = [reply(b"x" * size) for size in (1, 20, 300, 4000)]
    result, server = against(four_at_a_time(*answers), steps=steps, load=closed(4), plan=depth(4))
    assert (result.total.count("ok"), result.total.errors) == (4, {})
    sizes = {
        second.step: second.counters["bytes_received"]
        for second in result.seconds
        if "bytes_received" in second.counters
    }
    assert sizes == dict(enumerate(map(len, answers)))
    assert server.n_connections == 1


def test_replies_cut_anywhere_are_matched_in_order():
    stream = b"".join(reply(b"x" * size) for size in (5, 0, 700, 3))
    pieces = [stream[start : start + 37] for start in range(0, len(stream), 37)]
    total, _ = tally(four_at_a_time(*pieces), load=closed(4), plan=depth(4))
    assert (total.count("ok"), total.errors) == (4, {})
    assert total.count("bytes_received") == len(stream)


def reset_slowly(sock):
    time.sleep(0.05)
    reset(sock)


def test_how_four_unanswered_calls_end():
    for answers, then, n_ok, errors in [
        ((OK_REPLY, OK_REPLY), socket.socket.close, 2, {Kind.EOF_BEFORE_REPLY: 2}),
        (
            (OK_REPLY, b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
            lambda sock: time.sleep(0.2),
            2,
            {Kind.EOF_BEFORE_REPLY: 2},
        ),
        ((OK_REPLY,), reset_slowly, 1, {Kind.RESET: 3}),
        ((OK_REPLY * 5,), socket.socket.close, 3, {Kind.HTTP_PARSE: 1}),
    ]:
        total, _ = tally(four_at_a_time(*answers, then=then), load=closed(4), plan=depth(4))
        assert (total.count("started"), total.count("ok"), total.errors) == (4, n_ok, errors)


def test_garbage_between_replies_is_credited_to_nobody():
    with scripted(four_at_a_time(OK_REPLY, b"garbage\r\n\r\n", then=time_out)) as server:
        total = measure(server.port, load=closed(4), plan=depth(4)).total
    assert total.count("ok") == 1
    assert total.errors == {Kind.HTTP_PARSE: 1, Kind.EOF_BEFORE_REPLY: 2}


def time_out(sock):
    time.sleep(3)


def test_a_reply_that_was_there_before_its_request_belongs_to_nobody():
    def one_too_many(sock, server):
        read_requests(sock, 2)
        sock.sendall(OK_REPLY * 3)
        time.sleep(0.3)

    total, _ = tally(one_too_many, load=closed(3), plan=depth(2))
    assert total.count("ok") <= 2
    assert set(total.errors) <= {Kind.HTTP_PARSE, Kind.EOF_BEFORE_REPLY}
    assert total.count("ok") + total.count("failed") == 3


def test_silence_ends_every_call_at_the_limit():
    limits = {"connect_s": 0.5, "tls_s": 0.5, "total_s": 0.5}
    with scripted(four_at_a_time(OK_REPLY, then=time_out)) as server:
        total = measure(server.port, load=closed(4), plan=depth(4), timeouts=limits).total
    assert (total.count("ok"), total.errors) == (1, {Kind.FIRST_BYTE_TIMEOUT: 3})
    assert total.timing("failed").max_us < 1_000_000


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_many_calls_on_few_connections_all_come_back(scheme, server_tls):
    tls = server_tls if scheme == "https" else None
    result, _ = against(answer_all, tls=tls, scheme=scheme, load=closed(2000, 3), plan=depth(8))
    total = result.total
    assert (total.count("ok"), total.errors) == (2000, {})
    assert total.count("started") == 2000
    assert total.count("connections_opened") == 3
    assert result.ends[0].in_flight == 0


def answer_all(sock, server):
    """A reply for each request, several to a write where several have come."""
    data = b""
    while more := sock.recv(65536):
        data += more
        count = data.count(b"\r\n\r\n")
        data = data.rpartition(b"\r\n\r\n")[2]
        sock.sendall(OK_REPLY * count)


def test_seconds_add_up_while_calls_are_on_their_way():
    load = {"model": "closed", "connections": 2, "duration_s": 1.2}
    total, _ = tally(answer_slowly, load=load, plan=depth(6), warm_up_s=1)
    parts = ("ok", "failed", "dropped", "carried")
    assert total.count("started") >= total.count("ok") > 20
    assert total.errors == {}
    assert total.count("started") <= sum(map(total.count, parts)) + 12


def answer_slowly(sock, server):
    data = b""
    while more := sock.recv(65536):
        data += more
        while b"\r\n\r\n" in data:
            data = data.partition(b"\r\n\r\n")[2]
            time.sleep(0.02)
            sock.sendall(OK_REPLY)


def test_the_first_call_of_a_burst_goes_alone():
    counts: list[int] = []

    def script(sock, server):
        while more := sock.recv(65536):
            count = more.count(b"\r\n\r\n")
            counts.append(count)
            time.sleep(0.05)
            sock.sendall(OK_REPLY * count)

    with scripted(script) as server:
        measure(server.port, load=closed(10), plan=depth(4, burst_length=5))
    assert sum(counts) == 10
    assert counts[0] == 1
    assert max(counts) > 1


def test_a_stop_aborts_what_is_unanswered_and_everything_adds_up():
    with scripted(four_at_a_time(OK_REPLY, then=time_out)) as server:
        limits = {"connect_s": 5, "tls_s": 5, "total_s": 10}
        fields = {"load": closed(100), "plan": depth(4), "timeouts": limits}
        end = stop_after(server.port, 0.5, **fields)
    totals = end.totals
    assert totals["ok"] == 1
    assert end.errors == {Kind.ABORTED_BY_STOP: totals["failed"]}
    assert totals["started"] == totals["ok"] + totals["failed"] + end.in_flight


# More than a socket takes at once, of headers alone.
HUGE = {"path": "/huge", "headers": [[f"X-{nth}", "x" * 7900] for nth in range(700)]}


@pytest.mark.parametrize("refusal", [b"", reply(b"too large")])
def test_a_call_that_could_not_be_sent_whole_has_the_kind_of_what_ended_its_writing(refusal):
    def answers_one_and_ends(sock, server):
        sock.recv(200)
        time.sleep(0.1)
        sock.sendall(OK_REPLY)
        time.sleep(0.1)
        sock.sendall(refusal)
        reset(sock)

    steps = [{"path": "/small"}, HUGE]
    total, _ = tally(answers_one_and_ends, steps=steps, load=closed(2), plan=depth(2))
    assert total.errors == {Kind.RESET: 1}
    assert total.count("in_doubt") == 0
