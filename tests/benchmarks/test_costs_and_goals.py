"""The benchmark's own arithmetic: what a request cost, and whether a goal is met."""

import json

import pytest

from benchmarks import http2, injector_cost, peers
from benchmarks.accuracy import compared, nearest_rank
from benchmarks.http2 import h2load_cost_us
from benchmarks.injector_cost import CASES, CONNECTIONS, k6_cost_us, lines_of, locust_cost_us
from benchmarks.selection import Selection
from benchmarks.servers import Server

pytestmark = pytest.mark.pure

KEPT = CASES[0]


def said(**facts):
    return json.dumps({"requests": 1000 + CONNECTIONS, "failures": 0, **facts})


def test_locusts_cost_is_what_it_used_since_the_load_began():
    output = f"Type Name # reqs\n{said(requests=2000, cpu_us=300_000.0)}\nResponse time\n"
    assert locust_cost_us(output, 9e9) == 150


def test_of_k6_a_run_of_one_request_each_is_taken_off():
    assert k6_cost_us(said(), cpu_us=130_000, start_us=50_000) == 80


def test_failed_requests_make_no_figure():
    with pytest.raises(RuntimeError, match="5 of 1032 requests failed"):
        k6_cost_us(said(failures=5), 1.0, 0.0)


def test_a_case_is_beside_the_c_tools_and_each_peer_has_a_line():
    costs = {"ours": 10.0, "wrk": 8.0, "ab": 5.0, "locust": 99.0, "k6": 41.0}
    kept, locust, k6 = lines_of(KEPT, costs)
    assert (kept.measured, kept.is_met) == ("10.0 µs, wrk 8.0 (1.25 ×), ab 5.0 (2.00 ×)", True)
    assert (locust.measured, locust.is_met) == ("locust 99.0 µs; ours is 1/9.9 of it", False)
    assert (k6.goal, k6.is_met) == ("≤ 1/4 of k6's", True)


def test_a_peer_that_is_away_is_named_with_the_way_to_get_it():
    _, locust, k6 = lines_of(KEPT, {"ours": 10.0, "wrk": 8.0})
    assert locust.measured == k6.measured == "not here; `make benchmark-peers` gets it"
    assert locust.is_met is k6.is_met is None


def test_without_the_tool_of_a_goal_nothing_is_claimed():
    assert next(lines_of(KEPT, {"ours": 10.0})).is_met is None


def test_k6_and_locust_run_only_where_there_is_a_goal_for_them():
    takers = [case.name for case in CASES if case.takes("k6") or case.takes("locust")]
    assert takers == ["keep-alive"]


def test_peers_are_found_in_their_own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHSITE_VAR", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    assert peers.find("k6") is None
    program = tmp_path / "peers" / "bin" / "k6"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert peers.find("k6") == str(program)


@pytest.mark.parametrize(
    ("asked", "wanted", "unwanted"),
    [
        (set(), {"accuracy", "keep-alive", "websocket"}, set()),
        ({"accuracy"}, {"accuracy"}, {"keep-alive", "cost", "open-loop"}),
        ({"cost"}, {"keep-alive", "full-tls-handshake"}, {"accuracy", "open-loop"}),
        ({"keep-alive-tls-1.3"}, {"keep-alive-tls-1.3"}, {"keep-alive", "new-connection"}),
        ({"pages"}, {"live", "watched", "costs", "large-pages", "chromium"}, {"accuracy", "words"}),
        ({"large-pages"}, {"large-pages"}, {"pages", "costs"}),
    ],
)
def test_parts_of_the_table_can_be_asked_for(asked, wanted, unwanted):
    selection = Selection(frozenset(asked))
    assert all(map(selection.wants, wanted))
    assert not any(map(selection.wants, unwanted))


def test_what_only_the_site_needs_starts_no_server_for_the_injector():
    assert not Selection(frozenset({"pages"})).wants_the_injector
    assert Selection(frozenset({"pages", "cost"})).wants_the_injector


def test_every_case_can_be_named():
    assert len({injector_cost.slug(case) for case in CASES}) == len(CASES)


def test_handshakes_with_a_goal_share_the_key_that_ab_and_wrk_share():
    of_tls = [case for case in CASES if case.scheme == "https" and case.is_new]
    assert {case.groups.split(":")[0] for case in of_tls if case.goals} == {"X25519"}
    assert {case.groups for case in of_tls if not case.goals} == {""}
    command, _ = injector_cost.ours(of_tls[0], Server("a server", 1, 2))
    assert command[command.index("--groups") + 1] == of_tls[0].groups


def test_a_resumed_session_is_compared_with_a_full_handshake_of_the_same_kind():
    (resumed,) = (case for case in CASES if case.name == injector_cost.AGAIN)
    server = Server("a server", 1, 2)
    commands = [tool(resumed, server)[0] for tool in (injector_cost.ours, injector_cost.ours_full)]
    assert "--resume" in commands[0]
    assert commands[1] == [
        "--new-connection" if word == "--resume" else word for word in commands[0]
    ]


def test_a_peer_without_a_single_request_makes_no_figure():
    with pytest.raises(RuntimeError, match="no request has ended"):
        locust_cost_us('{"requests": 0, "failures": 0, "cpu_us": 1.0}', 0.0)


def test_a_percentile_is_the_nearest_rank():
    assert [nearest_rank([1.0, 2.0, 3.0, 4.0], q) for q in (0.5, 0.51, 0.99)] == [2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("seen_ms", "true_ms", "is_met"),
    [(20.19, 20.0, True), (20.21, 20.0, False), (19.7, 20.0, False), (101.0, 100.0, True)],
)
def test_a_percentile_may_be_off_by_one_percent_or_a_fifth_of_a_millisecond(
    seen_ms, true_ms, is_met
):
    assert compared("p50", seen_ms, true_ms).is_met is is_met


def test_of_h2load_only_a_run_without_failures_makes_a_figure():
    line = "requests: 12 total, 12 started, 10 done, {} succeeded, 0 failed, 0 errored, 0 timeout"
    assert h2load_cost_us(line.format(10), 80.0) == 8.0
    with pytest.raises(RuntimeError, match="10 done, of which 9"):
        h2load_cost_us(line.format(9), 80.0)


def test_each_case_of_http_2_asks_for_its_connections_and_streams():
    asked = [injector_cost.ours(case, Server("a server", 1, 2))[0] for case in http2.CASES]
    shapes = [
        tuple(words[words.index(option) + 1] for option in ("--connections", "--streams"))
        for words in asked
    ]
    assert shapes == [("4", "32"), ("32", "1")] * 2
    assert not any("--groups" in words for words in asked)


def test_http_2_is_beside_h2load_and_over_tls_beside_k6():
    assert {case.name: set(case.goals) for case in http2.CASES} == {
        "4 × 32, clear text": {"h2load"},
        "32 × 1, clear text": {"h2load"},
        "4 × 32, TLS": {"h2load", "k6"},
        "32 × 1, TLS": {"h2load", "k6"},
    }
