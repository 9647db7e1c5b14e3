"""What is said on a WebSocket: lines that people write, read or refused in words."""

import pytest

from campaigns.domain.plan.exchange import longest_attempt_s
from campaigns.domain.plan.plan import InvalidPlan, Plan
from tests.domain.plan.reading import faults

LOAD = {"model": "closed", "connections": 1, "requests": 1}


def plan_of(**exchange) -> Plan:
    variables = exchange.pop("variables", {})
    spec = {"load": LOAD, "connection_mode": "new", "exchange": exchange}
    return Plan.from_json({**spec, "variables": variables})


SCENARIO = ("send: hello ${name}", "expect: json: $.type = ack", "wait: 0.5")


def test_a_plan_keeps_what_was_written():
    talk = {"texts": ["a", "b"], "reply": "message: 2", "scenario": list(SCENARIO)}
    plan = plan_of(**talk, deflate="context_takeover")
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert again.to_json()["exchange"].items() >= talk.items()
    assert (plan.exchange.n_messages, plan.exchange.rule.nth) == (2, 2)


def test_a_pause_has_a_unit_or_is_in_seconds():
    lines = ["send: a", "wait: 20ms", "wait: 1 min", "wait: 0.5"]
    waits = [each.wait_s for each in plan_of(scenario=lines).exchange.actions[1:]]
    assert waits == pytest.approx([0.02, 60, 0.5])


def test_a_plan_from_before_has_none_of_it():
    assert longest_attempt_s(
        {"messages": 2, "rate_per_s": None, "mode": "echo_sync", "close_timeout_s": 5}, 10
    ) == pytest.approx(2 * 10 + 2 * 10 + 5)
    assert not plan_of(messages=0).exchange.talks


def test_what_cannot_be_read_is_refused_in_words():
    for field, value, words in [
        ("reply", "status: 200", "is no rule for a message"),
        ("reply", "no text: a", "what it lacks"),
        ("reply", "pattern: (", "cannot be read"),
        ("reply", "message: 0", "is no rule"),
        ("scenario", ["say: a"], "Line 1: begin it with send: "),
        ("scenario", ["send: a", "wait: long"], "Line 2: wait: takes such as"),
        ("texts", "a", "Write a list of texts"),
        ("texts", ["a\nb"], "one line"),
    ]:
        assert words in faults(steps=[], exchange={field: value})[f"exchange.{field}"]


def test_a_variable_of_a_text_must_be_a_column():
    with pytest.raises(InvalidPlan, match="name"):
        plan_of(scenario=list(SCENARIO), variables={"csv": "id\n1\n"})
