"""What a request says, to the byte, as servers get it: its method, its host, its body."""

import base64
from urllib.parse import parse_qsl

import pytest

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.body import MAX_FILE_BYTES, Blob
from campaigns.domain.plan.plan import Plan
from tests.injector.http2.h2_server import h2_server
from tests.injector.servers import OK_REPLY, against, always, closed, make_order, measure, scripted
from tests.values import plan_spec
from workers.injector import attempt, guard
from workers.injector.attempt import Worker
from workers.injector.order import ArmsOrder, Order, Refusal


def test_any_method_is_sent_with_a_body():
    for method in ("PURGE", "GET"):
        _, server = against(always(OK_REPLY), method=method, path="/cache", body="all")
        (request,) = server.requests
        assert request.startswith(f"{method} /cache HTTP/1.1\r\n".encode())
        assert request.endswith(b"Content-Length: 3\r\n\r\nall")


def test_a_host_of_its_own_is_sent_in_place_of_the_endpoints_and_once():
    step = {"method": "GET", "path": "/", "headers": [["X-A", "1"], ["host", "b.example:81"]]}
    _, server = against(always(OK_REPLY), steps=[step])
    head = server.requests[0].decode()
    assert head.startswith("GET / HTTP/1.1\r\nHost: b.example:81\r\n")
    assert head.lower().count("host:") == 1


@pytest.fixture
def server_names(server_tls):
    """The names that clients announced to `server_tls`."""
    names = []
    server_tls.sni_callback = lambda sock, server_name, context: names.append(server_name)
    return names


def test_over_http_2_it_is_the_authority(server_tls, server_names):
    step = {"method": "PURGE", "path": "/", "headers": [["Host", "b.example"]]}
    with h2_server(tls=server_tls) as (server, answers):
        measure(server.port, scheme="https", steps=[step], plan={"http_version": "2"})
    (head,) = answers.requests
    assert (head[":authority"], head[":method"]) == ("b.example", "PURGE")
    assert "host" not in head
    assert server_names == [None]


def test_a_name_that_is_pinned_is_looked_up_nowhere(monkeypatch, server_tls, server_names):
    monkeypatch.setattr(guard, "look_up", lambda host, port: [host])
    with scripted(always(OK_REPLY), server_tls) as server:
        result = measure(
            server.port,
            scheme="https",
            host="shop.example",
            address="127.0.0.1",
            load=closed(2),
            plan={"resolve": "per_connection"},
        )
    assert result.total.count("ok") == 2
    assert server.requests[0].splitlines()[1] == f"Host: shop.example:{server.port}".encode()
    assert server_names == ["shop.example"]


def test_the_pinned_address_is_vetted_as_any_other():
    with pytest.raises(Refusal, match=r"10\.0\.0\.5 is in none of the networks"):
        measure(80, host="shop.example", address="10.0.0.5")


BYTES = bytes(range(256)) * 40


def body_of(request: bytes) -> tuple[str, bytes]:
    """(its Content-Type, its body)"""
    head, _, body = request.partition(b"\r\n\r\n")
    kinds = [line for line in head.decode().splitlines() if line.startswith("Content-Type: ")]
    return "".join(kinds).removeprefix("Content-Type: "), body


def test_a_file_is_sent_to_the_byte_whether_it_is_in_the_plan_or_beside_it():
    text = base64.b64encode(BYTES).decode()
    digest = Blob.of(BYTES).to_json()
    for file, beside in ((text, {}), (digest, {"bodies": {digest["sha256"]: text}})):
        step = {"method": "PUT", "path": "/", "body_file": file}
        _, server = against(always(OK_REPLY), steps=[step], **beside)
        assert body_of(server.requests[0]) == ("", BYTES)
    with pytest.raises(Refusal, match="10,240 bytes is not here"):
        Order.from_json(make_order(80, steps=[{"path": "/", "body_file": digest}]))


def test_form_fields_are_encoded_with_their_variables():
    step = {"method": "POST", "path": "/", "form": [["who", "${user}"], ["a&b", "c d"]]}
    plan = {"variables": {"csv": "user\nann & bob\n"}}
    _, server = against(always(OK_REPLY), steps=[step], plan=plan)
    kind, body = body_of(server.requests[0])
    assert kind == "application/x-www-form-urlencoded"
    assert parse_qsl(body.decode()) == [("who", "ann & bob"), ("a&b", "c d")]


