"""The command line, as a person uses it."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from math import inf
from types import SimpleNamespace
from unittest import mock

from campaigns.domain.analysis.criteria import CRITERIA, Aspect, Limits
from campaigns.domain.analysis.judgement import LIMITS
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.presentation.metrics import METRICS
from tests.injector.servers import OK_REPLY, always, scripted
from tests.injector.test_loads import Arrivals
from tests.injector.websocket.peers import echo
from tests.waiting import eventually
from workers.injector import cli, connection
from workers.injector.cli_plan import make_load

# All but what has no limit in time or CPU: by these a busy machine is found.
TIMED = {code for code, row in CRITERIA.items() if row.aspect == Aspect.MEASUREMENT} - {
    "injector_exhausted",
    "injector_failed",
    "no_seconds",
    "missing_seconds",
}

SESSIONS = "--rate 20 --duration 0.5 --arrival-unit session --calls-per-session 2 --think-time 0.3"


def run(*arguments):
    """What the command says, and its exit status. In this process: an own one takes longer to
    import everything than most of what is asked of it here.
    """
    output, errors = io.StringIO(), io.StringIO()
    words = [str(each) for each in arguments]
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            status = cli.main(words)
        except SystemExit as refusal:
            status = refusal.code
    return subprocess.CompletedProcess(words, status, output.getvalue(), errors.getvalue())


def start(*arguments):
    """The same in a process of its own, as a person starts it, under way."""
    command = [sys.executable, "-m", "workers.injector", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)


def run_unstarved(*arguments):
    """The command on a machine that is never starved."""
    with mock.patch.dict(LIMITS.overrides, dict.fromkeys(TIMED, Limits(inf, inf))):
        return run(*arguments)


def test_the_options_name_a_load_model():
    for arguments, load in [
        ("", {"model": "closed", "connections": 1, "requests": 1}),
        ("--connections 4 --duration 2", {"model": "closed", "connections": 4, "duration_s": 2.0}),
        ("--ramp-up 2", {"model": "closed", "connections": 1, "requests": 1, "ramp_up_s": 2.0}),
        (
            "--connections 3 --requests 9 --start-offset 1",
            {"model": "closed", "connections": 3, "requests": 9, "start_offset_s": 1},
        ),
        ("--requests 9 --over 3", {"model": "over", "requests": 9, "over_s": 3.0}),
        ("--rate 5 --duration 2", {"model": "open", "rate_per_s": 5.0, "duration_s": 2}),
        (
            "--rate 5 --requests 9 --max-in-flight 2 --when-saturated drop",
            {"model": "open", "rate_per_s": 5, "requests": 9, "max_in_flight": 2}
            | {"when_saturated": "drop"},
        ),
        (
            "--rate 5 --requests 9 --arrival-unit connection",
            {"model": "open", "rate_per_s": 5, "requests": 9, "arrival_unit": "connection"},
        ),
        (
            "--distribution uniform --uniform-min 1 --uniform-max 3 --requests 9",
            {"model": "open", "uniform_min_s": 1, "uniform_max_s": 3, "requests": 9}
            | {"distribution": "uniform"},
        ),
        (
            "--stages 30:10,60:10-50",
            {
                "model": "open",
                "stages": [
                    {"duration_s": 30, "from_per_s": 10, "to_per_s": 10},
                    {"duration_s": 60, "from_per_s": 10, "to_per_s": 50},
                ],
            },
        ),
        (
            "--low 2 --high 4 --requests 9 --hold keep_s --hold-s 3",
            {"model": "window", "low": 2, "high": 4, "requests": 9, "hold": "keep_s", "hold_s": 3},
        ),
    ]:
        options = cli.make_parser().parse_args(["http://127.0.0.1/", *arguments.split()])
        fields = {name: value for name, value in make_load(options).items() if value is not None}
        assert fields == load


def test_json_is_one_object_with_every_figure():
    with scripted(always(OK_REPLY)) as server:
        url = f"http://127.0.0.1:{server.port}/a?b=c"
        done = run_unstarved(url, "--requests", 50, "--json")
    summary = json.loads(done.stdout)
    assert done.returncode == 0
    assert (summary["metrics"]["n"], summary["metrics"]["errors"]) == (50, 0)
    assert set(summary["metrics"]) <= set(METRICS)
    assert summary["metrics"]["p95"] is None, "two requests lie beyond it: it is not shown"
    # On a busy machine they end in two seconds, of which the quieter has too few for a p90.
    assert {"mean", "p50"} <= set(summary["low"]) <= {"mean", "p50", "p90"}
    assert all(low <= summary["metrics"][name] for name, low in summary["low"].items())
    response = summary["timings_ms"]["response"]
    assert response["n"] == 50
    assert {"mean", "min", "p50", "p90", "p95", "p99", "max"} <= set(response)
    parts = {"connect", "send", "wait", "receive"}
    sums = {"response", "service", "processing"}
    assert set(summary["timings_ms"]) - {"hub_lag"} == {*sums, *parts, "sampled", "undelayed"}
    assert summary["cpu_us_per_request"] > 0
    assert server.requests[0].startswith(b"GET /a?b=c HTTP/1.1\r\n")


def test_several_processes_share_one_load():
    for processes in [1, 2]:
        with scripted(always(OK_REPLY)) as server:
            url = f"http://127.0.0.1:{server.port}/"
            load = ("--requests", 101, "--over", 1)
            done = run(url, *load, "--processes", processes, "--json")
        summary = json.loads(done.stdout)
        assert (summary["counters"]["ok"], server.n_requests) == (101, 101)
        assert summary["timings_ms"]["lateness"]["n"] == 101
        assert 0.9 < summary["metrics"]["duration"] < 1.5


def test_a_report_in_the_style_of():
    for report, words in [
        ("plain", "20 requests"),
        ("httperf", "Total: connections 1 requests 20 replies 20"),
        ("ab", "Complete requests:      20"),
    ]:
        with scripted(always(OK_REPLY)) as server:
            done = run(f"http://127.0.0.1:{server.port}/", "--requests", 20, "--report", report)
        assert words in done.stdout


def test_it_refuses_with_the_option_that_is_wrong_and_status_2():
    for arguments, words in [
        ("ftp://127.0.0.1/", "not an address"),
        ("http://127.0.0.1:99999/", "not an address"),
        ("http://[::1:80/", "not an address"),
        ("http://u:p@127.0.0.1/", "user and password"),
        ("http://127.0.0.1:1/ --rate 1", "--requests"),
        ("http://127.0.0.1:1/ --rate 5 --requests 9 --connections 4", "--connections"),
        ("http://127.0.0.1:1/ --timeout 0", "--timeout"),
        ("http://127.0.0.1:1/ --processes 100000", "--processes"),
        ("http://127.0.0.1:1/ --shares 2,1", "2 numbers for 1"),
        ("http://127.0.0.1:1/ --body @/no/such/file", "/no/such/file"),
        ("http://127.0.0.1:1/ --csv /dev/null", "/dev/null: the file is empty"),
        ("http://127.0.0.1:1/ --value id", "--value: 'id' cannot be made"),
        ("http://127.0.0.1:1/ --step GET", "--step"),
        ("http://127.0.0.1:1/ --weights a,b", "--weights"),
        ("http://127.0.0.1:1/ --connect-timeout 9 --timeout 3", "--connect-timeout"),
        ("http://127.0.0.1:1/ --think-time soon", "--think-time"),
        ("http://127.0.0.1:1/ --threshold p95>300ms", "p95"),
        ("http://127.0.0.1:1/ --messages 3", "--messages"),
        ("http://127.0.0.1:1/ --allow everything", "--allow"),
        ("ws://127.0.0.1:1/ --close-code 1005", "--close-code"),
        ("ws://127.0.0.1:1/ --cookies", "--cookies"),
        ("https://127.0.0.1:1/ --groups nonsense", "--groups"),
        ("https://127.0.0.1:1/ --fingerprint zz", "--fingerprint"),
        ("https://127.0.0.1:1/ --ca-file pyproject.toml", "--ca-file"),
        ("https://127.0.0.1:1/ --tls-min 1.3 --tls-max 1.2", "--tls-max"),
        ("http://198.18.0.1/ --processes 2", "--allow"),
        ("http://169.254.169.254/ --allow 0.0.0.0/0", "no load is ever sent there"),
    ]:
        done = run(*arguments.split())
        assert done.returncode == 2
        assert words in done.stderr
        assert len(lines := done.stderr.splitlines()) == len(set(lines))


def test_errors_of_this_machine_are_no_usable_measurement():
    def no_socket(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    with mock.patch.object(connection, "Socket", no_socket):
        done = run("http://127.0.0.1:9/", "--requests", 2)
    assert done.returncode == 3
    assert "Measurement: no answer" in done.stdout


def test_ctrl_c_ends_it_with_what_all_processes_measured():
    # The first has 60 of them, and ends long before there are 300.
    options = "--requests 6000 --connections 2 --processes 2 --shares 1,99"
    with scripted(Arrivals(service_s=0.01)) as server:
        process = start(f"http://127.0.0.1:{server.port}/", "--json", *options.split())
        eventually(lambda: server.n_requests >= 300, 30, "300 requests")
        os.kill(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    assert process.returncode in {cli.OK, cli.NO_ANSWER}, errors
    assert json.loads(output)["counters"]["ok"] == server.n_requests


def test_a_refusing_target_is_a_result_too():
    done = run_unstarved("http://127.0.0.1:9/", "--requests", 3, "--json")
    answer = json.loads(done.stdout)["judgement"]
    assert done.returncode == 0
    assert (answer["measurement"]["state"], answer["target"]["state"]) == ("trusted", "failing")
    assert "(connection refused)" in answer["target"]["reasons"][0]["text"]
    assert answer["precision"]["state"] == "none"


def test_a_broken_threshold_is_exit_status_1():
    for options, status in [
        ("--rate 300 --duration 0.5 --threshold p95<10s", 0),
        ("--rate 300 --duration 0.5 --threshold rate>1000000", 1),
        (f"{SESSIONS} --threshold session_p95<20s --threshold sessions_failed<1%", 0),
        (f"{SESSIONS} --threshold session_p50<300ms", 1),
    ]:
        with scripted(always(OK_REPLY)) as server:
            done = run_unstarved(f"http://127.0.0.1:{server.port}/", *options.split())
        assert done.returncode == status, done.stdout
        assert ("FAILED" in done.stdout) == bool(status)


def test_an_open_threshold_passes_unless_it_is_strict():
    """As in jobs: what a busy machine may have broken has ends that were learnt."""
    rule = SimpleNamespace(is_broken=False, is_open=True)
    run_of = partial(SimpleNamespace, verdicts=[rule])
    usable, useless = (SimpleNamespace(is_usable=each) for each in (True, False))
    assert cli._status(run_of(judgement=usable), is_strict=False) == cli.OK
    assert cli._status(run_of(judgement=usable), is_strict=True) == cli.NO_ANSWER
    assert cli._status(run_of(judgement=useless), is_strict=False) == cli.NO_ANSWER
    rule.is_broken = True
    assert cli._status(run_of(judgement=usable), is_strict=True) == cli.BROKEN


def test_too_close_to_call_passes_unless_it_is_strict():
    open_one = SimpleNamespace(word=Word.OPEN)
    answer = {"comparisons": [open_one], "has_learnt": True, "failures": []}
    arms = SimpleNamespace(**answer, report=lambda: "")
    both = "http://127.0.0.1:1/", "--against", "http://127.0.0.1:2/"
    with mock.patch.object(cli, "run_arms", return_value=arms):
        assert run(*both).returncode == cli.OK
        assert run(*both, "--strict").returncode == cli.NO_ANSWER


def test_numbers_of_each_process_are_multiplied():
    with scripted(always(OK_REPLY)) as server:
        url = f"http://127.0.0.1:{server.port}/"
        done = run(url, "--requests", 20, "--processes", 2, "--per-process", "--json")
    assert json.loads(done.stdout)["counters"]["ok"] == 40, done.stderr


def test_the_object_of_a_websocket_s_run_has_the_messages():
    with scripted(echo()) as server:
        done = run(f"ws://127.0.0.1:{server.port}/", "--messages", 3, "--json", "--binary")
    summary = json.loads(done.stdout)
    assert summary["counters"]["messages_sent"] == summary["counters"]["messages_received"] == 3
    assert summary["counters"]["close_code_1000"] == 1
    assert summary["timings_ms"]["message"]["n"] == 3


def test_a_pasted_file_says_what_is_sent_and_what_is_left_out(tmp_path):
    with scripted(always(OK_REPLY)) as server:
        url, pin = f"http://shop.example:{server.port}", f"shop.example:{server.port}:127.0.0.1"
        usual = f"--resolve {pin} -u ann:s3"
        text = f"curl '{url}/a' --resolve {pin} -H 'TE: x' --next '{url}/b' -X PURGE {usual} | jq"
        file = tmp_path / "request.txt"
        file.write_text(text)
        done = run(f"@{file}", "--requests", 2, "--header", "X-A: 1")
    assert done.returncode in {0, 3}, done.stderr
    assert "Left out: the header TE, what follows the pipe (| jq)." in done.stderr
    first, second = server.requests
    assert "Its credentials go with every request." in done.stderr
    assert first.startswith(b"GET /a HTTP/1.1\r\nHost: shop.example:")
    assert second.startswith(b"PURGE /b HTTP/1.1\r\n")
    assert b"X-A: 1\r\n" in first
    assert b"Authorization: Basic YW5uOnMz\r\n" in second
