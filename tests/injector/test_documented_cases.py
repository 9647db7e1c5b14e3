"""docs/injector.cases.json: orders and the lines that must come, of ours and of any other.

INJECTOR_UNDER_TEST is the command of another injector, words as a shell would split them.
"""

import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections import Counter

import pytest

from campaigns.domain.metrics.snapshot import Timing
from tests.injector.forked import FORKED, OTHER
from tests.injector.servers import scripted
from tests.injector.test_contract import DOCS, fault
from tests.injector.websocket.peers import echo

CASES = json.loads((DOCS / "injector.cases.json").read_text())
REPLY = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
PARTS = ("lateness", "redirects", "dns", "connect", "tls", "send", "wait", "receive")
SHARED = ("slice_s", "gap_s", "rate_per_s", "keeps_up")  # of a pace, by several processes
GIVEN = tuple(shlex.split(os.environ.get("INJECTOR_UNDER_TEST", "")))


def is_for_the_other(case):
    """The one in tests/workers knows closed loads in equal shares only, without flows, looks into
    no reply, and follows no redirect."""
    is_closed = case.get("load", {}).get("model") in {"closed", "sequential"} and "arms" not in case
    steps = case.get("plan", {}).get("steps", [])
    looks = any(step.get("checks") or step["extract"] for step in steps)
    has_more = case.get("plan", {}).keys() & {"flows", "redirects"}
    return (
        is_closed
        and not (looks or has_more)
        and "weights" not in case.get("order", {}).get("shard", {})
    )


PAIRS = [pytest.param(case, GIVEN or FORKED, id=case["name"]) for case in CASES["cases"]]
PAIRS += [
    pytest.param(case, OTHER, id=f"{case['name']}, other", marks=pytest.mark.long)
    for case in CASES["cases"]
    if not GIVEN and is_for_the_other(case)
]


@pytest.fixture(scope="module")
def tally():
    """Cases that were played, and why others were not. An injector that refuses all passes none."""
    tally = {"played": 0, "refused": []}
    yield tally
    if tally["refused"] and not tally["played"]:
        pytest.fail(f"Every order was refused: {tally['refused'][0]}")


def order_of(case, port):
    usual = CASES["order"]["plan"]
    plan = {
        **usual,
        "load": {**usual["load"], **case.get("load", {})},
        "session": {**usual["session"], **case.get("session", {})},
        **case.get("plan", {}),
    }
    order = {**CASES["order"], "plan": plan, **case.get("order", {})}
    order["endpoint"] = {**order["endpoint"], "port": port}
    if "arms" not in case:
        return order
    own = {name: order.pop(name) for name in ("plan", "endpoint", "connection_mode", "secrets")}
    arms = [own | arm for arm in case["arms"]]
    for arm in arms:
        arm["plan"] = {**plan, "load": {**plan["load"], **arm.pop("load", {})}}
    return {**order, "protocol": 2, "arms": arms, "turns": case["turns"]}


def server_of(delay_s=0.0, reply=REPLY, replies=None, ends_with_reply=False):
    def script(sock, server):
        n_left = replies
        while server.read_request(sock) is not None:
            time.sleep(delay_s)
            if not reply or n_left == 0:
                return
            n_left = n_left and n_left - 1
            if ends_with_reply and n_left == 0:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
                sock.sendall(reply.encode())
                return
            sock.sendall(reply.encode())

    return script


def play(case, injector):
    """(the first line, the others, exit status)."""
    first = injector.hear()
    if first["type"] == "ready" and "start_in_s" in case:
        if case["start_in_s"] is not None:
            start_ns = time.monotonic_ns() + int(case["start_in_s"] * 1e9)
            injector.say({"start_at_ns": start_ns})
        if "begin_in_s" in case:
            pace = injector.hear()
            begin_ns = time.monotonic_ns() + int(case["begin_in_s"] * 1e9)
            injector.say({"begin_at_ns": begin_ns, "pace": {name: pace[name] for name in SHARED}})
        for after_s, line in case.get("then", ()):
            time.sleep(after_s)
            injector.process.stdin.close() if line is None else injector.say(line)
    return first, *injector.rest()


def check_seconds(rows, lines):
    assert [(line["second"], line["step"]) for line in lines] == [
        (second, step) for second, step, _ in rows
    ]
    for (_, _, counters), line in zip(rows, lines, strict=True):
        check_counts(counters, line["counters"])


def check_counts(least, counts):
    assert {name: counts.get(name, 0) for name in least} == least


