"""Asking an exporter: a good one, and hostile ones."""

import contextlib
import time

import pytest
from django.utils import timezone

from campaigns.models import Exporter
from campaigns.services.scrapes import ScrapeOrder
from tests.factories import make_target
from tests.injector.authority import authority, issue, server_context
from tests.injector.servers import scripted
from tests.workers.node_exporter import node_exporter, recorded_after, reply
from workers import exporter_client
from workers.exporter_client import ExporterClient, ScrapeFailed
from workers.tasks.checks import check_exporter

HERE = "127.0.0.1"


def order(port: int, url: str = "http://127.0.0.1:{}/metrics", **fields) -> ScrapeOrder:
    usual = {"verify_tls": True, "is_server": False, "allowed": ("127.0.0.0/8",), "never": ()}
    return ScrapeOrder(exporter=1, name="shop-1", url=url.format(port), **(usual | fields))


def ask(port: int, limit_s: float = 5.0, **fields):
    with contextlib.closing(ExporterClient(order(port, **fields), limit_s)) as client:
        return client.ask()


def refusal(port: int, limit_s: float = 5.0, **fields) -> str:
    with pytest.raises(ScrapeFailed) as failed:
        ask(port, limit_s, **fields)
    return str(failed.value)


def test_an_answer_has_the_text_and_when_it_was_true():
    before_ns = time.monotonic_ns()
    with scripted(node_exporter(lambda age_s: reply(recorded_after(0)))) as server:
        answer = ask(server.port)
        asked = server.requests[0].decode()
    assert answer.text == recorded_after(0)
    assert before_ns < answer.at_ns < time.monotonic_ns()
    assert asked.startswith("GET /metrics HTTP/1.1\r\n")
    assert f"Host: 127.0.0.1:{server.port}\r\n" in asked
    assert "Authorization" not in asked


def test_a_token_is_sent_as_a_bearer_token():
    with scripted(node_exporter()) as server:
        ask(server.port, token="s3cret")
        assert b"Authorization: Bearer s3cret\r\n" in server.requests[0]


def test_one_connection_is_kept_for_all_answers():
    with (
        scripted(node_exporter()) as server,
        contextlib.closing(ExporterClient(order(server.port), 5)) as client,
    ):
        for _ in range(3):
            client.ask()
        assert (server.n_connections, server.n_requests) == (1, 3)


def test_a_connection_that_the_server_closed_is_opened_anew():
    def once(sock, server):
        server.read_request(sock)
        sock.sendall(reply("up 1\n"))

    with (
        scripted(once) as server,
        contextlib.closing(ExporterClient(order(server.port), 5)) as client,
    ):
        assert [client.ask().text for _ in range(3)] == ["up 1\n"] * 3


def test_an_answer_may_be_chunked_or_end_with_the_connection():
    chunked = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nup \r\n2\r\n1\n\r\n0\r\n\r\n"
    )
    closing = b"HTTP/1.0 200 OK\r\n\r\nup 1\n"
    for raw in (chunked, closing):

        def script(sock, server, raw=raw):
            server.read_request(sock)
            sock.sendall(raw)

        with scripted(script) as server:
            assert ask(server.port).text == "up 1\n"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda port: {"allowed": ("10.0.0.0/8",)}, "127.0.0.1 is in none of the networks"),
        (lambda port: {"never": (f"127.0.0.1:{port}",)}, "is a server of this installation"),
    ],
)
def test_an_address_that_may_not_be_put_under_load_is_not_dialled(rule, words):
    with scripted(node_exporter()) as server:
        why = refusal(server.port, **rule(server.port))
        assert server.n_connections == 0
    assert words in why


def test_a_name_with_one_address_that_is_not_allowed_is_not_dialled(monkeypatch):
    """Otherwise a name server could send a token or a question wherever it likes."""
    monkeypatch.setattr(exporter_client, "addresses_of", lambda host, port: [HERE, "10.0.0.5"])
    with scripted(node_exporter()) as server:
        why = refusal(server.port, url="http://shop.example:{}/")
        assert server.n_connections == 0
    assert why.startswith("10.0.0.5 is in none of the networks")


