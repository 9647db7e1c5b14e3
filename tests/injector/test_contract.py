"""Every line of an injector is one that docs/injector.schema.json describes, whoever wrote it."""

import gzip
import json
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from campaigns.domain.metrics.measurement import VITALS
from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.metrics.snapshot import COUNTERS, TIMINGS, Second, Timing, total_of
from campaigns.domain.plan.frozen_run import ordered_plan
from campaigns.domain.plan.load import Load
from campaigns.domain.plan.plan import Plan
from tests.injector.forked import FORKED, OTHER
from tests.injector.http2.h2_server import h2_server
from tests.injector.servers import (
    OK_REPLY,
    after,
    always,
    closed,
    make_order,
    probe_order,
    scripted,
)
from tests.injector.websocket.peers import echo

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = json.loads((DOCS / "injector.schema.json").read_text())
BOTH = pytest.mark.parametrize("command", [FORKED, OTHER], ids=["ours", "other"])
LOADS = {
    "closed": closed(40, 4),
    "sequential": {"model": "sequential", "requests": 5},
    "duration": {"model": "closed", "connections": 3, "duration_s": 1.2},
    "open": {"model": "open", "rate_per_s": 100, "duration_s": 0.5},
    "stages": {"model": "open", "stages": [{"duration_s": 0.5, "from_per_s": 9, "to_per_s": 90}]},
    "over": {"model": "over", "requests": 20, "over_s": 0.4},
    "window": {"model": "window", "low": 2, "high": 4, "requests": 20},
}


@cache
def validator(name):
    """Of the schema's definition; to make one takes longer than to check a line with it."""
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})


def fault(line, name):
    """What the schema's definition says against a line, or None."""
    return best_match(validator(name).iter_errors(line))


def whole_order(port, **fields):
    """An order as a launcher gives it: the plan with every field that protocol 1 began with."""
    order = make_order(port, **fields)
    order["secrets"] = {}
    order.setdefault("shard", {"index": 0, "count": 1})
    order["plan"] = ordered_plan(Plan.from_json(order["plan"]).to_json())
    assert fault(order, "order") is None
    return order


def lines_of(injector):
    ready = injector.start()
    messages, status = injector.rest()
    assert status == 0
    lines = [ready, *messages]
    every_line = [*lines, *injector.requests]
    assert [fault(line, "out") for line in every_line] == [None] * len(every_line)
    assert [line["type"] for line in lines] == ["ready", *["second"] * (len(lines) - 2), "end"]
    return lines


def check_sums(lines):
    """The end says what the seconds say, and every attempt that began has one end."""
    total, end = total_of(Second.from_json(line) for line in lines[1:-1]), lines[-1]
    assert {name: n for name, n in end["totals"].items() if n} == total.counters
    assert end["errors"] == total.errors
    n_ended = sum(total.count(name) for name in ("ok", "failed", "dropped", "carried"))
    assert total.count("started") == n_ended + end["in_flight"]
    assert total.timing("response").n == total.count("ok")
    return total


def test_every_load_is_told_in_documented_lines(program):
    for load in LOADS:
        with scripted(after(0.002)) as server:
            lines = lines_of(program(whole_order(server.port, load=LOADS[load]), FORKED))
        total = check_sums(lines)
        assert (total.count("ok"), total.errors) == (server.n_requests, {})


@BOTH
@pytest.mark.parametrize("mode", ["new", "keep-alive"])
def test_another_injector_tells_the_same_of_a_closed_load(program, command, mode):
    steps = [{"method": "GET", "path": "/a"}, {"method": "POST", "path": "/b", "body": "é"}]
    with scripted(always(OK_REPLY)) as server:
        order = whole_order(server.port, load=closed(60, 3), mode=mode, steps=steps)
        total = check_sums(lines_of(program(order, command)))
    assert (total.count("ok"), total.statuses, total.errors) == (60, {"200": 60}, {})
    assert server.n_requests == 60
    n_opened = total.count("connections_opened")
    assert n_opened == 60 if mode == "new" else n_opened <= 3
    assert total.timing("connect").n == n_opened == server.n_connections
    parts = ("lateness", "connect", "send", "wait", "receive")
    assert total.timing("response").sum_us == sum(total.timing(name).sum_us for name in parts)


def test_a_websocket_run_is_told_in_documented_lines(program):
    with scripted(echo()) as server:
        plan = {"steps": [], "exchange": {"messages": 3}, "connection_mode": "new"}
        order = whole_order(server.port, scheme="ws", mode="new", load=closed(4, 2), plan=plan)
        total = check_sums(lines_of(program(order, FORKED)))
    assert (total.count("ok"), total.count("messages_received")) == (4, 12)
    assert total.counters["close_code_1000"] == 4


def test_a_tls_run_is_told_in_documented_lines(program, server_tls):
    with scripted(always(OK_REPLY), server_tls) as server:
        lines = lines_of(program(whole_order(server.port, scheme="https", load=closed(4)), FORKED))
    assert lines[-1]["tls"][0]["count"] == 1


