"""Sessions and credentials on the command line."""

import pytest

from tests.injector.servers import OK_REPLY, always, scripted
from tests.injector.test_cli import never_starved
from workers.injector import cli


def order(*options: str):
    return cli.make_order(cli.make_parser().parse_args(["http://127.0.0.1:1/", *options]))


@pytest.mark.parametrize(
    ("text", "think"),
    [
        ("0.5", {"kind": "constant", "mean_s": 0.5}),
        ("1-3", {"kind": "uniform", "min_s": 1.0, "max_s": 3.0}),
        ("~2", {"kind": "exponential", "mean_s": 2.0}),
    ],
)
def test_think_times_are_written_in_three_ways(text, think):
    assert order("--think-time", text)["plan"]["session"]["think_time"] == think


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


SESSIONS = "--rate 20 --duration 0.5 --arrival-unit session --calls-per-session 2 --think-time 0.3"


@pytest.mark.parametrize(
    ("rule", "status", "words"),
    [
        ("session_p95<20s", cli.OK, "passed  session_p95 < 20 s"),
        ("session_p50<300ms", cli.BROKEN, "FAILED  session_p50 < 300 ms"),
        ("sessions_failed<1%", cli.OK, "passed  sessions_failed < 1 %"),
    ],
)
def test_rules_about_sessions_decide_the_exit_status(rule, status, words, capsys):
    with scripted(always(OK_REPLY)) as server, never_starved():
        address = f"http://127.0.0.1:{server.port}/"
        assert cli.main([address, *SESSIONS.split(), "--threshold", rule]) == status
    assert words in capsys.readouterr().out


def test_calls_cookies_and_pipelines_reach_the_plan():
    arriving = "--rate 5 --requests 9 --arrival-unit session --calls-per-session 2"
    session = order(*arriving.split(), "--retry-on-failure")["plan"]["session"]
    assert session["retry_on_failure"] is True
    options = "--calls-per-connection 4 --calls-per-session 8 --cookies --pipeline 2 --all-at-once"
    session = order(*options.split())["plan"]["session"]
    assert (session["calls_per_connection"], session["calls_per_session"]) == (4, 8)
    assert (session["cookies"], session["pipeline_depth"]) == (True, 2)
    assert session["first_call_alone"] is False
