"""The commands of other tools: the ones that exist, and why others do not."""

import shlex

from campaigns.domain.other_tools.equivalents import equivalents
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.presets import PRESETS
from tests.values import plan_spec


def of(tool: str, key: str = "", **spec):
    plan = Plan.from_json(PRESETS[key].spec if key else plan_spec() | spec)
    return next(each for each in equivalents(plan) if each.tool == tool)


def get(load, *, headers=(), method="GET", body="", **spec):
    step = {"method": method, "path": "/a?b=1&c=2", "headers": list(headers), "body": body}
    return {"steps": [step], "load": load, **spec}


CLOSED = {"model": "closed", "connections": 8, "duration_s": 10}


def test_the_studies_commands_come_back():
    for tool, key, command in [
        ("ab", "ab", "ab -n 1000 -c 50 -s 30 http://TARGET/"),
        (
            "httperf",
            "httperf",
            "httperf --server HOST --port PORT --uri / --num-conns 100 --num-calls 1 --rate 10 "
            "--timeout 1",
        ),
        (
            "httperf",
            "httperf-1000",
            "httperf --server HOST --port PORT --uri / --num-conns 1000 --num-calls 1 --timeout 30",
        ),
        ("wrk", "capacity", "wrk -t1 -c64 -d60s --latency --timeout 30s http://TARGET/"),
    ]:
        assert of(tool, key).command == command


def test_httperf_speaks_the_version_of_the_plan():
    load = {"model": "sequential", "requests": 9}
    old = of("httperf", **get(load, connection_mode="new", http_version="1.0"))
    assert "--http-version 1.0 --num-conns 9 --num-calls 1" in old.command
    no_answer = of("httperf", **get(load, connection_mode="keep-alive", http_version="1.0"))
    assert no_answer.command == ""


def test_every_plan_has_a_command_or_a_reason_for_each_tool():
    for key in PRESETS:
        tools = equivalents(Plan.from_json(PRESETS[key].spec))
        assert [each.tool for each in tools][:4] == ["ab", "httperf", "wrk", "k6"]
        assert all(each.words for each in tools)


def test_what_a_shell_would_understand_is_quoted():
    headers = [("X-Try", "it's; rm -rf $HOME")]
    words = shlex.split(of("wrk", **get(CLOSED, headers=headers)).command)
    assert words[-1] == "http://TARGET/a?b=1&c=2"
    assert "X-Try: it's; rm -rf $HOME" in words


def test_a_body_is_a_file_for_ab_and_text_for_k6():
    spec = get(CLOSED, method="POST", body="<a/>\nEOF\n", headers=[("Content-Type", "text/xml")])
    words = shlex.split(of("ab", **spec).command)
    assert words[words.index("-p") + 1 :][:3] == ["body.txt", "-T", "text/xml"]
    assert "\nEOF\n" not in of("k6", **spec).command, "or the shell ends the script there"
    assert "Lua" in of("wrk", **spec).words


def test_a_new_connection_is_asked_for():
    spec = get(CLOSED, connection_mode="new")
    assert "Connection: close" in shlex.split(of("wrk", **spec).command)
    assert "-k" not in shlex.split(of("ab", **spec).command)


def test_a_ramp_up_is_no_tool_s():
    load = CLOSED | {"ramp_up_s": 4}
    assert not any(of(tool, **get(load)).command for tool in ("ab", "wrk", "k6"))


def test_what_no_tool_can_has_a_command_of_none():
    for changes in [
        {"connection_mode": "resumed"},
        {"session": {"cookies": True}},
        {"load": {"model": "window", "low": 2, "high": 4, "requests": 9}},
        {"steps": [{"path": "/", "checks": [{"kind": "text", "value": "ok"}]}]},
        {"flows": [{"name": "browse", "share": 1, "steps": 1}]},
        {"steps": [{"path": "/${id}"}], "variables": {"csv": "id\n7"}},
        {"redirects": "all"},
    ]:
        for tool in ["ab", "httperf", "wrk", "k6"]:
            assert of(tool, **get(CLOSED) | {"connection_mode": "new"} | changes).command == ""


def websocket(load, **exchange):
    plan = Plan.from_json({"load": load, "exchange": exchange})
    return {each.tool: each for each in equivalents(plan)}


WINDOW = {"model": "window", "low": 250, "high": 500, "requests": 50_000}


def test_a_window_of_websockets_is_wsperf_s():
    tools = websocket(WINDOW, path="/a?b=1&c")
    assert tools["wsperf"].command == (
        "wsperf 'ws://TARGET/a?b=1&c' 1 50000 250 500 result_%d.json"
    )
    assert [tool for tool, each in tools.items() if each.command] == ["wsperf"]


def test_what_wsperf_cannot_do_has_no_command():
    for load, exchange in [
        (CLOSED, {}),
        (WINDOW | {"hold": "keep_until_all"}, {}),
        (WINDOW, {"messages": 3}),
        (WINDOW, {"subprotocols": ["chat"]}),
    ]:
        assert websocket(load, **exchange)["wsperf"].command == ""


SESSIONS = {"model": "open", "rate_per_s": 5, "requests": 40, "arrival_unit": "session"}
CONNECTIONS = SESSIONS | {"arrival_unit": "connection"}
THINK = {"kind": "constant", "mean_s": 2.5}


def calls_of(load, session):
    return get(load, session=session, connection_mode="keep-alive")