def test_a_redirect_is_not_followed():
    with scripted(node_exporter()) as other:
        moved = reply("", "302 Found", more=f"Location: http://127.0.0.1:{other.port}/\r\n")
        with scripted(node_exporter(lambda age_s: moved)) as server:
            why = refusal(server.port)
        assert other.n_connections == 0
    assert "302" in why


@pytest.mark.parametrize("status", ["404 Not Found", "401 Unauthorized", "500 Oops"])
def test_another_status_than_200_is_no_answer(status):
    with scripted(node_exporter(lambda age_s: reply("no", status))) as server:
        assert f"status {status[:3]}" in refusal(server.port)


def test_a_server_that_sends_a_byte_at_a_time_is_left_after_the_deadline():
    def trickle(sock, server):
        server.read_request(sock)
        sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with contextlib.suppress(OSError):
            for _ in range(200):
                sock.sendall(b"u")
                time.sleep(0.05)

    with scripted(trickle) as server:
        began = time.monotonic()
        assert "does not answer within 0.3 s" in refusal(server.port, limit_s=0.3)
    assert time.monotonic() - began < 3


def test_of_an_endless_answer_little_is_read():
    def flood(sock, server):
        server.read_request(sock)
        sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with contextlib.suppress(OSError):
            while True:
                sock.sendall(b"up 1\n" * 10_000)

    with scripted(flood) as server:
        assert refusal(server.port, limit_s=30).startswith("Its answer is larger than ")


def test_a_server_of_another_protocol_says_so():
    def greet(sock, server):
        sock.sendall(b"220 smtp.example ESMTP\r\n")
        server.read_request(sock)

    with scripted(greet) as server:
        assert "does not answer in HTTP" in refusal(server.port)


def test_a_certificate_is_verified_unless_that_is_switched_off():
    with scripted(node_exporter(), tls=server_context(issue(authority()))) as server:
        url = "https://127.0.0.1:{}/metrics"
        assert "The certificate of https://127.0.0.1:" in refusal(server.port, url=url)
        assert ask(server.port, url=url, verify_tls=False).text.startswith("# HELP")


def test_a_token_that_cannot_be_decrypted_is_not_asked_without():
    with scripted(node_exporter()) as server:
        assert refusal(server.port, fault="Enter the secret again.") == "Enter the secret again."
        assert server.n_connections == 0


# --- the worker that asks once, when somebody has set it ----------------------------------------
@pytest.fixture
def target(project):
    return make_target(project, "shop")


def checked(target, port: int, **fields) -> Exporter:
    exporter = Exporter.objects.create(
        target=target,
        name="shop-1",
        url=f"http://127.0.0.1:{port}/metrics",
        asked_at=timezone.now(),
        **fields,
    )
    check_exporter(exporter.pk)
    exporter.refresh_from_db()
    assert exporter.asked_at is None
    return exporter


@pytest.mark.django_db
def test_it_stores_what_the_exporter_offers(target):
    with scripted(node_exporter()) as server:
        found = checked(target, server.port)
    assert found.told_at
    assert found.offers == ["CPU", "memory", "network", "loopback", "TCP", "disks", "open files"]


@pytest.mark.django_db
def test_it_stores_why_there_is_nothing_and_what_to_do(target):
    with scripted(node_exporter(lambda age_s: reply("go_goroutines 8\n"))) as server:
        found = checked(target, server.port)
    assert found.told_at is None
    assert found.problem


@pytest.mark.django_db
def test_a_check_that_is_answered_already_asks_nobody(target):
    with scripted(node_exporter()) as server:
        found = checked(target, server.port)
        check_exporter(found.pk)
        assert server.n_requests == 1
