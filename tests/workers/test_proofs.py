"""Looking for the file that proves ownership: on good servers, and on hostile ones."""

import contextlib
import socket
import time

import pytest

from campaigns.domain.plan.target import Origin
from campaigns.targets.queries import networks_for
from campaigns.targets.services import check_host as ask_check
from campaigns.targets.services import claim_host
from tests.factories import make_endpoint, make_target
from tests.injector.servers import scripted
from workers import single_requests
from workers.single_requests import MOST_BYTES, check_host
from workers.tasks import check_ownership

TOKEN = "t" * 43
HOST = "shop.example"
HERE = "127.0.0.1"


@pytest.fixture(autouse=True)
def _unlisted(settings, monkeypatch):
    """Loopback plays a public address that no list has; the real rule is in the domain's tests."""
    settings.ALLOWED_NETWORKS = []
    monkeypatch.setattr(single_requests, "why_not_checked", lambda address: None)


def check(port: int, *addresses: str, never=()):
    return check_host(HOST, [Origin("http", HOST, port)], addresses or [HERE], TOKEN, never)


def answering(reply: bytes):
    def script(sock, server):
        server.read_request(sock)
        sock.sendall(reply)

    return script


prove = answering(f"HTTP/1.1 200 OK\r\n\r\n{TOKEN}".encode())


def test_the_file_at_the_host_is_a_proof_for_its_address_and_port():
    with scripted(answering(f"HTTP/1.1 200 OK\r\n\r\n{TOKEN}\n".encode())) as server:
        result = check(server.port)
        assert result.proven == result.places == (f"127.0.0.1/32:{server.port}",)
        assert result.faults == ()
        request = server.requests[0].decode()
    assert request.startswith(f"GET /.well-known/benchsite-{TOKEN}.txt HTTP/1.0\r\n")
    assert f"Host: {HOST}:{server.port}\r\n" in request


def test_a_redirect_is_not_followed():
    with scripted(prove) as other:
        to = f"http://127.0.0.1:{other.port}/.well-known/benchsite-{TOKEN}.txt"
        redirect = f"HTTP/1.1 301 Moved\r\nLocation: {to}\r\n\r\n{TOKEN}"
        with scripted(answering(redirect.encode())) as server:
            result = check(server.port)
        assert result.proven == ()
        assert "redirects are not followed" in result.faults[0]
        assert other.n_connections == 0


def test_of_an_endless_body_little_is_read():
    sent = []

    def flood(sock, server):
        server.read_request(sock)
        sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + TOKEN.encode())
        with contextlib.suppress(OSError):
            while True:
                sent.append(sock.send(b"x" * 65536))

    with scripted(flood) as server:
        reply = single_requests.fetch(Origin("http", HOST, server.port), HERE, "/")
        result = check(server.port)
    assert len(reply) == MOST_BYTES
    assert result.proven == ()


def test_a_server_that_sends_a_byte_at_a_time_is_left_after_the_deadline(monkeypatch):
    monkeypatch.setattr(single_requests, "LIMIT_S", 0.3)

    def trickle(sock, server):
        server.read_request(sock)
        with contextlib.suppress(OSError):
            for _ in range(100):
                sock.sendall(b"H")
                time.sleep(0.05)

    with scripted(trickle) as server:
        began = time.monotonic()
        result = check(server.port)
        took_s = time.monotonic() - began
    assert "no answer" in result.faults[0]
    assert took_s < 3


def test_a_port_where_nothing_listens_is_a_fault_and_no_proof():
    with socket.socket() as unused:
        unused.bind((HERE, 0))
        result = check(unused.getsockname()[1])
    assert result.proven == ()
    assert "no answer" in result.faults[0]


def test_all_addresses_of_a_name_must_have_the_file():
    """Otherwise one could add a stranger's address to one's own name."""
    with scripted(prove) as server:
        result = check(server.port, HERE, "127.0.0.77")
    assert result.proven == ()
    assert "127.0.0.77" in result.faults[0]


@pytest.mark.parametrize("private", ["10.0.0.5", "169.254.169.254", "::1"])
def test_nothing_is_asked_when_a_name_has_an_address_that_is_not_public(monkeypatch, private):
    calls = []
    monkeypatch.undo()
    monkeypatch.setattr(single_requests, "fetch", lambda *args: calls.append(args))
    result = check(443, "8.8.8.8", private)
    assert calls == []
    assert result.proven == ()
    assert result.faults


def test_a_name_that_changes_after_it_was_looked_up_changes_nothing(monkeypatch):
    """Only literal addresses are dialled: a name server is not asked again."""
    real = socket.getaddrinfo

    def literal_only(host, *args, **options):
        assert host == HERE, f"{host} was looked up again"
        return real(host, *args, **options)

    with scripted(prove) as server:
        monkeypatch.setattr(socket, "getaddrinfo", literal_only)
        assert check(server.port).proven


def test_the_installation_s_own_servers_are_not_asked():
    with scripted(prove) as server:
        result = check(server.port, never=[f"127.0.0.1:{server.port}"])
        assert server.n_connections == 0
    assert "server of this installation" in result.faults[0]


def test_listed_addresses_are_not_asked_for_a_proof(settings):
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    result = check(9, HERE)
    assert (result.proven, result.faults, result.places) == ((), (), ("127.0.0.1/32:9",))


def test_a_listed_address_where_nobody_looked_is_not_proven_by_the_file_at_another(settings):
    """It would stay allowed when it leaves the list, and on a host whose own list is shorter."""
    settings.ALLOWED_NETWORKS = ["127.0.0.77/32"]
    with scripted(prove) as server:
        result = check(server.port, HERE, "127.0.0.77")
    assert result.proven == (f"127.0.0.1/32:{server.port}",)
    assert result.places == (*result.proven, f"127.0.0.77/32:{server.port}")
    assert result.faults == ()


def test_a_name_without_an_address_and_one_with_too_many_are_faults():
    assert "has no address for" in check_host(HOST, [], [], TOKEN).faults[0]
    many = [f"8.8.4.{number}" for number in range(9)]
    assert "9 addresses" in check(443, *many).faults[0]


@pytest.mark.django_db
def test_a_file_that_is_found_permits_load_and_a_second_message_changes_nothing(
    project, as_bob, settings
):
    settings.PROOF_DAYS = 90
    tokens = []

    def script(sock, server):
        server.read_request(sock)
        sock.sendall(f"HTTP/1.1 200 OK\r\n\r\n{tokens[0]}\n".encode())

    with scripted(script) as server:
        endpoint = make_endpoint(make_target(project), port=server.port)
        claim = claim_host(by=as_bob, target=endpoint.target, host=endpoint.host)
        tokens.append(claim.token)
        check_ownership(claim.pk)
        assert server.n_requests == 0, "nobody has asked"
        ask_check(by=as_bob, claim=claim)
        check_ownership(claim.pk)
        check_ownership(claim.pk)
        assert server.n_requests == 1
        place = f"127.0.0.1/32:{server.port}"
    assert networks_for(project.pk, endpoint.host) == [place]
    assert claim.permits.get().given_by == "bob"
