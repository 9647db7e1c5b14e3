"""The program as a worker starts it: a process, lines in, lines out; and one whose parent stands
still, which does not send on.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from math import inf

import pytest

from campaigns.domain.metrics.measurement import VITALS
from campaigns.domain.metrics.snapshot import Second, total_of
from tests.injector.forked import FORKED, Program, launch
from tests.injector.servers import OK_REPLY, always, make_order, probe_order, scripted
from tests.waiting import eventually


def test_seconds_add_up_to_the_end(program):
    with scripted(always(OK_REPLY)) as server:
        load = {"model": "over", "requests": 120, "over_s": 1.2}
        injector = program(make_order(server.port, load=load))
        ready = injector.start()
        messages, status = injector.rest()
    *seconds, end = messages
    total = total_of(Second.from_json(message) for message in seconds)
    assert status == 0
    assert (ready["protocol"], ready["facts"]["resolved"]) == (1, ["127.0.0.1"])
    assert [message["second"] for message in seconds] == [0, 1]
    assert (end["outcome"], end["totals"]) == ("complete", total.counters)
    assert total.count("ok") == server.n_requests == 120
    # The last of 120 over 1.2 s is due at 1.19 s.
    assert 1_190_000 <= end["sending_us"] <= end["duration_us"]
    assert total.timing("response").histogram.n == 120
    # Most virtual machines do not know how fast their link is.
    assert set(VITALS) - {"link_share"} <= set(seconds[0]["vitals"]) <= set(VITALS)


def test_a_line_that_is_nested_too_deep_is_ignored_and_the_next_one_obeyed(program):
    with scripted(always(OK_REPLY)) as server:
        injector = program(make_order(server.port), FORKED)
        injector.hear()
        injector.say("[" * 100_000)
        injector.say({"stop": "kill"})
        messages, status = injector.rest()
    assert (status, messages[-1]["outcome"]) == (0, "stopped")


def test_a_parent_that_does_not_read_slows_nothing_down(program):
    with scripted(always(OK_REPLY)) as server:
        load = {"model": "open", "rate_per_s": 100, "duration_s": 2}
        injector = program(make_order(server.port, load=load), FORKED)
        injector.start()
        # The load's own two seconds, while nobody reads.
        eventually(lambda: server.n_requests == 200, 20, "all requests are sent")
        messages, status = injector.rest()
    assert status == 0
    assert messages[-1]["totals"]["ok"] == 200


def test_it_refuses_what_it_cannot_do(program):
    for order, kind in [
        ("this is not JSON", "bad_order"),
        ("[" * 100_000, "bad_order"),
        ("[]", "bad_order"),
        ({"protocol": 2}, "bad_order"),
        ({"protocol": 1}, "bad_order"),
        (make_order(80, load={"model": "closed"}), "bad_order"),
        (make_order(80, scheme="ftp"), "bad_order"),
        (make_order(0), "bad_order"),
        (make_order(80, host="a b"), "bad_order"),
        (make_order(80, dead_man_s=-1), "bad_order"),
        (make_order(80, shard={"index": 2, "count": 2}), "bad_order"),
        (make_order(80, shard={"index": 0, "count": 2, "weights": [2]}), "bad_order"),
        (make_order(80, shard={"index": 0, "count": 2, "weights": [2, 0]}), "bad_order"),
        (make_order(80, shard=[1]), "bad_order"),
        (make_order(80, seed=inf), "bad_order"),
        (make_order(80, secrets=["abc"]), "bad_order"),
        (make_order(80, policy={"allow": ["nonsense"]}), "bad_order"),
        (make_order(80, host="10.1.2.3"), "address_refused"),
        (make_order(80, host="no-such-name.invalid"), "dns_failed"),
    ]:
        (message,), status = program(order, FORKED).rest()
        assert (status, message["type"], message["kind"]) == (2, "refused", kind)
        assert message["reason"]


def test_a_probe_shows_one_request_in_full(program, server_tls):
    reply = b"HTTP/1.1 404 Not Found\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello"
    with scripted(always(reply), server_tls) as server:
        order = probe_order(server.port, scheme="https", host="localhost")
        order["step"]["headers"] = [["X-Try", "1"]]
        order["policy"] = {"allow": ["127.0.0.0/8", "::1/128"]}
        (_, answer), status = program(order, FORKED).rest()
    assert status == 0
    assert (answer["status"], answer["reason"], answer["error"]) == (404, "Not Found", None)
    assert answer["headers"] == [["Server", "x"], ["Content-Length", "5"]]
    assert (answer["body_bytes"], answer["snippet"]) == (5, "hello")
    assert set(answer["parts_us"]) == {"dns", "connect", "tls", "send", "wait", "receive"}
    assert sum(answer["parts_us"].values()) == answer["response_us"]
    assert answer["peer"] == f"127.0.0.1:{server.port}"
    assert answer["tls"]["version"] == "TLSv1.3"
    assert len(answer["certificates_der_b64"]) == 1
    assert b"X-Try: 1" in server.requests[0]


def test_a_probe_speaks_http_1_0_where_the_order_says_so(program):
    with scripted(always(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello")) as server:
        (_, answer), _ = program(probe_order(server.port) | {"http_version": "1.0"}, FORKED).rest()
    assert (answer["error"], answer["snippet"]) == (None, "hello")
    assert b" HTTP/1.0\r\n" in server.requests[0]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"host": "10.1.2.3"}, "address_refused"),
        ({"host": "no-such-name.invalid"}, "dns_failed"),
        ({"scheme": "https"}, "tls_handshake"),
    ],
)
def test_a_probe_that_fails_says_how(program, fields, kind):
    def speak_no_tls(sock, server):
        sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with scripted(speak_no_tls) as server:
        (_, answer), status = program(probe_order(server.port, **fields), FORKED).rest()
    assert (status, answer["status"], answer["error"]) == (0, None, kind)
    assert answer["detail"]
    # TCP was accepted where only TLS failed.
    assert list(answer["parts_us"]) == (["connect"] if kind == "tls_handshake" else [])
    assert answer["response_us"] >= sum(answer["parts_us"].values())


LIMIT_S = 1.0
# A parent as a launcher is: gives the order, the start, and a sign of life now and then.
PARENT = """
import json, subprocess, sys, time
order, says_alive = json.loads(sys.argv[1]), sys.argv[2] == "True"
child = subprocess.Popen([sys.executable, "-m", "workers.injector"], stdin=-1, stdout=-1, text=True)
def say(message):
    child.stdin.write(json.dumps(message) + "\\n")
    child.stdin.flush()
