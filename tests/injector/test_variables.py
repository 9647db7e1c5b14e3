"""Values from a table and from earlier replies, and the order of steps, as a server sees them."""

import time
from uuid import UUID

from campaigns.domain.lifecycle import TargetState
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.step import OrderKind, StepOrder
from tests.injector.servers import (
    OK_REPLY,
    against,
    always,
    closed,
    measure,
    scripted,
    tally,
    target_reasons,
)

TABLE = "user,page\nann,a b\nbob,c/d?e=1\n"


def requests(steps, load, server_script=None, **plan) -> list[bytes]:
    total, server = tally(server_script or always(OK_REPLY), steps=steps, load=load, plan=plan)
    assert total.count("bytes_sent") == sum(map(len, server.requests))
    return server.requests


def test_each_request_takes_the_next_row_in_path_header_and_body():
    step = {
        "method": "POST",
        "path": "/${page}",
        "headers": [["X-User", "u-${user}"]],
        "body": "<${user}>",
    }
    sent = requests([step], closed(3), variables={"csv": TABLE})
    assert [each.split()[1] for each in sent] == [b"/a%20b", b"/c/d?e=1", b"/a%20b"]
    assert [b"X-User: u-ann\r\n" in each for each in sent] == [True, False, True]
    assert sent[1].endswith(b"Content-Length: 5\r\n\r\n<bob>")


MADE = [
    {"name": "id", "kind": "uuid"},
    {"name": "n", "kind": "counter", "low": 100},
    {"name": "size", "kind": "integer", "low": 3, "high": 5},
    {"name": "what", "kind": "choice", "words": ["book", "pen"]},
    {"name": "at", "kind": "time", "clock": "ms"},
]


def test_a_header_has_what_iso_8859_1_does_not_in_utf_8():
    step = {"path": "/", "headers": [["X-Sum", "${sum}"]]}
    sent = requests([step], closed(2), variables={"csv": "sum\n5 €\n5 £\n"})
    values = [each.partition(b"X-Sum: ")[2].partition(b"\r\n")[0] for each in sent]
    assert values == ["5 €".encode(), "5 £".encode("latin-1")]


def made_by(shard, load, **plan):
    """(id, n, size, what, at) of each request of one shard."""
    step = {"path": "/${id}/${n}/${size}/${what}/${at}"}
    plan = {"variables": {"generators": MADE}, **plan}
    with scripted(always(OK_REPLY)) as server:
        measure(server.port, steps=[step], load=load, shard=shard, plan=plan, seed=7)
    return [each.split()[1].decode().split("/")[1:] for each in server.requests]


def test_made_values_are_new_for_each_request_and_unique_over_shards():
    before_ms = time.time_ns() // 1_000_000
    shards = [made_by({"index": index, "count": 2}, closed(20, 2)) for index in (0, 1)]
    sent = [each for shard in shards for each in shard]
    ids, numbers, sizes, words, times = zip(*sent, strict=True)
    assert len({str(UUID(each, version=4)) for each in ids}) == 20
    assert sorted(map(int, numbers)) == list(range(100, 120))
    assert set(sizes) == {"3", "4", "5"}
    assert set(words) == {"book", "pen"}
    assert all(before_ms <= int(each) <= time.time_ns() // 1_000_000 for each in times)
    again = made_by({"index": 0, "count": 2}, closed(20, 2))
    assert [each[1:4] for each in again] == [each[1:4] for each in shards[0]]
    assert not {each[0] for each in again} & set(ids)


def test_in_a_session_they_stay_but_for_the_time():
    session = {"session": {"calls_per_session": 3}}
    sent = made_by({"index": 0, "count": 1}, closed(6), **session)
    assert [each[1] for each in sent] == ["100"] * 3 + ["101"] * 3
    assert len({each[0] for each in sent}) == 2


def test_a_value_cannot_smuggle_a_header_or_a_request():
    step = {"path": "/${x}", "headers": [["X-One", "${x}"]]}
    sent = requests([step], closed(1), variables={"csv": 'x\n"a\r\nX-Evil: 1"\n'})
    assert b"\r\nX-Evil" not in sent[0]
    assert len(sent) == 1


def test_without_variables_the_text_stays_as_it_is_and_workers_are_plain():
    sent = requests([{"method": "POST", "path": "/", "body": "${user}"}], closed(1))
    assert sent[0].endswith(b"${user}")
    steps = [{"path": "/", "method": "POST", "body": "${user}"}]
    plan = Plan.from_json({"steps": steps, "load": closed(1)})
    assert plan.is_plain


def login(sock, server):
    """Gives a token that grows with each login, and a place in a header."""
    while (request := server.read_request(sock)) is not None:
        body = b'<input name="csrf" value="t%d">' % server.n_requests
        if b"/login" not in request:
            body = b"nothing here"
        head = b"HTTP/1.1 200 OK\r\nX-Place: /room/%d\r\n" % server.n_requests
        sock.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)


