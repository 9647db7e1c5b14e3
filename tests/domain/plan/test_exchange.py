"""What a WebSocket plan may say."""

from campaigns.domain.plan.exchange import longest_attempt_s
from campaigns.domain.plan.plan import ConnectionMode, Plan
from tests.domain.plan.reading import faults

LOAD = {"model": "sequential", "requests": 1}


def plan(**exchange):
    return Plan.from_json({"load": LOAD, "exchange": exchange})


def test_the_defaults_are_the_two_handshakes():
    exchange = plan().exchange
    assert (exchange.messages, exchange.mode, exchange.close_code) == (0, "echo_sync", 1000)
    assert plan().connection_mode == ConnectionMode.NEW
    assert plan().labels == ("WebSocket /",)


def test_it_reads_what_it_writes():
    value = plan(
        path="/x?y", headers=[["Origin", "a"]], subprotocols=["chat"], messages=3, size_bytes=0,
        binary=True, mode="send_only", rate_per_s=0.5, verify="length", close_code=3000,
        close_timeout_s=1,
    )  # fmt: skip
    assert Plan.from_json(value.to_json()) == value


def test_it_says_which_field_is_wrong():
    for field, value in [
        ("path", "feed"),
        ("path", "/a b"),
        ("headers", [["Sec-WebSocket-Key", "x"]]),
        ("headers", [["Upgrade", "x"]]),
        ("headers", [["X", "a\r\nb"]]),
        ("subprotocols", ["a b"]),
        ("subprotocols", ["a", "a"]),
        ("subprotocols", "chat"),
        ("messages", -1),
        ("messages", 1.5),
        ("size_bytes", 2**20 + 1),
        ("binary", "yes"),
        ("mode", "echo"),
        ("rate_per_s", 0),
        ("verify", "maybe"),
        ("close_code", 1005),
        ("close_code", 999),
        ("close_timeout_s", 0),
        ("colour", "red"),
    ]:
        assert set(faults(steps=[], exchange={field: value})) == {f"exchange.{field}"}


def test_it_has_no_steps_and_keeps_no_connection():
    for field, value in [("steps", [{"path": "/"}]), ("connection_mode", "keep-alive")]:
        assert set(faults(**{"steps": [], "exchange": {}, field: value})) == {field}


def test_a_window_may_keep_its_connections():
    for hold in [{"hold": "keep_until_all"}, {"hold": "keep_s", "hold_s": 3}]:
        load = {"model": "window", "low": 2, "high": 4, "requests": 8, **hold}
        value = Plan.from_json({"load": load, "exchange": {}})
        assert value.load.hold == hold["hold"]
        assert Plan.from_json(value.to_json()) == value


def test_an_attempt_lasts_at_most_its_waits_and_its_messages():
    for exchange, longest_s in [
        (None, 30),
        ({"mode": "send_only"}, 2 * 30 + 5),
        ({"mode": "send_only", "messages": 10, "rate_per_s": 0.1}, 2 * 30 + 100 + 5),
        ({"mode": "echo_sync", "messages": 10, "rate_per_s": 0.1}, 2 * 30 + 300 + 5),
        ({"mode": "echo_sync", "messages": 10, "rate_per_s": 0.01}, 2 * 30 + 1000 + 5),
    ]:
        spec = exchange and plan(**exchange, close_timeout_s=5).to_json()["exchange"]
        assert longest_attempt_s(spec, timeout_s=30) == longest_s
