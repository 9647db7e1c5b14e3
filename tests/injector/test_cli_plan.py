"""The command line's plans: whole from a file, or by their steps, sessions and credentials."""

import json
import os
from argparse import ArgumentParser
from pathlib import Path

import pytest

from tests.injector.servers import OK_REPLY, always, scripted
from tests.values import plan_spec
from workers.injector import cli, cli_plan
from workers.injector.cli_options import add_tls_options
from workers.injector.summary import shared_orders

pytestmark = pytest.mark.pure


@pytest.fixture
def plan_file(tmp_path):
    """A file with such a plan."""

    def write(**fields):
        path = tmp_path / "plan.json"
        path.write_text(json.dumps(plan_spec() | fields))
        return str(path)

    return write


def order_of(*arguments):
    return cli.make_order(cli.make_parser().parse_args(arguments))


def refusal(capsys, *arguments):
    assert cli.main(list(arguments)) == cli.REFUSED
    return capsys.readouterr().err


ADDRESS = "http://127.0.0.1:1/"
CLOSED = {"model": "closed", "connections": 2, "requests": 9}


@pytest.mark.sockets
def test_the_plan_is_sent_as_it_stands(plan_file):
    steps = [{"method": "GET", "path": f"/{name}"} for name in "abc"]
    with scripted(always(OK_REPLY)) as server:
        address = f"http://127.0.0.1:{server.port}/"
        cli.main([address, "--plan", plan_file(steps=steps, load=CLOSED)])
    assert server.n_requests == 9
    assert {request.split()[1] for request in server.requests} == {b"/a", b"/b", b"/c"}


def test_connections_are_those_of_the_plan_unless_an_option_says_otherwise(plan_file):
    plan = plan_file(load=CLOSED, connection_mode="new")
    assert order_of(ADDRESS, "--plan", plan)["connection_mode"] == "new"
    assert order_of(ADDRESS, "--plan", plan, "--keep-alive")["connection_mode"] == "keep-alive"


def test_a_load_of_each_injector_is_one_of_each_process(plan_file):
    plan = plan_file(load=CLOSED | {"per_injector": True})
    load = order_of(ADDRESS, "--plan", plan, "--processes", "3")["plan"]["load"]
    assert (load["connections"], load["requests"]) == (6, 27)


def test_credentials_of_a_plan_need_their_secret(plan_file, tmp_path, capsys):
    plan = plan_file(load=CLOSED, auth={"kind": "bearer"})
    assert "--secret-file" in refusal(capsys, ADDRESS, "--plan", plan)
    secret = tmp_path / "token"
    secret.write_text("abc")
    order = order_of(ADDRESS, "--plan", plan, "--secret-file", str(secret))
    assert order["secrets"] == {"auth": "abc"}


def test_nothing_else_may_say_what_the_plan_says(plan_file, capsys):
    for option, words in [
        ("--rate=5", "--rate: --plan says that"),
        ("--step=/b", "--step: --plan says that"),
        ("--threshold=p95<1s", "--threshold: --plan says that"),
        ("--calls-per-session=3", "--calls-per-session: --plan says that"),
        ("--warm-up=3", "--warm-up: --plan says that"),
        ("--messages=3", "--messages: --plan says that"),
    ]:
        assert words in refusal(capsys, ADDRESS, "--plan", plan_file(load=CLOSED), option)


def test_what_is_written_and_said_of_a_run_is_no_part_of_its_plan(plan_file):
    beside = ("--hlog", "a", "--requests-csv", "b", "--report", "ab", "--strict")
    order_of(ADDRESS, "--plan", plan_file(load=CLOSED), *beside)


def test_every_option_of_tls_may_stand_beside_a_plan():
    options = ArgumentParser(add_help=False)
    add_tls_options(options)
    assert vars(options.parse_args([])).keys() <= cli_plan._BESIDE_A_PLAN


def test_every_fault_of_a_plan_has_its_line(plan_file, capsys):
    plan = plan_file(load={"model": "open"}, http_version="3")
    lines = refusal(capsys, ADDRESS, "--plan", plan)
    assert "--plan: http_version: " in lines
    assert "--plan: load." in lines
    assert all(": --plan: " in line for line in lines.splitlines())


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"plan": 1}', "[" * 100_000])
def test_what_is_no_plan_is_refused(text, tmp_path, capsys):
    path = tmp_path / "plan.json"
    path.write_text(text)
    lines = refusal(capsys, ADDRESS, "--plan", str(path))
    assert ("--plan: " if text else f"{path}: the file is empty") in lines


