"""Scraping a target's exporters beside a run, with a small program in the injector's place. Asking
an exporter: a good one, and hostile ones."""

import contextlib
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from django.db import OperationalError
from django.utils import timezone

from campaigns.machines.models import EXPORTER_PROBLEM
from campaigns.machines.services import ScrapeOrder
from campaigns.models import Exporter, Run
from tests.factories import make_target
from tests.injector.authority import authority, issue, server_context
from tests.injector.servers import scripted
from tests.workers.launching import done, launch
from tests.workers.node_exporter import BUSY, node_exporter, recorded_after, reply
from workers import launcher, scraping
from workers.scraping import ExporterClient, RunClock, ScrapeFailed
from workers.tasks import check_exporter

SENDS_S = 2.6
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("spool_folder")]
S = 1_000_000_000


@pytest.fixture
def server() -> Iterator:
    with scripted(node_exporter()) as the_server:
        yield the_server


def exporter(run: Run, port: int, **fields) -> Exporter:
    url = f"http://127.0.0.1:{port}/metrics"
    return Exporter.objects.create(target=run.target, name="shop-1", url=url, **fields)


def to_the_end(run: Run, sends_s: float = SENDS_S) -> Run:
    # Its seconds are short: what counts here is how long the run takes.
    assert launch("--seconds", str(round(sends_s / 0.2)))
    return done(run)


def problems(run: Run) -> list[str]:
    rows = run.events.filter(kind=EXPORTER_PROBLEM).values_list("data", flat=True)
    return [data["problem"] for data in rows]


def test_a_run_has_its_exporters_seconds_from_the_start_to_the_end(run, dispatcher, server):
    exporter(run, server.port)
    to_the_end(run)
    rows = list(run.machine_seconds.order_by("second"))
    assert {row.source for row in rows} == {"shop-1"}
    assert rows[0].second == 0
    # The first begins on a second of the site's clock before the start, or a moment before it.
    assert sum(row.lasted_s for row in rows) == pytest.approx(SENDS_S, abs=1.3)
    pairs = [(row.did["user_s"], BUSY * row.lasted_s) for row in rows]
    assert sum(cpu_s for cpu_s, _ in pairs) == pytest.approx(
        sum(busy_s for _, busy_s in pairs), 0.1
    )
    for row, (cpu_s, busy_s) in zip(rows, pairs, strict=True):
        # On busy cores a reply waits; of a short last second that is a large part.
        assert cpu_s == pytest.approx(busy_s, rel=0.2, abs=0.1)
        assert row.did["cores"] == [25, 0]
        assert row.did["memory_bytes"] > row.did["memory_used_bytes"] > 0
    exporter_row = Exporter.objects.get()
    assert exporter_row.told_at
    assert {"CPU", "memory", "TCP"} <= set(exporter_row.offers)
    assert problems(run) == []
    assert server.n_connections == 1


def test_an_exporter_that_is_not_there_is_said_and_harms_no_run(run, dispatcher):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        exporter(run, unused.getsockname()[1])
        to_the_end(run)
    assert run.outcome == "complete"
    (problem,) = problems(run)
    assert "refuses connections. Start the agent there" in problem
    assert Exporter.objects.get().problem == problem
    assert not run.machine_seconds.exists()


def test_an_exporter_that_hangs_delays_no_run(run, dispatcher):
    def hang(sock, server):
        server.read_request(sock)
        time.sleep(30)  # slower than anything that waits for it

    with scripted(hang) as server:
        exporter(run, server.port)
        to_the_end(run, 1.6)
    assert run.outcome == "complete"
    last = run.events.get(kind="shard_done").at
    assert last - run.t0 < timedelta(seconds=1.6 + 1.5)
    assert "does not answer within" in problems(run)[0]


def test_an_exporter_that_is_away_for_a_while_makes_a_gap(run, dispatcher):
    ages = []

    def away(age_s):
        """Two answers in a row are none."""
        ages.append(age_s)
        is_away = len(ages) in {3, 4}
        return reply("", "503 Away") if is_away else reply(recorded_after(age_s))

    with scripted(node_exporter(away)) as server:
        exporter(run, server.port)
        to_the_end(run, 5)
    rows = list(run.machine_seconds.order_by("second"))
    seconds = [row.second for row in rows]
    assert 2 <= seconds[-1] - len(seconds) + 1 <= 3, "a gap of three seconds"
    assert all(row.lasted_s < 2.5 for row in rows)
    assert all(row.did["user_s"] < BUSY * 2.5 for row in rows)
    assert "answers with status 503" in problems(run)[0]
    assert Exporter.objects.get().problem == ""


def test_what_the_database_does_not_take_is_stored_later(run, dispatcher, server, monkeypatch):
    take, n_failed = scraping.take_scraped, []

    def fail_once(**fields):
        if not n_failed:
            n_failed.append(1)
            raise OperationalError("the database is away")
        take(**fields)

    monkeypatch.setattr(scraping, "take_scraped", fail_once)
    exporter(run, server.port)
    to_the_end(run)
    assert n_failed
    assert run.machine_seconds.filter(second=0).exists()


def test_only_the_first_shards_host_scrapes_and_none_while_arms_take_turns(run, server):
    exporter(run, server.port)
    orders = [
        launcher._exporters(SimpleNamespace(run_id=run.pk, runs=[run.pk] * n_arms, number=number))
        for n_arms, number in [(1, 0), (1, 1), (2, 0)]
    ]
    assert [len(each) for each in orders] == [1, 0, 0], "whose CPU it was in turns is not known"


