"""TLS: verified or not, resumed or not, closed properly or not."""

import os
import socket
import ssl

import pytest

from campaigns.domain.measured.outcomes import Kind
from tests.injector.servers import OK_REPLY, always, closed, measure, scripted
from workers.injector import attempt

HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def https(server_tls):
    def start(script):
        return scripted(script, server_tls)

    return start


def close_raggedly(reply):
    """Send the reply, and with it the end of TCP without an end of TLS."""

    def script(sock, server):
        server.read_request(sock)
        # One segment has both: on a busy machine a next request could come between them.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        sock.sendall(reply)
        # Closing the descriptor underneath leaves TLS no chance to say goodbye.
        os.close(sock.detach())

    return script


def test_parts_of_a_new_tls_connection(https):
    with https(always(OK_REPLY)) as server:
        result = measure(server.port, scheme="https", mode="new", load=closed(10, 2))
    total = result.total
    assert (total.count("ok"), total.count("tls_full"), total.count("tls_resumed")) == (10, 10, 0)
    assert total.timing("tls").n == 10
    (tls,) = result.ends[0].tls
    assert (tls.version, tls.resumed, tls.count) == ("TLSv1.3", False, 10)
    assert tls.group == "X25519"
    assert result.ends[0].tls_library.startswith("OpenSSL ")
    assert result.ends[0].certificate_der_b64


def test_a_kept_tls_connection_has_one_handshake(https):
    with https(always(OK_REPLY)) as server:
        total = measure(server.port, scheme="https", load=closed(100)).total
    assert (total.count("ok"), total.timing("tls").n, server.n_connections) == (100, 1, 1)


def test_the_rest_of_a_record_is_read_at_once_by_who_has_been_busy_for_long(https, monkeypatch):
    """Nothing more comes, so nobody would wake it: as if each part had taken a whole turn."""
    monkeypatch.setattr(attempt, "_TURN_NS", -1)
    short, long = (HEAD + b"Content-Length: %d\r\n\r\n" % n + bytes(n) for n in (100, 9000))

    def script(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(long if server.n_requests == 2 else short)

    with https(script) as server:
        total = measure(server.port, scheme="https", load=closed(3)).total
    assert (total.count("ok"), total.errors) == (3, {})


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_nearly_all_sessions_are_resumed(https, server_tls, version):
    server_tls.maximum_version = version
    with https(always(OK_REPLY)) as server:
        total = measure(server.port, scheme="https", mode="resumed", load=closed(100, 2)).total
    assert total.count("ok") == 100
    assert total.count("tls_resumed") >= 95
    assert total.count("tls_full") + total.count("tls_resumed") == 100


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_ragged_close_does_not_spoil_the_session(https, server_tls, version):
    server_tls.maximum_version = version
    with https(close_raggedly(OK_REPLY)) as server:
        total = measure(server.port, scheme="https", mode="resumed", load=closed(20)).total
    assert (total.count("ok"), total.count("tls_full")) == (20, 1)


def test_without_tickets_every_handshake_is_full(https, server_tls):
    server_tls.num_tickets = 0
    with https(always(OK_REPLY)) as server:
        total = measure(server.port, scheme="https", mode="resumed", load=closed(10)).total
    assert (total.count("ok"), total.count("tls_full"), total.errors) == (10, 10, {})


def test_a_certificate_that_does_not_verify_is_counted_and_the_run_goes_on(https):
    with https(always(OK_REPLY)) as server:
        total = measure(server.port, scheme="https", verify_tls=True, load=closed(5)).total
    assert total.errors == {Kind.TLS_SELF_SIGNED: 5}
    assert server.n_requests == 0


@pytest.mark.parametrize("mode", ["new", "keep-alive"])
def test_a_ragged_close_after_a_complete_body_is_only_counted(https, mode):
    # With time between requests a kept connection is idle when its end is seen.
    load = {"model": "over", "requests": 10, "over_s": 0.5}
    with https(close_raggedly(OK_REPLY)) as server:
        total = measure(server.port, scheme="https", mode=mode, load=load).total
    assert (total.count("ok"), total.errors) == (10, {})
    # The last connection of a kept load is not used again, so nobody sees how it ends.
    assert total.count("tls_ragged_eof") >= 9


@pytest.mark.parametrize(
    "reply", [HEAD + b"\r\nuntil the end", HEAD + b"Content-Length: 50\r\n\r\ntoo short"]
)
def test_a_ragged_close_that_may_have_cut_the_body_is_a_failure(https, reply):
    with https(close_raggedly(reply)) as server:
        total = measure(server.port, scheme="https", load=closed(3)).total
    assert total.errors == {Kind.EOF_MID_BODY: 3}


def test_a_proper_close_ends_a_body_without_length(https):
    def script(sock, server):
        server.read_request(sock)
        sock.sendall(HEAD + b"\r\nuntil the end")
        sock.unwrap()

    with https(script) as server:
        total = measure(server.port, scheme="https", mode="new", load=closed(3)).total
    assert (total.count("ok"), total.errors, total.count("tls_ragged_eof")) == (3, {}, 0)


@pytest.mark.parametrize(("host", "name"), [("localhost", "localhost"), ("127.0.0.1", None)])
def test_a_name_is_announced_but_never_an_address(https, server_tls, host, name):
    seen = []
    server_tls.sni_callback = lambda sock, server_name, context: seen.append(server_name)
    with https(always(OK_REPLY)) as server:
        measure(server.port, scheme="https", host=host, allow=["127.0.0.0/8", "::1/128"])
    assert seen == [name]