say(order)
child.stdout.readline()
say({"start_at_ns": time.monotonic_ns() + 50_000_000})
print(child.pid, flush=True)
for _ in range(300 if says_alive else 0):
    time.sleep(0.2)
    say({"alive": True})
for line in child.stdout:
    print(line, end="", flush=True)
"""


@contextlib.contextmanager
def parent_of(order, *, says_alive=True):
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, json.dumps(order), str(says_alive)],
        stdout=subprocess.PIPE,
        text=True,
    )
    injector = int(process.stdout.readline())
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(injector, signal.SIGKILL)
        process.kill()
        process.wait()
        process.stdout.close()


def open_order(server, **fields):
    load = {"model": "open", "rate_per_s": 100, "duration_s": 60}
    return make_order(server.port, load=load, **fields)


def keeps_sending(server, for_s):
    before = server.n_requests
    time.sleep(for_s)
    return server.n_requests > before


def goes_silent(server, within_s):
    until = time.monotonic() + within_s
    while keeps_sending(server, 0.3):
        if time.monotonic() > until:
            return False
    return True


def test_a_frozen_parent_stops_the_sending_after_the_limit():
    with (
        scripted(always(OK_REPLY)) as server,
        parent_of(open_order(server, dead_man_s=LIMIT_S)) as parent,
    ):
        time.sleep(1.5 * LIMIT_S)
        assert keeps_sending(server, 0.3), "signs of life must keep it sending beyond the limit"
        os.kill(parent.pid, signal.SIGSTOP)
        time.sleep(0.3)
        assert keeps_sending(server, 0.2), "it must not stop before the limit"
        assert goes_silent(server, 2 * LIMIT_S)


def test_without_the_field_the_parent_may_be_silent():
    with scripted(always(OK_REPLY)) as server, parent_of(open_order(server), says_alive=False):
        time.sleep(1.5 * LIMIT_S)
        assert keeps_sending(server, 0.3)


def test_an_error_that_nobody_handles_ends_the_process_instead_of_a_part_of_the_load():
    code = (
        "import sys; from workers.injector.session import SessionWorker; sys.argv[1:] = [];"
        "SessionWorker.attempt = lambda *_: 1 / 0; import workers.injector.__main__"
    )
    with scripted(always(OK_REPLY)) as server:
        order = make_order(server.port, plan={"session": {"cookies": True}})
        injector = Program(launch((sys.executable, "-c", code)), order)
        injector.start()
        messages, status = injector.rest()
    assert (status, [each for each in messages if each["type"] == "end"]) == (1, [])
    assert "ZeroDivisionError" in injector.process.stderr.read()