def test_a_run_without_exporters_has_no_thread_for_them(run, dispatcher, monkeypatch):
    monkeypatch.setattr(scraping.threading, "Thread", None)
    idle = scraping.Scraping(SimpleNamespace(), [])
    idle.begin(0, datetime(2026, 1, 1, tzinfo=UTC))
    idle.end()
    idle.close()


T0 = datetime(2026, 11, 23, 12, 0, 0, 400_000, tzinfo=UTC)


def test_a_second_is_the_runs_in_which_its_middle_is():
    for after_s, second in [(-0.1, None), (0.0, -5), (4.9, -1), (5.0, 0), (65.2, 60)]:
        clock = RunClock(7 * S, T0, 5)
        assert clock.second_of(7 * S + round(after_s * S)) == second


def test_the_next_second_of_the_sites_clock_is_not_too_near():
    for after_s, left_s in [
        (0.0, 0.6),
        (0.35, 0.25 + 1),
        (0.34, 0.26),
        (0.599, 1.001),
        (0.6, 1.0),
        (-3.0, 0.6),
    ]:
        clock = RunClock(7 * S, T0, 5)
        assert clock.to_next_second_s(7 * S + round(after_s * S)) == pytest.approx(left_s)


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
        request = server.requests[0].decode()
    assert answer.text == recorded_after(0)
    assert before_ns < answer.at_ns < time.monotonic_ns()
    assert request.startswith("GET /metrics HTTP/1.1\r\n")
    assert f"Host: 127.0.0.1:{server.port}\r\n" in request
    assert "Authorization" not in request


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
    in_chunks = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nup \r\n2\r\n1\n\r\n0\r\n\r\n"
    )
    closing = b"HTTP/1.0 200 OK\r\n\r\nup 1\n"
    for raw in (in_chunks, closing):

        def script(sock, server, raw=raw):
            server.read_request(sock)
            sock.sendall(raw)

        with scripted(script) as server:
            assert ask(server.port).text == "up 1\n"


def test_an_address_that_may_not_be_put_under_load_is_not_dialled():
    for rule, words in [
        (lambda port: {"allowed": ("10.0.0.0/8",)}, "127.0.0.1 is in none of the networks"),
        (lambda port: {"never": (f"127.0.0.1:{port}",)}, "is a server of this installation"),
    ]:
        with scripted(node_exporter()) as server:
            why = refusal(server.port, **rule(server.port))
            assert server.n_connections == 0
        assert words in why


def test_a_name_with_one_address_that_is_not_allowed_is_not_dialled(monkeypatch):
    """Otherwise a name server could send a token or a question wherever it likes."""
    monkeypatch.setattr(scraping, "addresses_of", lambda host, port: [HERE, "10.0.0.5"])
    with scripted(node_exporter()) as server:
        why = refusal(server.port, url="http://shop.example:{}/")
        assert server.n_connections == 0
    assert why.startswith("10.0.0.5 is in none of the networks")


def test_a_redirect_is_not_followed():
    with scripted(node_exporter()) as other:
        redirect = reply("", "302 Found", more=f"Location: http://127.0.0.1:{other.port}/\r\n")
        with scripted(node_exporter(lambda age_s: redirect)) as server:
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


def test_a_certificate_of_ones_own_is_trusted_where_it_is_given():
    mine = issue()
    with scripted(node_exporter(), tls=server_context(mine)) as server:
        url = "https://127.0.0.1:{}/metrics"
        assert ask(server.port, url=url, ca_pem=mine.pem, token="s3cret").text.startswith("# HELP")
        other = issue().pem
        assert "is not accepted" in refusal(server.port, url=url, ca_pem=other, token="s3cret")


def test_a_token_goes_to_no_public_address_that_is_not_verified(monkeypatch):
    monkeypatch.setattr(scraping, "addresses_of", lambda host, port: ["8.8.8.8"])
    fields = {"url": "http://shop.example:{}/", "allowed": ("0.0.0.0/0",), "token": "s3cret"}
    monkeypatch.setattr(scraping, "dial", None)
    assert "only over https with a verified" in refusal(9800, **fields)


def test_a_token_that_cannot_be_decrypted_is_not_asked_without():
    with scripted(node_exporter()) as server:
        assert refusal(server.port, fault="Enter the secret again.") == "Enter the secret again."
        assert server.n_connections == 0


# --- the worker that asks once, when somebody has set it ----------------------------------------
@pytest.fixture
def target(project):
    return make_target(project, "shop")


def check(target, port: int, **fields) -> Exporter:
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
        row = check(target, server.port)
    assert row.told_at
    assert row.offers == ["CPU", "memory", "network", "loopback", "TCP", "disks", "open files"]


@pytest.mark.django_db
def test_it_stores_why_there_is_nothing_and_what_to_do(target):
    with scripted(node_exporter(lambda age_s: reply("go_goroutines 8\n"))) as server:
        row = check(target, server.port)
    assert row.told_at is None
    assert row.problem


@pytest.mark.django_db
def test_a_check_that_is_answered_already_asks_nobody(target):
    with scripted(node_exporter()) as server:
        check_exporter(check(target, server.port).pk)
        assert server.n_requests == 1
