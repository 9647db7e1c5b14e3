"""The k6 script as it was run by hand (docs/studies.md): its text is what was verified."""

import json
import re

from campaigns.domain.other_tools.equivalents import equivalents
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.presets import PRESETS

GET = {"method": "GET", "path": "/a?x=1"}


def k6(load, step=GET, mode="keep-alive", **spec):
    plan = Plan.from_json({"steps": [step], "load": load, "connection_mode": mode, **spec})
    return next(each for each in equivalents(plan) if each.tool == "k6")


def scenario(load, **spec):
    options = re.search(r"options = (.*);", k6(load, **spec).command)[1]
    return json.loads(options)["scenarios"]["plan"]


EVENLY = (
    "k6 run - <<'EOF'\n"
    "import http from 'k6/http';\n"
    "import exec from 'k6/execution';\n"
    'export const options = {"scenarios": {"plan": {"executor": "constant-arrival-rate", '
    '"rate": 10, "timeUnit": "1s", "duration": "10s", "preAllocatedVUs": 100, '
    '"maxVUs": 10000}}, "noConnectionReuse": true, "discardResponseBodies": true};\n'
    "export default () => exec.scenario.iterationInTest < 100 && "
    'http.request("GET", "http://TARGET/", null, {"headers": {}, "timeout": "1s"});\n'
    "EOF"
)
ON_50_CONNECTIONS = (
    "k6 run - <<'EOF'\n"
    "import http from 'k6/http';\n"
    'export const options = {"scenarios": {"plan": {"executor": "shared-iterations", '
    '"vus": 50, "iterations": 1000}}, "noConnectionReuse": true, '
    '"discardResponseBodies": true};\n'
    'export default () => http.request("GET", "http://TARGET/", null, '
    '{"headers": {}, "timeout": "30s"});\n'
    "EOF"
)


def test_this_script_was_run_and_sent_what_the_plan_says():
    """100 requests evenly over ten seconds; 1,000 on 50 new connections at a time."""
    for preset, command in [("httperf", EVENLY), ("ab", ON_50_CONNECTIONS)]:
        plan = Plan.from_json(PRESETS[preset].spec)
        assert command == next(each.command for each in equivalents(plan) if each.tool == "k6")


def test_rates_are_exact_and_the_number_is_the_planned_one():
    for load, words in [
        ({"model": "open", "rate_per_s": 37.5, "duration_s": 2}, (75, "2s", "2s", 75)),
        ({"model": "open", "rate_per_s": 3, "duration_s": 1.1}, (3, "1s", "1.1s", 4)),
        ({"model": "open", "rate_per_s": 0.5, "requests": 4}, (1, "2s", "8s", 4)),
        ({"model": "over", "requests": 7, "over_s": 1.0001}, (7, "1.0001s", "1.0001s", 7)),
        ({"model": "over", "requests": 3, "over_s": 0.5}, (3, "0.5s", "1s", 3)),
        ({"model": "over", "requests": 100, "over_s": 100}, (100, "100s", "100s", 100)),
    ]:
        rate, unit, duration, count = words
        plan = scenario(load)
        assert (plan["rate"], plan["timeUnit"], plan["duration"]) == (rate, unit, duration)
        assert f"iterationInTest < {count} &&" in k6(load).command


def test_there_are_no_more_users_than_iterations_for_k6_refuses_them():
    assert scenario({"model": "closed", "connections": 20, "requests": 3})["vus"] == 3
    assert scenario({"model": "closed", "connections": 20, "duration_s": 3})["vus"] == 20


def test_a_header_that_is_there_twice_has_no_script():
    step = {**GET, "headers": [["X-A", "1"], ["x-a", "2"]]}
    assert k6({"model": "sequential", "requests": 3}, step).command == ""
