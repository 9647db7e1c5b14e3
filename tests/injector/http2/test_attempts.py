"""Requests over HTTP/2 on real sockets, counted against the ledger of `h2`'s server."""

import time

from tests.injector.http2.h2_server import h2_server, ok
from tests.injector.servers import LateReader, always, closed, make_order, measure, scripted
from workers.injector.http2 import frames
from workers.injector.http2.frames import DEFAULT_WINDOW, LARGEST_WINDOW, encode
from workers.injector.summary import run_here

# Never reached, also on a machine that does much else.
SLOW = {"connect_s": 60, "tls_s": 60, "total_s": 60}
LOADS = {
    "closed": {"model": "closed", "connections": 3, "requests": 41},
    "open": {"model": "open", "rate_per_s": 400, "requests": 40, "max_in_flight": 50},
    "over": {"model": "over", "requests": 30, "over_s": 0.1, "max_in_flight": 20},
    "sequential": {"model": "sequential", "requests": 15},
}


def run(port, streams=4, plan=(), **fields):
    fields = {"timeouts": SLOW} | fields
    return measure(port, plan={"http_version": "2", "streams": streams, **dict(plan)}, **fields)


def counts(result, *names):
    return tuple(result.total.count(name) for name in names)


def test_what_is_counted_is_what_the_server_saw(server_tls):
    for model in LOADS:
        for mode in ["keep-alive", "new", "resumed"]:
            for scheme in ["http", "https"]:
                tls = server_tls if scheme == "https" else None
                streams = 1 if model == "sequential" else 4
                with h2_server(tls=tls) as (server, answers):
                    result = run(server.port, streams, load=LOADS[model], mode=mode, scheme=scheme)
                n_requests = LOADS[model]["requests"]
                assert counts(result, "ok", "started", "failed") == (n_requests, n_requests, 0)
                assert (answers.n_requests, result.total.errors) == (n_requests, {})
                assert result.total.count("connections_opened") == server.n_connections
                assert result.total.statuses == {"200": n_requests}
                handshakes = sum(counts(result, "tls_full", "tls_resumed"))
                assert handshakes == (server.n_connections if tls else 0)
                if mode != "keep-alive":
                    assert server.n_connections == n_requests
                if mode == "resumed" and tls and model == "sequential":
                    assert result.total.count("tls_resumed") == n_requests - 1


def test_a_closed_load_keeps_all_streams_of_its_connections_busy():
    with h2_server() as (server, answers):
        result = run(server.port, streams=8, load=closed(400, 2))
    assert (server.n_connections, answers.most_at_once) == (2, 8)
    total = result.total
    assert total.timing("connect").n == 2
    assert total.timing("wait").n == 400
    assert result.ends[0].connections_at_once == 2


def test_the_servers_limit_of_streams_is_kept():
    with h2_server(most_streams=3) as (server, answers):
        result = run(server.port, streams=16, load=closed(200, 1))
    assert counts(result, "ok", "failed", "replayed") == (200, 0, 0)
    assert (server.n_connections, answers.most_at_once) == (1, 3)


def test_a_server_that_allows_fewer_streams_than_the_plan_has_is_named():
    with h2_server(most_streams=1) as (server, _):
        result = run(server.port, streams=20, load=closed(40, 2))
    (note,) = (each for each in result.judgement.notes if each.code == "streams_limit")
    assert "allows 1 stream at a time" in note.text
    assert "The plan has 20" in note.text


def test_who_waits_for_a_stream_has_its_turn():
    """Also where that takes longer than any request may: nothing has begun for it yet."""
    timeouts = {"connect_s": 0.3, "tls_s": 0.3, "total_s": 0.3}

    def slow(headers, body):
        time.sleep(0.01)
        return ok(headers, body)

    with h2_server(slow, most_streams=1) as (server, answers):
        load = {"model": "closed", "connections": 1, "duration_s": 1.5}
        result = run(server.port, streams=4, load=load, timeouts=timeouts)
    assert (result.total.errors, answers.most_at_once) == ({}, 1)
    assert counts(result, "ok") == counts(result, "started") == (answers.n_requests,)


def test_arrivals_open_another_connection_where_the_server_allows_few_streams():
    def slow(headers, body):
        time.sleep(0.02)
        return ok(headers, body)

    load = {"model": "open", "rate_per_s": 200, "requests": 60, "max_in_flight": 60}
    with h2_server(slow, most_streams=2) as (server, answers):
        result = run(server.port, streams=32, load=load)
    assert counts(result, "ok", "failed") == (60, 0)
    assert answers.most_at_once <= 2
    assert server.n_connections > 1


def test_requests_that_a_goodbye_leaves_out_go_again():
    with h2_server(requests_per_connection=10) as (server, answers):
        result = run(server.port, streams=4, load=closed(95, 1), method="POST")
    assert counts(result, "ok", "failed") == (95, 0)
    assert answers.n_requests == 95
    assert server.n_connections >= 10
    assert result.total.count("replayed") > 0
    sent = 95 * len_of_request(answers)
    replays = result.total.count("replayed")
    assert result.total.count("bytes_sent") - sent == replays * len_of_request(answers)