def test_httperf_has_sessions_and_connections_with_calls():
    for load, session, options in [
        (
            SESSIONS,
            {"calls_per_session": 10, "burst_length": 5, "connections_per_session": 4}
            | {"think_time": THINK},
            "--wsess 40,10,2.5 --burst-length 5 --max-connections 4 --max-piped-calls 1 --rate 5",
        ),
        (
            SESSIONS | {"distribution": "exponential"},
            {"calls_per_session": 4, "burst_length": 4, "pipeline_depth": 3},
            "--wsess 40,4,0 --burst-length 4 --max-connections 1 --max-piped-calls 3 --period e0.2",
        ),
        (
            SESSIONS,
            {"calls_per_session": 2, "cookies": True},
            "--wsess 40,2,0 --burst-length 1 --max-connections 1 --max-piped-calls 1 "
            "--session-cookie --rate 5",
        ),
        (CONNECTIONS, {"calls_per_connection": 7}, "--num-conns 40 --num-calls 7 --rate 5"),
        (
            CONNECTIONS,
            {"calls_per_connection": 6, "burst_length": 3, "pipeline_depth": 3}
            | {"first_call_alone": False},
            "--num-conns 40 --num-calls 6 --burst-length 3 --rate 5",
        ),
    ]:
        command = of("httperf", **calls_of(load, session)).command
        assert f" {options} --timeout" in command
        assert not any(of(tool, **calls_of(load, session)).command for tool in ("ab", "wrk", "k6"))


def test_what_httperfs_sessions_cannot_do_has_no_command():
    for load, session in [
        (SESSIONS, {"calls_per_session": 5, "calls_per_connection": 2}),
        (SESSIONS, {"calls_per_session": 5, "think_time": {"kind": "exponential", "mean_s": 1}}),
        (SESSIONS, {"calls_per_session": 5, "burst_length": 5, "first_call_alone": False}),
        (SESSIONS, {"calls_per_session": 9, "burst_length": 9, "connections_per_session": 5}),
        (SESSIONS, {"calls_per_session": 40, "burst_length": 40, "pipeline_depth": 33}),
        (SESSIONS, {"calls_per_session": 9, "burst_length": 5, "connections_per_session": 4}),
        (SESSIONS, {"calls_per_session": 10, "burst_length": 5, "connections_per_session": 3}),
        (SESSIONS, {"calls_per_session": 5, "retry_on_failure": True}),
        (CONNECTIONS, {"calls_per_connection": 5, "think_time": THINK}),
        (CONNECTIONS, {"calls_per_connection": 5, "cookies": True}),
        (CONNECTIONS, {"calls_per_connection": 6, "burst_length": 3}),
        (
            CONNECTIONS,
            {"calls_per_connection": 7, "burst_length": 3, "pipeline_depth": 3}
            | {"first_call_alone": False},
        ),
    ]:
        assert of("httperf", **calls_of(load, session)).command == ""


def test_a_time_that_the_tool_would_cut_off_has_no_command():
    for tool in ["ab", "wrk"]:
        answer = of(tool, **get({"model": "closed", "connections": 8, "duration_s": 1.5}))
        assert answer.command == ""


def test_a_command_sends_at_the_rate_to_its_last_digit():
    for load, option in [
        ({"model": "open", "rate_per_s": 12345.678, "requests": 9}, "--rate 12345.678"),
        ({"model": "over", "requests": 12_345_678, "over_s": 1000}, "--rate 12345.678"),
        ({"model": "over", "requests": 1_234_567, "over_s": 1}, "--rate 1234567 "),
    ]:
        assert option in of("httperf", **get(load, connection_mode="new")).command


def test_h2load_is_the_tool_of_http_2():
    load = {"model": "closed", "connections": 4, "requests": 1000}
    streams = {"connection_mode": "keep-alive", "http_version": "2", "streams": 32}
    spec = get(load, headers=[("X-A", "b c")], **streams)
    assert of("h2load", **spec).command == (
        "h2load -n 1000 -c 4 -m 32 -H 'X-A: b c' 'http://TARGET/a?b=1&c=2'"
    )
    assert of("wrk", **spec).command == ""
    assert "h2load" not in [each.tool for each in equivalents(Plan.from_json(plan_spec()))]


def test_what_h2load_cannot_send_has_no_command():
    for spec in [
        get({"model": "open", "rate_per_s": 9, "requests": 9}),
        get({**CLOSED, "ramp_up_s": 2}),
        get(CLOSED, connection_mode="new"),
        get(CLOSED, method="POST", body="x"),
        get({**CLOSED, "duration_s": 1.5}),
    ]:
        fields = {"connection_mode": "keep-alive"} | spec
        assert of("h2load", **fields, http_version="2").command == ""


def test_methods_of_ab_and_gaps_of_httperf_are_options():
    by_number = {"model": "closed", "connections": 8, "requests": 10}
    new = {"connection_mode": "new"}
    for method, option in [("HEAD", " -i "), ("DELETE", " -m DELETE ")]:
        assert option in of("ab", **get(by_number, method=method, **new)).command
    assert of("ab", **get(by_number, method="DELETE", body="x", **new)).command == ""
    uniform = {"distribution": "uniform", "uniform_min_s": 0.5, "uniform_max_s": 2}
    command = of("httperf", **get({"model": "open", **uniform, "requests": 9}, **new)).command
    assert " --period u0.5,2 " in f"{command} "
    by_time = {"model": "sequential", "duration_s": 9}
    assert of("httperf", **get(by_time, **new)).command == ""
    h2 = {"http_version": "2", "connection_mode": "keep-alive"}
    assert "':method: PUT'" in of("h2load", **get(by_number, method="PUT", **h2)).command
