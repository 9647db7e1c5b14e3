"""Examples of failed WebSockets: the reply that refused the opening, or why the server closed."""

import pytest

from tests.injector.servers import closed
from tests.injector.test_examples import examples_of
from tests.injector.websocket.peers import after_opening, against, read_key
from workers.injector.websocket.frames import CLOSE, close_payload, encode_frame

REFUSAL = (
    b"HTTP/1.1 401 Unauthorized\r\nSet-Cookie: session=s3cr3t\r\nContent-Length: 8\r\n\r\nno token"
)


def refuses(sock, server) -> None:
    read_key(sock, server)
    sock.sendall(REFUSAL)


def closes(code: int, reason: str):
    def script(sock) -> None:
        sock.recv(65536)
        sock.sendall(encode_frame(CLOSE, close_payload(code, reason)))

    return after_opening(script)


def example_of(script, exchange=None, **plan) -> dict:
    result, _ = against(script, closed(2), exchange or {"messages": 1}, plan=plan)
    (example,) = examples_of(result)
    return example


def test_a_refused_opening_is_kept_with_its_reply():
    example = example_of(refuses)
    assert (example["kind"], example["status"]) == ("ws_upgrade_rejected", 401)
    assert example["request"].startswith("GET / HTTP/1.1\nHost: 127.0.0.1:")
    assert "Sec-WebSocket-Key: [made for each connection]" in example["request"]
    assert example["reply"] == (
        "401 Unauthorized\nSet-Cookie: session=[hidden]\nContent-Length: 8\n\nno token"
    )
    assert example["body_bytes"] == 8


@pytest.mark.parametrize(
    ("reason", "said"),
    [("out of memory", "closed with 1011 (out of memory)"), ("", "closed with 1011")],
)
def test_a_server_that_closes_is_quoted_with_its_code_and_reason(reason, said):
    example = example_of(closes(1011, reason))
    assert (example["kind"], example["status"]) == ("eof_mid_body", 101)
    assert example["detail"] == f"{said} after 1 message"


def test_what_a_server_says_to_a_variables_value_is_not_kept():
    example = example_of(
        refuses, {"messages": 1, "path": "/${user}"}, variables={"csv": "user\nann\n"}
    )
    assert example["request"].startswith("GET /${user} HTTP/1.1")
    assert (example["reply"], example["detail"]) == ("", "")
