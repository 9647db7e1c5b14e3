"""Examples of failures: what was sent and what came back, few, bounded and without secrets."""

import json
import socket

import pytest

from tests.injector.servers import against, always, closed, measure, scripted

NOT_FOUND = (
    b"HTTP/1.1 404 Not Found\r\nServer: shop\r\nSet-Cookie: session=s3cr3t-cookie; Path=/\r\n"
    b"Content-Length: %d\r\n\r\n%s"
)


def not_found(body: bytes) -> bytes:
    return NOT_FOUND % (len(body), body)


def examples_of(result) -> list[dict]:
    return [each for second in result.seconds for each in second.examples]


def test_a_failed_request_is_kept_with_its_reply():
    result, _ = against(always(not_found(b'{"see": "/v3/"}')), load=closed(50))
    (example,) = examples_of(result)
    assert (example["kind"], example["status"]) == ("status_unexpected", 404)
    assert example["request"].startswith("GET / HTTP/1.1\nHost: 127.0.0.1:")
    assert example["reply"] == (
        "404 Not Found\nServer: shop\nSet-Cookie: session=[hidden]; Path=/\n"
        'Content-Length: 15\n\n{"see": "/v3/"}'
    )
    assert example["body_bytes"] == 15
    assert 0 <= example["at_us"] < 10_000_000


def test_a_server_that_refuses_is_named_without_a_reply():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        result = measure(unused.getsockname()[1], load=closed(3))
    (example,) = examples_of(result)
    assert (example["kind"], example["status"], example["reply"]) == ("connect_refused", 0, "")


def test_neither_the_plans_secret_nor_its_echo_is_kept():
    body = b'you are bearer-of-the-token, {"access_token": "abcdef"} eyJhbGciOiJ.eyJzdWI.c2ln'
    with scripted(always(not_found(body))) as server:
        result = measure(
            server.port,
            load=closed(2),
            plan={"auth": {"kind": "bearer"}},
            secrets={"auth": "bearer-of-the-token"},
        )
    (example,) = examples_of(result)
    text = json.dumps(example)
    assert "bearer-of-the-token" not in text
    assert "abcdef" not in text
    assert "eyJ" not in text
    assert "Authorization: [hidden]" in example["request"]


def test_values_of_variables_are_in_neither_the_request_nor_the_reply():
    with scripted(always(not_found(b"no user Frieda, no pin 7311"))) as server:
        result = measure(
            server.port,
            load=closed(2),
            plan={
                "steps": [{"method": "GET", "path": "/u/${name}?pin=${pin}"}],
                "variables": {"csv": "name,pin\nFrieda,7311\n"},
            },
        )
    (example,) = examples_of(result)
    assert example["request"].startswith("GET /u/${name}?pin=${pin} HTTP/1.1")
    assert example["reply"].endswith("no user [hidden], no pin [hidden]")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"<script>alert(1)</script>", "<script>alert(1)</script>"),
        (b"\x00\x07\x1b[31m\xff\xfe", "\\x00\\x07\\x1b[31m\\ufffd\\ufffd"),
    ],
)
def test_hostile_bodies_are_kept_as_text_that_can_be_stored(body, shown):
    with scripted(always(not_found(body))) as server:
        (example,) = examples_of(measure(server.port, load=closed(1)))
    kept = example["reply"].partition("\n\n")[2]
    assert kept.encode("unicode_escape").decode().replace("\\\\", "\\") == shown


def test_of_a_large_body_only_the_beginning_is_kept():
    with scripted(always(not_found(b"x" * 1_000_000))) as server:
        (example,) = examples_of(measure(server.port, load=closed(1)))
    assert len(example["reply"]) < 4_200
    assert example["body_bytes"] == 1_000_000


def test_a_body_without_end_leaves_an_example_of_its_beginning():
    head = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 1073741824\r\n\r\n"
    result, _ = against(always(head + b"no worker"), load=closed(1))
    (example,) = examples_of(result)
    assert example["kind"] == "body_cap"
    assert "1073741824" in example["detail"]