def check_timings(line, at_least_us):
    """What each second line must have, whatever the case."""
    timings = {name: Timing.from_json(data) for name, data in line["timings"].items()}
    for name, counter in (("response", "ok"), ("failed", "failed")):
        n_timed = timings[name].n if name in timings else 0
        assert n_timed == line["counters"].get(counter, 0)
    for timing in timings.values():
        assert int(timing.histogram.counts.sum()) == timing.n
    if {"send", "wait", "receive"} <= set(timings):
        parts_us = sum(timings[name].sum_us for name in PARTS if name in timings)
        assert parts_us == timings["response"].sum_us
    for names, least_us in at_least_us.items():
        together = [timings[name] for name in names.split("+") if name in timings]
        assert sum(each.sum_us - least_us * each.n / len(together) for each in together) >= 0
        assert len(together) > 1 or all(each.min_us >= least_us for each in together)


def check_requests(table, lines):
    """An injector need not tell any."""
    if table is None or not lines:
        return
    [line] = lines
    columns = line["columns"]
    starts = zip(columns["number"], columns["start_us"], strict=True)
    keys = [(number is None, number or start) for number, start in starts]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    in_order = {name: [values[place] for place in order] for name, values in columns.items()}
    in_order["is_all"] = line["is_all"]
    assert {name: in_order[name] for name in table} == table


def check_end(case, end):
    for name in ("totals", "errors"):
        if name in case:
            counts = end[name]
            assert any(counts.values()) == bool(case[name])
            check_counts(case[name], counts)
    fields = case.get("ends", {})
    assert {name: end[name] for name in fields} == fields


def check_arms(case, lines, end):
    rounds = [line for line in lines if line["type"] == "round"]
    low, high = case["rounds"]
    assert low <= len(rounds) == end["rounds"] <= high
    numbers = [line["round"] for line in rounds]
    assert numbers == sorted(set(numbers))
    assert all(sorted(line["order"]) == [*range(len(end["arms"]))] for line in rounds)
    began_us = [line["began_us"] for line in rounds]
    assert began_us == sorted(began_us)
    seconds = [line for line in lines if line["type"] == "second"]
    for line in seconds:
        check_timings(line, {})
    for number in range(len(end["arms"])):
        own = [line for line in seconds if line["arm"] == number and line["second"] >= 0]
        counters = sum((Counter(line["counters"]) for line in own), Counter())
        assert sum(line["arms"][number]["n"] for line in rounds) <= counters["ok"]
        for name, (least, most) in case["each_arm"].items():
            assert least <= counters[name] <= most, name


@pytest.mark.parametrize(("case", "command"), PAIRS)
def test_what_the_document_says_comes(program, tally, case, command):
    options = case.get("server", {})
    with scripted(echo() if options.get("echoes") else server_of(**options)) as server:
        injector = program(order_of(case, server.port), command)
        first, others, status = play(case, injector)
    every_line = (first, *others, *injector.requests)
    assert [fault(line, "out") for line in every_line] == [None] * len(every_line)
    if "refused" in case:
        assert (first["type"], first["kind"], status) == ("refused", case["refused"], 2)
        return
    if GIVEN and first.get("kind") == "bad_order":
        tally["refused"].append(first["reason"])
        pytest.skip(first["reason"])
    tally["played"] += 1
    assert (first["type"], status) == ("ready", 0)
    *seconds, end = others
    if "arms" in case:
        check_arms(case, seconds, end)
        check_end(case, end)
        return
    facts = case.get("facts", {})
    assert {name: first["facts"][name] for name in facts} == facts
    if "request" in case:
        request = case["request"].replace("PORT", str(server.port))
        assert server.requests[0].decode() == request
    if "seconds" in case:
        check_seconds(case["seconds"], seconds)
    if "statuses" in case:
        assert sum((Counter(line["statuses"]) for line in seconds), Counter()) == case["statuses"]
    for line in seconds:
        check_timings(line, case.get("at_least_us", {}))
    check_end(case, end)
    check_requests(case.get("requests"), injector.requests)


@pytest.mark.long
def test_an_injector_that_refuses_every_order_does_not_pass(tmp_path):
    line = {"type": "refused", "kind": "bad_order", "reason": "I cannot do anything."}
    refuser = tmp_path / "refuser.sh"
    refuser.write_text(f"#!/bin/sh\nread order\necho '{json.dumps(line)}'\nexit 2\n")
    # Without settings, and without what it does not need of pytest: both take longer to load.
    plain = ["-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", "-p", "no:django"]
    env = {
        name: value for name, value in os.environ.items() if name[:7] not in {"DJANGO_", "PYTEST_"}
    }
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *plain, __file__, "-k", "unequal"],
        env={**env, "INJECTOR_UNDER_TEST": f"/bin/sh {refuser}"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1
    assert "Every order was refused: I cannot do anything." in result.stdout


def test_an_order_that_may_be_taken_is_one_that_the_schema_describes():
    for case in [case for case in CASES["cases"] if case.get("refused") != "bad_order"]:
        kind = "arms_order" if "arms" in case else "order"
        assert fault(order_of(case, 80), kind) is None
