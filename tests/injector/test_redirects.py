"""Redirects that are followed: what is sent where, what is timed, and where nothing may be sent."""

import contextlib
import socket
import time

from campaigns.domain.metrics.outcomes import Kind
from tests.injector.authority import issue, server_context
from tests.injector.servers import OK_REPLY, closed, measure, probe_order, scripted
from workers.injector import lookup, probe
from workers.injector.order import Order

SAME, ALL = {"redirects": "same_origin"}, {"redirects": "all"}
PARTS = ("redirects", "dns", "connect", "tls", "send", "wait", "receive")


def to(location, status=302, *headers, body=b"gone"):
    lines = [f"HTTP/1.1 {status} X", f"Location: {location}", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


def routes(replies, delay_s=0.0):
    """Answers by path; a path that has none gets 200."""

    def script(sock, server):
        while (request := server.read_request(sock)) is not None:
            time.sleep(delay_s)
            sock.sendall(replies.get(request.split(b" ")[1].decode(), OK_REPLY))

    return script


def lines_of(server):
    return [request.split(b" HTTP/")[0].decode() for request in server.requests]


def header(request, name):
    lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    pairs = (line.split(": ", 1) for line in lines)
    return next((value for key, value in pairs if key.lower() == name.lower()), None)


def test_a_request_ends_with_the_reply_behind_its_redirects():
    for mode in ["keep-alive", "new"]:
        chain = {"/a": to("/b"), "/b": to("c?x=1#top", 307)}
        with scripted(routes(chain)) as server:
            result = measure(server.port, load=closed(5), path="/a", plan=SAME, mode=mode)
        total = result.total
        assert lines_of(server) == ["GET /a", "GET /b", "GET /c?x=1"] * 5
        assert (total.count("ok"), total.statuses, total.errors) == (5, {"200": 5}, {})
        assert total.count("redirects") == 10
        assert server.n_connections == (1 if mode == "keep-alive" else 15)
        assert total.count("bytes_sent") == sum(map(len, server.requests))
        replies = [len(each) for each in (chain["/a"], chain["/b"], OK_REPLY)]
        assert total.count("bytes_received") == 5 * sum(replies)


def test_each_redirect_has_its_time_and_all_add_up_to_the_response():
    for mode in ["keep-alive", "new"]:
        chain = {"/a": to("/b"), "/b": to("/c")}
        with scripted(routes(chain, delay_s=0.02)) as server:
            total = measure(server.port, load=closed(4), path="/a", plan=SAME, mode=mode).total
        hops = [total.timing(f"hop_{nth}") for nth in range(3)]
        assert [hop.n for hop in hops] == [4, 4, 4]
        assert min(hop.min_us for hop in hops) >= 20_000
        response = total.timing("response").sum_us
        assert response == sum(hop.sum_us for hop in hops)
        assert response == sum(total.timing(part).sum_us for part in PARTS)
        assert total.timing("redirects").sum_us == hops[0].sum_us + hops[1].sum_us


def test_replies_that_do_not_redirect_keep_their_time_beside_those_that_do():
    steps = [{"path": "/a"}, {"path": "/plain"}]
    with scripted(routes({"/a": to("/b")})) as server:
        total = measure(server.port, load=closed(10), steps=steps, plan=SAME).total
    assert (total.timing("response").n, total.timing("hop_1").n) == (10, 5)
    parts = sum(total.timing(part).sum_us for part in PARTS)
    assert total.timing("response").sum_us == parts


def test_each_kept_request_has_its_redirects_as_a_part():
    steps = [{"path": "/a"}, {"path": "/plain"}]
    with scripted(routes({"/a": to("/b")}, delay_s=0.01)) as server:
        result = measure(server.port, load=closed(6), steps=steps, plan=SAME)
    rows = result.kept_requests.rows
    assert [row.redirects_us is not None for row in rows] == [True, False] * 3
    for row in rows:
        assert sum(row.parts_us.values()) == row.response_us


def test_method_and_body_follow_as_in_a_browser():
    for status, method, after in [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (302, "PUT", "PUT"),
        (303, "HEAD", "HEAD"),
    ]:
        step = {"method": method, "path": "/a", "headers": [["Content-Type", "text/x"]]}
        reply = to("/b", status, body=b"") if method == "HEAD" else to("/b", status)
        step["body"] = "" if method == "HEAD" else "hello"
        end = b"HTTP/1.1 204 N\r\n\r\n"
        with scripted(routes({"/a": reply, "/b": end})) as server:
            total = measure(server.port, steps=[step], plan=SAME).total
        assert (total.count("ok"), lines_of(server)[1]) == (1, f"{after} /b")
        is_same = after == method
        assert header(server.requests[1], "Content-Type") == ("text/x" if is_same else None)
        assert server.requests[1].endswith(b"hello") == (is_same and method != "HEAD")


def test_too_many_redirects_are_a_failure_of_their_own():
    with scripted(routes({"/a": to("/a")})) as server:
        result = measure(server.port, load=closed(2), path="/a", plan=SAME)
    assert result.total.errors == {Kind.REDIRECT_FAILED: 2}
    assert server.n_requests == 22
    assert "at most 10 redirects" in str(result.measurement.failures[0].details)
    assert result.total.count("bytes_sent") == sum(map(len, server.requests))


def test_a_location_that_leads_nowhere_is_a_failure():
    for location in [
        "ftp://127.0.0.1/",
        "http://127.1/",
        "http://169.254.169.254/",
        "http://h:0/",
        "//[x/",
    ]:
        with scripted(routes({"/a": to(location)})) as server:
            total = measure(server.port, path="/a", plan=ALL).total
        assert total.errors == {Kind.REDIRECT_FAILED: 1}


def test_another_origin_is_left_alone_where_only_the_same_one_is_followed():
    with scripted(routes({})) as other:
        reply = to(f"http://127.0.0.1:{other.port}/")
        with scripted(routes({"/a": reply})) as server:
            total = measure(server.port, path="/a", load=closed(3), plan=SAME).total
    assert (total.statuses, total.count("redirects"), other.n_connections) == ({"302": 3}, 0, 0)


def test_a_reply_that_redirects_fails_by_the_status_that_it_leads_to():
    missing = b"HTTP/1.1 404 N\r\nContent-Length: 0\r\n\r\n"
    with scripted(routes({"/a": to("/b"), "/b": missing})) as server:
        total = measure(server.port, path="/a", plan=SAME).total
    assert (total.errors, total.statuses) == ({Kind.STATUS_UNEXPECTED: 1}, {"404": 1})


@contextlib.contextmanager
def two_servers(path="/b", tls=None, script=None):
    """(one that redirects /a to the other, the other)."""
    with scripted(script or routes({}), tls) as other:
        scheme = "https" if tls else "http"
        reply = to(f"{scheme}://127.0.0.1:{other.port}{path}")
        with scripted(routes({"/a": reply})) as server:
            yield server, other


def test_each_user_keeps_a_connection_to_each_origin():
    with two_servers(script=routes({}, delay_s=0.05)) as (server, other):
        result = measure(server.port, load=closed(12, 3), path="/a", plan=ALL)
    total = result.total
    assert (total.count("ok"), total.count("redirects")) == (12, 12)
    assert (server.n_connections, other.n_connections) == (3, 3)
    assert total.count("connections_opened") == 6
    assert header(other.requests[0], "Host") == f"127.0.0.1:{other.port}"
    peers = result.ends[0].peers
    assert peers == {f"127.0.0.1:{each.port}": 3 for each in (server, other)}
    assert result.ends[0].connections_at_once == 6


def test_another_origin_has_a_tls_session_of_its_own():
    with two_servers(tls=server_context(issue())) as (server, other):
        result = measure(server.port, load=closed(4), path="/a", plan=ALL, mode="new")
    total = result.total
    assert (total.count("ok"), total.count("tls_full"), other.n_connections) == (4, 4, 4)
    assert total.timing("tls").n == 4
    # Those that only wait for the server to close are not open.
    assert result.ends[0].connections_at_once == 1
    response = total.timing("response").sum_us
    assert response == sum(total.timing(part).sum_us for part in PARTS)


def test_a_certificate_of_another_origin_is_judged_by_its_own_name():
    with two_servers(tls=server_context(issue())) as (server, _):
        total = measure(server.port, path="/a", plan=ALL, verify_tls=True).total
    assert sum(total.errors.values()) == 1
    assert set(total.errors) <= {Kind.TLS_UNKNOWN_ISSUER, Kind.TLS_SELF_SIGNED, Kind.TLS_VERIFY}


def test_credentials_stay_with_the_plans_own_origin():
    step = {"path": "/a", "headers": [["Host", "shop.test"], ["Cookie", "a=1"], ["X-Y", "2"]]}
    with two_servers() as (server, other):
        auth = {"auth": {"kind": "bearer"}, **ALL}
        secrets = {"auth": "s3cret"}
        total = measure(server.port, steps=[step], plan=auth, secrets=secrets).total
    assert total.count("ok") == 1
    assert header(server.requests[0], "Authorization") == "Bearer s3cret"
    names = ("Authorization", "Cookie", "X-Y")
    assert [header(other.requests[0], name) for name in names] == [None, None, "2"]
    assert b"shop.test" not in other.requests[0]


def test_the_plans_own_host_is_the_same_origin():
    step = {"path": "/a", "headers": [["Host", "shop.test"]]}
    with scripted(routes({"/a": to("http://shop.test/b")})) as server:
        total = measure(server.port, steps=[step], plan=SAME).total
    assert (total.count("ok"), lines_of(server)) == (1, ["GET /a", "GET /b"])
    assert header(server.requests[1], "Host") == "shop.test"


def test_cookies_of_each_reply_go_to_the_next_request():
    chain = {"/a": to("/b", 302, "Set-Cookie: id=7; Path=/"),
             "/b": to("/c", 302, "Set-Cookie: more=8; Path=/")}  # fmt: skip
    with scripted(routes(chain)) as server:
        measure(server.port, path="/a", plan={**SAME, "session": {"cookies": True}})
    assert [header(each, "Cookie") for each in server.requests] == [None, "id=7", "id=7; more=8"]


def test_a_value_is_taken_from_the_last_reply():
    extract = {"name": "id", "from": "body", "pattern": "id=(.)"}
    steps = [{"path": "/a", "extract": [extract]}, {"path": "/${id}"}]
    end = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nid=5"
    with scripted(routes({"/a": to("/b", body=b"id=1"), "/b": end})) as server:
        total = measure(server.port, load=closed(2), steps=steps, plan=SAME).total
    assert (total.errors, lines_of(server)) == ({}, ["GET /a", "GET /b", "GET /5"])


def test_no_redirect_leads_where_load_may_not_go():
    for host in ["127.0.0.2", "[::1]", "10.255.255.1", "localhost"]:
        with (
            scripted(routes({}), address="127.0.0.2") as forbidden,
            scripted(routes({"/a": to(f"http://{host}:{forbidden.port}/")})) as server,
        ):
            policy = {"allow": [f"127.0.0.1/32:{server.port}"]}
            result = measure(server.port, path="/a", load=closed(2), plan=ALL, policy=policy)
        assert result.total.errors == {Kind.ADDRESS_REFUSED: 2}
        assert forbidden.n_connections == 0
        assert "after a redirect to" in str(result.measurement.failures[0].details)


def test_a_place_that_is_proven_for_one_name_is_not_for_another():
    """A server that many share may be loaded under the name whose owner has shown a proof."""
    replies = {}
    with scripted(routes(replies)) as server:
        replies["/a"] = to(f"http://localhost:{server.port}/b")
        hosts = {"": ["10.0.0.0/8"]}
        policy = {"allow": ["127.0.0.0/8"], "hosts": hosts}
        before = measure(server.port, path="/a", plan=ALL, policy=policy).total
        hosts["localhost"] = ["127.0.0.0/8", "::1/128"]
        after = measure(server.port, path="/a", plan=ALL, policy=policy).total
    assert before.errors == {Kind.ADDRESS_REFUSED: 1}
    assert after.count("ok") == 1


def test_a_server_of_the_installation_is_no_place_for_a_redirect():
    with two_servers() as (server, other):
        never = [f"127.0.0.1:{other.port}"]
        policy = {"allow": ["127.0.0.0/8"], "never": never}
        total = measure(server.port, path="/a", plan=ALL, policy=policy).total
    assert (total.errors, other.n_connections) == ({Kind.ADDRESS_REFUSED: 1}, 0)


def test_the_time_limit_is_of_the_whole_request():
    with scripted(routes({"/a": to("/a")}, delay_s=0.15)) as server:
        limits = {"connect_s": 0.5, "tls_s": 0.5, "total_s": 0.5}
        total = measure(server.port, path="/a", plan=SAME, timeouts=limits).total
    assert total.errors == {Kind.FIRST_BYTE_TIMEOUT: 1}
    assert 450_000 < total.timing("failed").max_us < 2_000_000


def test_an_origin_that_closes_its_kept_connection_is_dialled_again():
    def once_each(sock, server):
        server.read_request(sock)
        # The connection's end leaves with the reply.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        sock.sendall(OK_REPLY)

    with two_servers(script=once_each) as (server, other):
        total = measure(server.port, load=closed(6), path="/a", plan=ALL).total
    assert (total.count("ok"), total.errors, other.n_connections) == (6, {}, 6)


def test_sessions_that_arrive_follow_and_count_their_own_requests():
    load = {"model": "open", "rate_per_s": 50, "requests": 4, "arrival_unit": "session"}
    plan = {**SAME, "session": {"calls_per_session": 2, "cookies": True}}
    with scripted(routes({"/a": to("/b")})) as server:
        total = measure(server.port, load=load, path="/a", plan=plan).total
    assert (total.count("sessions_ok"), total.count("ok"), total.count("redirects")) == (4, 8, 8)
    assert server.n_connections == 4


def probe_of(port, **fields):
    order = probe_order(port, **{"path": "/a", "redirects": "all"} | fields)
    return probe.run(Order.from_json(order))


def test_a_single_request_shows_each_redirect_on_its_way():
    with two_servers("/b?x=1") as (server, other):
        answer = probe_of(server.port)
    assert (answer["status"], answer["error"]) == (200, None)
    assert answer["url"] == f"http://127.0.0.1:{other.port}/b?x=1"
    (redirect,) = answer["redirects"]
    assert (redirect["status"], redirect["url"]) == (302, f"http://127.0.0.1:{server.port}/a")
    assert answer["parts_us"]["redirects"] == redirect["response_us"]
    assert sum(answer["parts_us"].values()) == answer["response_us"]
    assert header(other.requests[0], "Host") == f"127.0.0.1:{other.port}"


def test_a_single_request_keeps_credentials_and_addresses_as_a_run_does():
    with two_servers() as (server, other):
        fields = {"auth": {"kind": "bearer"}, "secrets": {"auth": "s3cret"}}
        assert probe_of(server.port, **fields)["status"] == 200
        refusal = probe_of(server.port, policy={"allow": [f"127.0.0.1/32:{server.port}"]})
    assert header(server.requests[0], "Authorization") == "Bearer s3cret"
    assert [header(each, "Authorization") for each in other.requests] == [None]
    assert refusal["error"] == Kind.ADDRESS_REFUSED
    assert refusal["detail"].endswith(f"after a redirect to http://127.0.0.1:{other.port}")


def test_a_single_request_gives_up_a_circle_unless_a_cookie_breaks_it():
    def script(sock, server):
        while (request := server.read_request(sock)) is not None:
            has_cookie = b"seen=1" in request
            sock.sendall(OK_REPLY if has_cookie else to("/a", 302, "Set-Cookie: seen=1; Path=/"))

    with scripted(script) as server:
        circle, way_out = probe_of(server.port), probe_of(server.port, cookies=True)
    assert (circle["error"], len(circle["redirects"])) == (Kind.REDIRECT_FAILED, 10)
    assert (way_out["status"], way_out["error"], len(way_out["redirects"])) == (200, None, 1)


def test_a_chain_that_comes_back_goes_on_the_user_s_own_connection_again():
    replies, elsewhere = {}, {}
    step = {"path": "/a", "headers": [["Authorization", "Basic eDp5"]]}
    with scripted(routes(replies)) as server, scripted(routes(elsewhere)) as other:
        replies["/a"] = to(f"http://127.0.0.1:{other.port}/b")
        elsewhere["/b"] = to(f"http://127.0.0.1:{server.port}/c")
        total = measure(server.port, load=closed(6, 2), steps=[step], plan=ALL).total
    assert (total.count("ok"), total.count("redirects"), total.errors) == (6, 12, {})
    assert (server.n_connections, other.n_connections) == (2, 2)
    assert {header(each, "Authorization") for each in other.requests} == {None}
    assert {header(each, "Authorization") for each in server.requests} == {"Basic eDp5"}


def test_each_connection_to_another_name_is_looked_up_where_the_plan_says_so(monkeypatch):
    hosts = []
    answers = {"other.example": ["127.0.0.1"]}

    def look_up(host, port):
        hosts.append(host)
        return answers[host]

    monkeypatch.setattr(lookup, "look_up", look_up)
    with scripted(routes({})) as other:
        reply = to(f"http://other.example:{other.port}/")
        with scripted(routes({"/a": reply})) as server:
            once = measure(server.port, path="/a", load=closed(5), plan=ALL, mode="new").total
            n_once = len(hosts)
            plan = {**ALL, "resolve": "per_connection"}
            each = measure(server.port, path="/a", load=closed(5), plan=plan, mode="new").total
    assert (once.count("ok"), n_once, once.timing("dns").n) == (5, 1, 1)
    assert (each.count("ok"), len(hosts) - n_once, each.timing("dns").n) == (5, 5, 5)
    for total in (once, each):
        parts = sum(total.timing(part).sum_us for part in PARTS)
        assert total.timing("response").sum_us == parts


def test_a_name_that_comes_to_lead_where_nothing_may_be_sent_is_not_followed(monkeypatch):
    answers = iter([["127.0.0.1"], ["169.254.169.254"], ["127.0.0.1", "10.0.0.1"]])
    monkeypatch.setattr(lookup, "look_up", lambda host, port: next(answers))
    plan = {**ALL, "resolve": "per_connection"}
    with scripted(routes({})) as other:
        reply = to(f"http://other.example:{other.port}/")
        with scripted(routes({"/a": reply})) as server:
            total = measure(server.port, path="/a", load=closed(3), plan=plan, mode="new").total
    assert (total.count("ok"), total.errors) == (1, {Kind.ADDRESS_REFUSED: 2})
    assert other.n_connections == 1


def test_a_host_that_is_pinned_stays_pinned_on_its_other_ports(monkeypatch):
    monkeypatch.setattr(lookup, "look_up", None)
    with scripted(routes({})) as other:
        reply = to(f"http://shop.example:{other.port}/")
        with scripted(routes({"/a": reply})) as server:
            fields = {"host": "shop.example", "address": "127.0.0.1"}
            total = measure(server.port, path="/a", plan=ALL, **fields).total
    assert (total.count("ok"), other.n_requests) == (1, 1)
