"""HTTP/1.0: what is asked for, and when a connection is kept."""

import pytest

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.http_version import HttpVersion
from campaigns.domain.plan.plan import Plan
from tests.injector.servers import always, closed, make_order, scripted
from workers.injector.cli import make_order as order_of
from workers.injector.cli import make_parser
from workers.injector.local_run import run_here

BODY = b"Content-Length: 2\r\n\r\nok"


def ask(port, version="1.0", **given):
    order = make_order(port, load=closed(3), **given)
    order["plan"]["http_version"] = version
    return run_here(order, lambda second: None).total


@pytest.mark.parametrize(
    ("reply", "n_connections"),
    [
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + BODY, 1),
        (b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n" + BODY, 1),
        (b"HTTP/1.1 200 OK\r\n" + BODY, 3),
        (b"HTTP/1.0 200 OK\r\n" + BODY, 3),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + BODY, 3),
    ],
)
def test_a_connection_is_kept_only_where_both_sides_say_so(reply, n_connections):
    with scripted(always(reply)) as server:
        total = ask(server.port)
    assert (total.count("ok"), server.n_connections) == (3, n_connections)
    assert all(b" HTTP/1.0\r\n" in request for request in server.requests)
    assert all(b"\r\nConnection: keep-alive\r\n" in request for request in server.requests)


def test_a_connection_used_once_needs_no_word_for_it():
    with scripted(always(b"HTTP/1.0 200 OK\r\n\r\nuntil the end", then_close=True)) as server:
        total = ask(server.port, mode="new")
    assert (total.count("ok"), server.n_connections) == (3, 3)
    assert not any(b"Connection:" in request for request in server.requests)


def test_plans_from_before_speak_1_1():
    plan = Plan.from_json({"steps": [{"path": "/"}], "load": {"requests": 1, "connections": 1}})
    assert plan.http_version == HttpVersion.HTTP_1_1
    assert plan.to_json()["http_version"] == "1.1"
    assert Plan.from_json(plan.to_json()) == plan


def test_1_0_is_not_pipelined():
    given = {"load": {"requests": 9, "connections": 1}, "http_version": "1.0"}
    spec = {"steps": [{"path": "/"}], **given, "session": {"burst_length": 2, "pipeline_depth": 2}}
    with pytest.raises(InvalidPlan) as invalid:
        Plan.from_json(spec)
    assert "http_version" in invalid.value.errors


def test_the_command_line_chooses_the_version():
    options = make_parser().parse_args(["http://10.0.0.5/", "--http", "1.0"])
    assert order_of(options)["plan"]["http_version"] == "1.0"