def len_of_request(answers):
    return 9 + len(encode(list(answers.requests[0].items())))


def test_heads_and_bodies_are_sent_whole():
    text = "é" * 100_000
    step = {"method": "PUT", "path": "/a?b=%20", "body": text, "headers": [["X-One", "ä, b"]]}
    with h2_server() as (server, answers):
        result = run(server.port, load=closed(20, 1), steps=[step])
    assert counts(result, "ok", "failed") == (20, 0)
    assert set(answers.bodies) == {text.encode()}
    assert answers.requests[0] == {
        ":method": "PUT",
        ":scheme": "http",
        ":authority": f"127.0.0.1:{server.port}",
        ":path": "/a?b=%20",
        "user-agent": "benchsite",
        "accept": "*/*",
        "accept-encoding": "identity",
        "x-one": "ä, b",
        "content-length": "200000",
    }
    # 13 DATA frames at least; how the windows cut them is counted as it was.
    per_request = result.total.count("bytes_sent") / 20
    assert 200_000 + 13 * 9 < per_request < 200_000 + 40 * 9 + 300


def test_replies_are_counted_by_head_body_and_framing():
    def large(headers, body):
        return 200, [("server", "x")], b"x" * 40_000

    with h2_server(large) as (server, _):
        total = run(server.port, load=closed(10, 1)).total
    assert total.count("body_received") == 400_000
    assert total.count("framing_received") == 10 * 9 * 3
    whole = sum(total.count(f"{part}_received") for part in ("head", "body", "framing"))
    assert whole == total.count("bytes_received")


def test_a_status_that_is_not_expected_is_shown_with_its_reply():
    def missing(headers, body):
        return 404, [("server", "x"), ("set-cookie", "session=1")], b"nothing here"

    seconds = []
    with h2_server(missing) as (server, _):
        order = make_order(server.port, load=closed(5), plan={"http_version": "2"})
        result = run_here(order, seconds.append)
    assert result.total.errors == {"status_unexpected": 5}
    assert result.total.statuses == {"404": 5}
    (example,) = [each for second in seconds for each in second.examples]
    assert example["request"].startswith("GET / HTTP/2\nhost: 127.0.0.1")
    assert example["reply"] == "404\nserver: x\nset-cookie: session=[hidden]\n\nnothing here"


def test_variables_cookies_and_values_from_replies():
    def login(headers, body):
        if headers[":path"].startswith("/login"):
            return 200, [("set-cookie", "id=7")], b"token=abc;"
        return 200, [], b"ok"

    steps = [
        {"method": "GET", "path": "/login?u=${user}", "extract": [
            {"name": "token", "from": "body", "pattern": "token=([a-z]+)"}]},
        {"method": "GET", "path": "/page?t=${token}"},
    ]  # fmt: skip
    plan = {"session": {"cookies": True}, "variables": {"csv": "user\na\nb"}}
    with h2_server(login) as (server, answers):
        result = run(server.port, 2, plan, load=closed(40, 1), steps=steps)
    assert counts(result, "ok", "failed", "extract_missed") == (40, 0, 0)
    pages = [request for request in answers.requests if request[":path"] == "/page?t=abc"]
    # Two users take turns in no order; each goes from one step to the other.
    assert 19 <= len(pages) <= 20
    assert {request.get("cookie") for request in pages} == {"id=7"}


def test_a_value_of_a_table_is_sent_without_the_spaces_around_it():
    step = {"path": "/", "headers": [["X-Shop", "${shop}"]]}
    table = {"csv": "shop\n north\nsouth\t\n a b \n"}
    with h2_server() as (server, answers):
        result = run(server.port, 1, {"variables": table}, steps=[step], load=closed(3, 1))
    assert (counts(result, "ok"), result.total.errors) == ((3,), {})
    assert [request["x-shop"] for request in answers.requests] == ["north", "south", "a b"]


def test_a_server_of_http_1_only_is_told_apart(server_tls):
    with scripted(always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")) as server:
        assert run(server.port, load=closed(3, 1)).total.errors == {"h2_not_spoken": 3}
    with scripted(always(b"x"), server_tls) as server:
        result = run(server.port, load=closed(3, 1), scheme="https")
    assert result.total.errors == {"h2_not_spoken": 3}


def test_with_alpn_off_http_2_is_taken_for_granted(server_tls):
    with h2_server(tls=server_tls) as (server, _):
        result = run(server.port, load=closed(5, 1), scheme="https", tls={"alpn": False})
    assert counts(result, "ok", "failed") == (5, 0)


def test_what_a_server_had_not_taken_at_the_limit_is_not_sent_later():
    settings = frames.settings({frames.INITIAL_WINDOW_SIZE: LARGEST_WINDOW})
    late = LateReader(settings + frames.window_update(0, LARGEST_WINDOW - DEFAULT_WINDOW))
    limits = dict.fromkeys(("connect_s", "tls_s", "total_s"), 0.5)
    with scripted(late.script) as server:
        upload = {"method": "POST", "body": "x" * 2**20}
        result = run(server.port, load=closed(1), timeouts=limits, **upload)
        assert late.how_it_ended() is ConnectionResetError
    assert result.total.count("failed") == 1