LOGIN = {
    "path": "/login",
    "extract": [
        {"name": "token", "from": "body", "pattern": 'value="([^"]+)"'},
        {"name": "place", "from": "header", "header": "x-place", "pattern": "/room/(.+)"},
    ],
}


def test_a_value_of_one_reply_is_used_in_the_next_request():
    steps = [LOGIN, {"method": "POST", "path": "/save/${place}", "body": "csrf=${token}"}]
    sent = requests(steps, closed(4), login)
    assert sent[1].startswith(b"POST /save/1 ")
    assert sent[1].endswith(b"csrf=t1")
    assert sent[3].startswith(b"POST /save/3 ")
    assert sent[3].endswith(b"csrf=t3")


def test_a_value_that_may_miss_is_empty_and_a_finding_of_the_target_that_names_it():
    extract = [each | {"may_miss": True} for each in LOGIN["extract"]]
    steps = [{"path": "/elsewhere", "extract": extract}, {"path": "/a?${token}"}]
    result, server = against(login, steps=steps, load=closed(2))
    assert server.requests[1].split()[1] == b"/a?"
    finding = target_reasons(result)["extract_missed"]
    assert (finding.state, finding.value) == (TargetState.FAILING, 1)
    assert "1 of 2 for ${token} and ${place} at GET /elsewhere" in finding.text


def test_values_that_are_found_are_no_finding():
    result, _ = against(login, steps=[LOGIN, {"path": "/a?${token}"}], load=closed(2))
    assert target_reasons(result) == {}


def test_a_session_keeps_its_row_and_forgets_it_with_the_session():
    steps = [{"path": "/${user}"}, {"path": "/again/${user}"}]
    sent = requests(steps, closed(4), variables={"csv": TABLE}, session={"calls_per_session": 2})
    paths = [each.split()[1] for each in sent]
    assert paths == [b"/ann", b"/again/ann", b"/bob", b"/again/bob"]


def test_two_injectors_share_the_rows():
    for index in [0, 1]:
        with scripted(always(OK_REPLY)) as server:
            measure(
                server.port,
                steps=[{"path": "/${user}"}],
                load=closed(8, 2),
                plan={"variables": {"csv": TABLE}},
                shard={"index": index, "count": 2},
            )
        assert {each.split()[1] for each in server.requests} == {[b"/ann", b"/bob"][index]}


# --- the order of steps --------------------------------------------------------------------------
STEPS = [{"path": f"/{name}"} for name in "abc"]


def paths(load, order, **fields) -> list[str]:
    plan = {"order": order, "session": fields.pop("session", {})}
    _, server = tally(always(OK_REPLY), steps=STEPS, load=load, plan=plan, **fields)
    return [request.split()[1].decode() for request in server.requests]


def test_file_sets_are_sent_in_blocks():
    sent = paths(closed(9), {"kind": "blocks", "block_repeat": 3})
    assert sent == [*["/a"] * 3, *["/b"] * 3, *["/c"] * 3]


def test_the_connection_that_begins_first_plays_the_first_user():
    load = {**closed(6, 2), "ramp_up_s": 2}
    sent = paths(load, {"kind": "random"}, session={"calls_per_session": 6}, seed=7)
    order = StepOrder(OrderKind.RANDOM)
    assert sent == [STEPS[order.step_at(k, 3, 7)]["path"] for k in range(6)]
    assert sent != [STEPS[order.step_at(k, 3, 8)]["path"] for k in range(6)]