@pytest.mark.parametrize("port", [None, 1], ids=["answered", "refused"])
def test_a_probe_is_answered_by_a_documented_line(program, port):
    with scripted(always(OK_REPLY)) as server:
        order = probe_order(port or server.port, mode="new") | {"secrets": {}}
        assert fault(order, "probe_order") is None
        (probing, line), status = program(order, FORKED).rest()
    assert (status, fault(probing, "probing"), fault(line, "probe")) == (0, None, None)
    assert line["error"] == ("connect_refused" if port else None)


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_a_probe_says_what_came_of_checks_and_values(program, version):
    body = gzip.compress(b'{"id": 7, "status": "busy"}')
    checks = [{"kind": "json", "value": "$.status", "equals": "ok"}, {"kind": "text", "value": "i"}]
    paths = [{"name": "x", "pattern": "$.id"}, {"name": "y", "pattern": "$.no", "may_miss": True}]
    extract = [{"from": "json", "header": "", **each} for each in paths]
    headers = [("content-encoding", "gzip"), ("content-length", str(len(body)))]
    plain = "".join(f"{name}: {value}\r\n" for name, value in headers).encode()
    with (
        scripted(always(b"HTTP/1.1 200 OK\r\n" + plain + b"\r\n" + body)) as server,
        h2_server(lambda *_: (200, headers, body)) as (server_2, _),
    ):
        order = probe_order((server if version == "1.1" else server_2).port, mode="new")
        order["step"] |= {"checks": checks, "extract": extract}
        order |= {"secrets": {}, "http_version": version}
        assert fault(order, "probe_order") is None
        (_, line), _ = program(order, FORKED).rest()
    assert fault(line, "probe") is None
    assert (line["error"], line["snippet"]) == (None, '{"id": 7, "status": "busy"}')
    assert [(each["holds"], each["value"]) for each in line["rules"]] == [
        (False, None), (True, None), (True, "7"), (True, None),
    ]  # fmt: skip
    assert line["rules"][0]["came"] == 'there is "busy"'


def test_a_websocket_s_probe_is_answered_by_a_documented_line(program):
    with scripted(echo()) as server:
        order = make_order(server.port, scheme="ws", mode="new")
        del order["plan"]
        order |= {"probe": True, "exchange": {"path": "/"}, "message": "hello", "secrets": {}}
        assert fault(order, "probe_order") is None
        (_, line), status = program(order, FORKED).rest()
    assert (status, fault(line, "probe"), line["error"]) == (0, None, None)
    assert line["websocket"]["message"]["is_echo"]


def test_the_schema_names_what_the_site_knows():
    defs = SCHEMA["$defs"]
    assert defs["kind"]["enum"] == [*Kind]
    assert set(defs["second"]["properties"]["timings"]["propertyNames"]["enum"]) == set(TIMINGS)
    vitals = defs["second"]["properties"]["vitals"]["anyOf"][0]["propertyNames"]["enum"]
    assert set(vitals) == set(VITALS)
    assert set(defs["counters"]["propertyNames"]["anyOf"][0]["enum"]) == set(COUNTERS)
    assert set(defs["plan"]["properties"]) == set(Plan.__dataclass_fields__)
    assert set(defs["load"]["properties"]) == set(Load.__dataclass_fields__)


def test_the_documents_name_every_field_of_the_schema():
    for document in ["injector.md", "plan.md"]:
        text = (DOCS / "injector.md").read_text() + (DOCS / "plan.md").read_text()
        defs = SCHEMA["$defs"]
        names = {
            "injector.md": [*Kind, *COUNTERS, *TIMINGS, *VITALS, *defs["end"]["properties"]],
            "plan.md": [*defs["plan"]["properties"], *defs["load"]["properties"]],
        }[document]
        assert [name for name in names if f"`{name}`" not in text and f'"{name}"' not in text] == []


def test_the_documented_example_of_a_histogram_is_right():
    text = (DOCS / "injector.md").read_text()
    example = json.loads(text[text.index('{"n": 5') :].partition("}")[0] + "}")
    assert Timing.from_json(example) == Timing.of([1000, 2000, 3000, 3000, 65000])


def test_sessions_that_arrive_are_told_in_documented_lines(program):
    load = {"model": "open", "rate_per_s": 100, "requests": 20, "arrival_unit": "session"}
    session = {"calls_per_session": 4, "burst_length": 4, "connections_per_session": 3}
    with scripted(always(OK_REPLY)) as server:
        order = whole_order(server.port, load=load, plan={"session": session})
        lines = lines_of(program(order, FORKED))
    total = check_sums(lines)
    assert (total.count("ok"), total.count("sessions_ok")) == (80, 20)
    assert lines[-1]["sessions_in_flight"] == 0
