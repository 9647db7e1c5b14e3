"""The one request of a plan that is sent before a campaign's first run."""

from math import ceil

from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.typed_request import (
    ALL_WITHIN_S,
    AT_ONCE,
    SHORTEST_S,
    changes_something,
    first_request,
    longest_s,
)
from tests.values import plan_spec


def plan_of(*steps, **fields) -> Plan:
    return Plan.from_json({**plan_spec(), **({"steps": list(steps)} if steps else {}), **fields})


def test_it_is_the_first_step_with_the_statuses_that_the_plan_expects():
    login = {"method": "POST", "path": "/login/", "headers": [["X-A", "1"]], "body": "user=ann"}
    request = first_request(plan_of(login, {"path": "/cart"}, expected_status=["302"]))
    assert (request["method"], request["path"], request["body"]) == ("POST", "/login/", "user=ann")
    assert request["headers"] == [["X-A", "1"]]
    assert request["expected_status"] == ["302"]


def test_it_has_the_values_of_the_first_row_and_none_of_later_replies():
    extract = [{"name": "token", "from": "body", "pattern": "t=(.)"}]
    step = {"path": "/p/${item}?t=${token}", "extract": extract}
    request = first_request(plan_of(step, variables={"csv": "item\n7 up\n8"}))
    assert request["path"] == "/p/7%20up?t="


def test_it_has_the_checks_of_its_step_and_needs_the_values_that_later_steps_need():
    extract = [{"name": name, "from": "json", "pattern": f"$.{name}"} for name in ("id", "spare")]
    first = {"path": "/a", "extract": extract, "checks": [{"kind": "text", "value": "ok"}]}
    request = first_request(plan_of(first, {"path": "/item/${id}"}))
    assert request["checks"] == first["checks"]
    assert [each.get("may_miss", False) for each in request["extract"]] == [False, True]
    plain = first_request(plan_of({"path": "/"}))
    assert not plain.keys() & {"checks", "extract"}


def test_it_waits_as_long_as_the_plan_but_nobody_waits_ten_minutes():
    limits = {"connect_s": 2, "tls_s": 3, "total_s": 600}
    request = first_request(plan_of(timeouts=limits))
    assert request["timeouts"] == {"connect_s": 2, "tls_s": 3, "total_s": 30}


def websocket_plan(**exchange) -> Plan:
    spec = {"exchange": {"path": "/feed", **exchange}, "load": plan_spec()["load"]}
    return Plan.from_json({**spec, "variables": {"csv": "room\nblue\nred"}})


def test_of_a_websocket_plan_it_is_a_connection_with_the_scenario_and_one_message():
    opening = {"headers": [["X-A", "1"]], "subprotocols": ["chat"]}
    scenario = ["send: join ${room}", "expect: text: ${room}", "wait: 1"]
    plan = websocket_plan(
        **opening, scenario=scenario, texts=["hi ${room}", "bye"], messages=90, rate_per_s=5
    )
    request = first_request(plan)
    assert {name: request[name] for name in opening} == opening
    talk = request["exchange"]
    assert talk["scenario"] == ["send: join blue", "expect: text: blue", "wait: 1"]
    assert (talk["texts"], talk["messages"], talk["rate_per_s"]) == (["hi blue"], 1, None)


def test_a_scenario_with_long_pauses_is_not_tried():
    talk = first_request(websocket_plan(scenario=["send: a", "wait: 6"], messages=9))["exchange"]
    assert (talk["scenario"], talk["messages"]) == ([], 0)


def test_own_messages_may_change_something():
    assert changes_something(websocket_plan(texts=["buy"])) == "messages to /feed"
    assert changes_something(websocket_plan(messages=5)) == ""


def test_it_is_said_if_it_may_change_something():
    for method, words in [
        ("GET", ""),
        ("HEAD", ""),
        ("OPTIONS", ""),
        ("POST", "POST /"),
        ("DELETE", "DELETE /"),
    ]:
        assert changes_something(plan_of({"method": method, "path": "/"})) == words


def test_many_have_less_time_each_so_that_all_have_an_answer():
    assert [longest_s(n) for n in (1, 16, 60)] == [30, 30, 8]
    for together in range(1, 97):
        assert ceil(together / AT_ONCE) * longest_s(together) <= ALL_WITHIN_S
    assert first_request(plan_of(), together=60)["timeouts"]["total_s"] == longest_s(60)
    assert longest_s(1000) == SHORTEST_S
