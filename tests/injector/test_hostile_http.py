"""Whatever a server sends: one kind for each attempt, in time, in little memory, and no lies."""

import os
import socket
import subprocess
import sys
import time

import gevent
import pytest

from campaigns.domain.lifecycle import Trust
from tests.injector import hostile_exchanges, hostile_heads
from tests.injector.authority import issue, server_context
from tests.injector.hostile import CHUNKED, OK, SHORT, fault, merge, run_all
from tests.injector.servers import closed, measure, probe_order, scripted, tally
from workers.injector import probe
from workers.injector.connection import now
from workers.injector.http1 import HeadMemo
from workers.injector.order import Order
from workers.injector.reply import ReplyReader

CASES = merge(hostile_heads.CASES, hostile_exchanges.CASES)
_GROWTH_MIB = 64


def test_every_attempt_ends_in_one_kind_in_time_and_as_the_ledger_says():
    outcomes = run_all(CASES)
    faults = {name: fault(CASES[name], outcome) for name, outcome in outcomes.items()}
    assert {name: why for name, why in faults.items() if why} == {}


def _peak_mib(port: int, *options: str) -> float:
    """The most memory that the program used, in a process of its own."""
    command = [sys.executable, "-m", "workers.injector", f"http://127.0.0.1:{port}/"]
    process = subprocess.Popen(
        [*command, "--timeout", "1", "--connections", "8", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_maxrss / 1024


@pytest.fixture(scope="module")
def usual_mib():
    with scripted(hostile_heads.CASES["no body at all"].script) as server:
        return _peak_mib(server.port, "--requests", "16")


@pytest.mark.long
def test_a_flood_is_not_kept_in_memory(usual_mib):
    for flood in hostile_exchanges.FLOODS:
        with scripted(hostile_exchanges.FLOODS[flood].script) as server:
            assert _peak_mib(server.port, "--requests", "16") - usual_mib < _GROWTH_MIB


def test_what_takes_long_to_parse_keeps_no_other_attempt_from_its_turn():
    script = hostile_exchanges.FLOODS["tiny chunks without end"].script
    held_s, began = [], time.thread_time()

    def look():
        nonlocal began
        while True:
            gevent.sleep(0.001)
            held_s.append(time.thread_time() - began)
            began = time.thread_time()

    watcher = gevent.spawn(look)
    with scripted(script) as server:
        measure(server.port, timeouts=SHORT)
    watcher.kill()
    # CPU of this thread, which other programs make higher by what they do to the caches, and of a
    # virtual machine also what its host took meanwhile: two of the many reads may have had it.
    assert sorted(held_s)[-3] < _cost_of_a_whole_read_s() * 0.75


def _sends_what_takes_seconds_to_parse(sock, server):
    server.read_request(sock)
    sock.sendall(CHUNKED + b"1\r\nx\r\n" * 1_000_000)
    sock.recv(1)


def test_what_takes_long_to_parse_ends_at_the_limit():
    for depth in [1, 2]:
        pipeline = {"session": {"pipeline_depth": depth}}
        with scripted(_sends_what_takes_seconds_to_parse) as server:
            total = measure(server.port, timeouts=SHORT, load=closed(1), plan=pipeline).total
        assert total.errors == {"body_timeout": 1}
        assert total.timing("failed").max_us < 2_500_000


def test_a_single_request_ends_at_the_limit_whatever_takes_long_to_parse():
    with scripted(_sends_what_takes_seconds_to_parse) as server:
        order = probe_order(server.port) | {"timeouts": SHORT}
        began = now()
        answer = probe.run(Order.from_json(order))
    assert answer["error"] == "body_timeout"
    assert now() - began < 2_500_000_000


def _cost_of_a_whole_read_s() -> float:
    """CPU to parse a quarter of a megabyte of tiny chunks, as much as one read can bring."""
    data = CHUNKED + b"1\r\nx\r\n" * (256 * 1024 // 6)
    reader, began = ReplyReader(HeadMemo("GET")), time.thread_time()
    reader.feed(data)
    return time.thread_time() - began


def _one_stray(n_requests: int):
    """Answers properly, but after its third reply sends another one a moment later. The last two
    replies leave together, so that a client that is still out of step has one too many.
    """

    def script(sock, server):
        is_out_of_step = False
        while server.read_request(sock) is not None:
            n_due = 1
            if is_out_of_step and server.n_requests == n_requests - 1:
                server.read_request(sock)
                n_due = 2
            server.n_answered += n_due
            sock.sendall(OK * n_due)
            if server.n_requests == 3:
                time.sleep(0.02)
                sock.sendall(OK)
                is_out_of_step = True

    return script


def test_a_late_stray_puts_a_kept_connection_out_of_step_only_until_it_is_found():
    total, server = tally(_one_stray(20), load=closed(20))
    assert total.errors == {"http_parse": 1}
    assert total.count("ok") == 19 <= server.n_answered
    # It is found when two replies are read at once, at the latest at the end. Which request each
    # reply before that was for, nobody can know.
    assert 3 <= total.count("in_doubt") <= 19


def test_replies_in_doubt_make_a_run_unusable_over_tls_as_well():
    for is_tls in [False, True]:
        tls = server_context(issue()) if is_tls else None
        with scripted(_one_stray(200), tls) as server:
            result = measure(server.port, scheme="https" if is_tls else "http", load=closed(200))
        reason = next(each for each in result.judgement.reasons if each.code == "in_doubt")
        assert reason.state == Trust.NO_ANSWER
        assert 3 <= result.total.count("in_doubt") <= 199


def test_a_stray_after_the_first_reply_of_a_connection_puts_nothing_else_in_doubt():
    for body in ["", "x" * 100_000]:

        def script(sock, server):
            server.read_request(sock)
            sock.sendall(OK)
            time.sleep(0.01)
            sock.sendall(OK)

        total, _ = tally(script, method="POST", body=body)
        assert (total.errors, total.count("in_doubt")) == ({"http_parse": 1}, 0)


def test_a_408_on_an_idle_connection_spoils_no_reply():
    """RFC 9110, 15.5.9: the server only says that it closes what nobody used."""
    farewell = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

    def script(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(OK)
            sock.settimeout(0.05)
            try:
                if not sock.recv(1, socket.MSG_PEEK):
                    return
            except TimeoutError:
                sock.sendall(farewell)
                return

    pause = {"session": {"think_time": {"kind": "constant", "mean_s": 0.2}}}
    total, server = tally(script, load=closed(6, 2), plan=pause)
    assert (total.count("ok"), total.errors) == (6, {})
    assert server.n_requests == 6


def test_a_stray_that_came_while_the_hub_stood_still_is_no_reply_to_the_next_request():
    def stray_later(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(OK)
            if server.n_requests == 1:
                time.sleep(0.3)
                sock.sendall(OK)

    load = {"model": "open", "rate_per_s": 2, "requests": 3}
    with scripted(stray_later) as server:
        # From before the stray to after the second arrival: the hub hears of both at once.
        gevent.spawn_later(0.25, time.sleep, 0.6)
        total = measure(server.port, load=load).total
    assert total.errors == {"http_parse": 1}
    assert (total.count("ok"), server.n_requests) == (2, 3)
    assert total.count("in_doubt") == 0