def test_fields_with_files_are_parts_that_their_boundary_divides():
    photo = b"--benchsite-7d3f1c5e9a2b4f60\r\n\x00"
    step = {
        "method": "POST",
        "path": "/",
        "headers": [["X-A", "1"]],
        "multipart": [
            {"name": "user", "value": "${user}", "content_type": "text/plain"},
            {
                "name": "photo",
                "file": base64.b64encode(photo).decode(),
                "filename": 'a"b.png',
                "content_type": "image/png",
            },
        ],
    }
    plan = {"variables": {"csv": "user\nann\n"}}
    _, server = against(always(OK_REPLY), steps=[step], plan=plan)
    kind, body = body_of(server.requests[0])
    boundary = kind.removeprefix("multipart/form-data; boundary=").encode()
    before, user, file, after = body.split(b"--" + boundary)
    assert (before, after) == (b"", b"--\r\n")
    kind = b"\r\nContent-Type: text/plain"
    assert user == b'\r\nContent-Disposition: form-data; name="user"' + kind + b"\r\n\r\nann\r\n"
    head, _, content = file.partition(b"\r\n\r\n")
    assert b'filename="a%22b.png"\r\nContent-Type: image/png' in head
    assert content == photo + b"\r\n"


def test_a_content_type_of_the_step_is_left_as_it_is():
    step = {"method": "POST", "path": "/", "form": [["a", "b"]], "headers": [["content-type", "x"]]}
    _, server = against(always(OK_REPLY), steps=[step])
    assert server.requests[0].lower().count(b"content-type") == 1


def test_eight_mebibytes_go_over_either_version(server_tls):
    data = bytes(MAX_FILE_BYTES)
    step = {"method": "POST", "path": "/", "body_file": base64.b64encode(data).decode()}
    total = against(always(OK_REPLY), server_tls, scheme="https", steps=[step])[0].total
    assert (total.count("ok"), total.errors) == (1, {})
    with h2_server() as (server, answers):
        measure(server.port, steps=[step], plan={"http_version": "2"})
    assert list(map(len, answers.bodies)) == [len(data)]


def test_a_byte_more_is_refused():
    step = {"path": "/", "body_file": base64.b64encode(bytes(MAX_FILE_BYTES + 1)).decode()}
    with pytest.raises(InvalidPlan) as refusal:
        Plan.from_json({**plan_spec(), "steps": [step]})
    assert "at most 8,388,608 bytes" in refusal.value.errors["steps.0.body_file"]


def test_a_large_body_lets_others_have_their_turns(monkeypatch):
    class Connection:
        sock = None
        sizes = []

        def send(self, data):
            clock[0] += 400_000
            self.sizes.append(len(data))
            return len(data)

    clock, turns = [0], []
    monkeypatch.setattr(attempt, "now", lambda: clock[0])
    monkeypatch.setattr(Worker, "wait_writable", lambda self, fd, kind: turns.append(clock[0]))
    Connection.sock = type("Sock", (), {"fileno": lambda self: 0})()
    Worker._write_all(Worker.__new__(Worker), Connection(), memoryview(bytes(8 * 1024 * 1024)))
    assert max(Connection.sizes) <= 256 * 1024
    gaps_ns = [
        later - earlier for earlier, later in zip([0, *turns], [*turns, clock[0]], strict=True)
    ]
    assert max(gaps_ns) <= 1_500_000


def test_arms_side_by_side_share_the_files_of_their_order():
    digest = Blob.of(BYTES).to_json()
    step = {"path": "/", "body_file": digest}
    arm = make_order(80, steps=[step], load={"model": "open", "rate_per_s": 50, "duration_s": 5})
    order = {"protocol": 2, "arms": [arm, arm], "policy": arm["policy"], "turns": {}}
    beside = {"bodies": {digest["sha256"]: base64.b64encode(BYTES).decode()}}
    arms = ArmsOrder.from_json(order | beside).arms
    assert [each.plan.steps[0].content[0] for each in arms] == [BYTES, BYTES]