SHARED = {"model": "open", "rate_per_s": 5, "requests": 40, "shares": [2, 1, 1]}


@pytest.mark.parametrize(
    ("options", "weights"),
    [(["--processes", "3"], [2, 1, 1]), (["--processes", "2", "--shares", "3,1"], [3, 1])],
)
def test_the_shares_are_the_plan_s_unless_said_otherwise(plan_file, options, weights):
    order = order_of(ADDRESS, "--plan", plan_file(load=SHARED), *options)
    shards = [each["shard"] for each in shared_orders(order, len(weights))]
    assert [shard["weights"] for shard in shards] == [weights] * len(weights)


def test_shares_for_another_number_of_processes_are_refused(capsys, plan_file):
    words = refusal(capsys, ADDRESS, "--plan", plan_file(load=SHARED), "--processes", "2")
    assert "--plan has shares for 3 processes" in words


def paths_sent(*options, first="/a", replies=(OK_REPLY,)):
    """What a server heard, in order, as "METHOD path"."""
    with scripted(always(*replies)) as server:
        address = f"http://127.0.0.1:{server.port}{first}"
        assert cli.main([address, *options]) in {cli.OK, cli.NO_ANSWER}
    lines = [request.split(b"\r\n", 1)[0].decode() for request in server.requests]
    return [line.removesuffix(" HTTP/1.1") for line in lines]


TWO_MORE = ("--step", "/b", "--step", "post /c x=1 y=2")


@pytest.mark.sockets
def test_steps_are_sent_in_turns():
    sent = paths_sent(*TWO_MORE, "--requests", "6")
    assert sent == ["GET /a", "GET /b", "POST /c"] * 2


@pytest.mark.sockets
def test_a_step_has_a_method_a_path_and_a_body_of_text_or_of_a_file(tmp_path):
    body = tmp_path / "order.json"
    body.write_text('{"id": 7}')
    with scripted(always(OK_REPLY)) as server:
        options = ["--step", f"PUT /c @{body}", "--step", "/d a b", "--header", "X-A: 1"]
        cli.main([f"http://127.0.0.1:{server.port}/", "--requests", "3", *options])
    put, post = server.requests[1:]
    assert put.startswith(b"PUT /c ")
    assert put.endswith(b'\r\n\r\n{"id": 7}')
    assert post.startswith(b"POST /d ")
    assert post.endswith(b"\r\n\r\na b")
    assert all(b"\r\nX-A: 1\r\n" in request for request in server.requests)


def test_spaces_within_a_body_stay():
    for step in ["/d", "POST /d", "  post  /d"]:
        assert order("--step", f"{step} a  b\n\tc ")["plan"]["steps"][1]["body"] == "a  b\n\tc "


@pytest.mark.sockets
def test_a_body_of_a_file_is_sent_to_the_byte(tmp_path):
    (tmp_path / "form").write_bytes(b"--x\r\n\r\n1\n--x--\r\n")
    (tmp_path / "rows.csv").write_bytes(b'text\r\n"a\r\nb"\r\n')
    with scripted(always(OK_REPLY)) as server:
        options = ["--body", f"@{tmp_path / 'form'}", "--csv", str(tmp_path / "rows.csv")]
        options += ["--step", "/b ${text}", "--requests", "2"]
        cli.main([f"http://127.0.0.1:{server.port}/", *options])
    bodies = [request.partition(b"\r\n\r\n")[2] for request in server.requests]
    assert bodies == [b"--x\r\n\r\n1\n--x--\r\n", b"a\r\nb"]


