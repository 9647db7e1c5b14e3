"""What a request says, to the byte, as servers get it: its method, its host, its body."""

import pytest

from tests.injector.http2.h2_server import h2_server
from tests.injector.servers import OK_REPLY, against, always, closed, measure, scripted
from workers.injector import guard
from workers.injector.order import Refusal


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
def announced(server_tls):
    """The names that clients announced to `server_tls`."""
    names = []
    server_tls.sni_callback = lambda sock, server_name, context: names.append(server_name)
    return names


def test_over_http_2_it_is_the_authority(server_tls, announced):
    step = {"method": "PURGE", "path": "/", "headers": [["Host", "b.example"]]}
    with h2_server(tls=server_tls) as (server, answers):
        measure(server.port, scheme="https", steps=[step], plan={"http_version": "2"})
    (head,) = answers.seen
    assert (head[":authority"], head[":method"]) == ("b.example", "PURGE")
    assert "host" not in head
    assert announced == [None]


def test_a_name_that_is_pinned_is_looked_up_nowhere(monkeypatch, server_tls, announced):
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
    assert announced == ["shop.example"]


def test_the_pinned_address_is_vetted_as_any_other():
    with pytest.raises(Refusal, match=r"10\.0\.0\.5 is in none of the networks"):
        measure(80, host="shop.example", address="10.0.0.5")
