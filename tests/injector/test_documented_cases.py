"""docs/injector.cases.json: orders and the lines that must come, of ours and of any other.

INJECTOR_UNDER_TEST is the command of another injector, words as a shell would split them.
"""

import json
import os
import shlex
import time

import pytest

from tests.injector.program import OTHER, OURS
from tests.injector.servers import always, scripted
from tests.injector.test_contract import DOCS, fault

CASES = json.loads((DOCS / "injector.cases.json").read_text())
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
GIVEN = tuple(shlex.split(os.environ.get("INJECTOR_UNDER_TEST", "")))
# The one in tests/workers knows closed loads only.
CLOSED = [
    case for case in CASES["cases"] if case.get("load", {}).get("model") in {"closed", "sequential"}
]
PAIRS = [(case, GIVEN or OURS) for case in CASES["cases"]]
PAIRS += [] if GIVEN else [(case, OTHER) for case in CLOSED]


def order_of(case, port):
    plan = CASES["order"]["plan"]
    plan = {**plan, "load": {**plan["load"], **case.get("load", {})}, **case.get("plan", {})}
    order = {**CASES["order"], "plan": plan, **case.get("order", {})}
    return {**order, "endpoint": {**order["endpoint"], "port": port}}


def played(case, injector):
    """(the first line, the others, exit status)."""
    first = injector.hear()
    if first["type"] == "ready" and "start_in_s" in case:
        if case["start_in_s"] is not None:
            start_ns = time.monotonic_ns() + int(case["start_in_s"] * 1e9)
            injector.say({"start_at_ns": start_ns})
        for after_s, line in case.get("then", ()):
            time.sleep(after_s)
            injector.process.stdin.close() if line is None else injector.say(line)
    return first, *injector.rest()


def check_seconds(expected, lines):
    assert [(line["second"], line["step"]) for line in lines] == [
        (second, step) for second, step, _ in expected
    ]
    for (_, _, counters), line in zip(expected, lines, strict=True):
        assert {name: line["counters"].get(name, 0) for name in counters} == counters


def check(part, line):
    assert {name: line[name] for name in part} == part


@pytest.mark.parametrize(
    ("case", "command"),
    PAIRS,
    ids=[f"{case['name']}, {command[-1].rpartition('/')[2]}" for case, command in PAIRS],
)
def test_what_the_document_says_comes(program, case, command):
    with scripted(always(REPLY)) as server:
        first, others, status = played(case, program(order_of(case, server.port), command))
    assert [fault(line, "out") for line in (first, *others)] == [None] * (1 + len(others))
    if "refused" in case:
        assert (first["type"], first["kind"], status) == ("refused", case["refused"], 2)
        return
    if GIVEN and first.get("kind") == "bad_order":
        pytest.skip(first["reason"])
    assert (first["type"], status) == ("ready", 0)
    *seconds, end = others
    check(case.get("facts", {}), first["facts"])
    if "seconds" in case:
        check_seconds(case["seconds"], seconds)
    if "totals" in case:
        totals = {name: n for name, n in end["totals"].items() if n}
        assert bool(totals) == bool(case["totals"])
        check(case["totals"], totals)
    check(case.get("ends", {}), end)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES["cases"] if case.get("refused") != "bad_order"],
    ids=lambda case: case["name"],
)
def test_an_order_that_may_be_taken_is_one_that_the_schema_describes(case):
    assert fault(order_of(case, 80), "order") is None