@pytest.mark.sockets
def test_a_value_is_taken_out_of_a_reply_and_used():
    for source, reply in [
        ("body t=(\\w+)", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nt=abc"),
        ("header:Token (.*)", b"HTTP/1.1 200 OK\r\nToken: abc\r\nContent-Length: 0\r\n\r\n"),
    ]:
        options = ["--step", "/item/${token}", "--extract", f"1 token {source}", "--requests", "2"]
        assert paths_sent(*options, replies=(reply,)) == ["GET /a", "GET /item/abc"]


@pytest.mark.sockets
def test_only_what_is_expected_is_ok(capsys):
    missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    with scripted(always(missing)) as server:
        address, options = f"http://127.0.0.1:{server.port}/", ["--requests", "200"]
        cli.main([address, *options, "--threshold", "errors<1%", "--expect", "404"])
        assert "passed  errors < 1 %" in capsys.readouterr().out
        cli.main([address, *options, "--threshold", "errors<1%", "--expect", "2xx,301"])
        assert "FAILED  errors < 1 %" in capsys.readouterr().out


def test_handshakes_have_limits_of_their_own():
    limits = order("--connect-timeout", "1", "--tls-timeout", "2", "--timeout", "9")["plan"]
    assert limits["timeouts"] == {"connect_s": 1.0, "tls_s": 2.0, "total_s": 9.0}


def order(*options: str):
    return order_of(ADDRESS, *options)


def test_times_and_rates_may_have_units():
    for options, field, value in [
        ("--duration 2s", "duration_s", 2.0),
        ("--duration 500ms", "duration_s", 0.5),
        ("--duration 2h", "duration_s", 7200.0),
        ("--duration 1.5min", "duration_s", 90.0),
        ("--rate 30/min --requests 9", "rate_per_s", 0.5),
        ("--rate 9/s --requests 9", "rate_per_s", 9.0),
    ]:
        assert order(*options.split())["plan"]["load"][field] == value


@pytest.mark.parametrize(
    "options", ["--duration 2x", "--rate 5s", "--warm-up 500ms", "--warm-up 1e999"]
)
def test_a_unit_that_does_not_fit_is_refused_with_those_that_do(options, capsys):
    with pytest.raises(SystemExit):
        order(*options.split())
    assert ": write " in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--exactly", "--at-most"])
@pytest.mark.parametrize("seconds", ["0", "-1", "1e999"])
def test_a_time_that_turns_cannot_take_is_refused_by_its_option(option, seconds, capsys):
    said = refusal(capsys, ADDRESS, "--against", ADDRESS, f"{option}={seconds}")
    assert f"{option}: " in said


def test_a_pipe_is_read_once_for_all_addresses(plan_file):
    pipe, end = os.pipe()
    with open(pipe, "rb"), open(end, "wb") as file:
        file.write(Path(plan_file(load=CLOSED)).read_bytes())
        file.close()
        options = [ADDRESS, "--against", ADDRESS, "--plan", f"/dev/fd/{pipe}"]
        order = cli.arms_order(cli.make_parser().parse_args(options), cli.make_order)
    assert [arm["plan"]["load"]["requests"] for arm in order["arms"]] == [9, 9]


def test_a_question_mark_without_a_query_is_sent():
    assert order_of(f"{ADDRESS}?")["plan"]["steps"][0]["path"] == "/?"


def test_think_times_are_written_in_three_ways():
    for text, think in [
        ("0.5", {"kind": "constant", "mean_s": 0.5}),
        ("1-3", {"kind": "uniform", "min_s": 1.0, "max_s": 3.0}),
        ("~2", {"kind": "exponential", "mean_s": 2.0}),
        ("500ms-2 s", {"kind": "uniform", "min_s": 0.5, "max_s": 2.0}),
    ]:
        assert order("--think-time", text)["plan"]["session"]["think_time"] == think


@pytest.mark.sockets
def test_a_secret_comes_from_a_file_only(tmp_path, capsys):
    secret = tmp_path / "token"
    secret.write_text("abc.def\n")
    with scripted(always(OK_REPLY)) as server:
        address = f"http://127.0.0.1:{server.port}/"
        options = ["--bearer", "--secret-file", str(secret), "--requests", "2"]
        assert cli.main([address, *options]) == cli.OK
    assert all(b"Authorization: Bearer abc.def" in request for request in server.requests)
    assert "abc.def" not in "".join(capsys.readouterr())
    assert cli.main([address, "--bearer"]) == cli.REFUSED


def test_calls_cookies_and_pipelines_reach_the_plan():
    arriving = "--rate 5 --requests 9 --arrival-unit session --calls-per-session 2"
    session = order(*arriving.split(), "--retry-on-failure")["plan"]["session"]
    assert session["retry_on_failure"] is True
    options = "--calls-per-connection 4 --calls-per-session 8 --cookies --pipeline 2 --all-at-once"
    session = order(*options.split())["plan"]["session"]
    assert (session["calls_per_connection"], session["calls_per_session"]) == (4, 8)
    assert (session["cookies"], session["pipeline_depth"]) == (True, 2)
    assert session["first_call_alone"] is False
