"""Scraping a target's exporters beside a run, with a small program in the injector's place."""

import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from django.db import OperationalError

from campaigns.models import Exporter, Run
from campaigns.models.machines import EXPORTER_PROBLEM
from tests.injector.servers import scripted
from tests.workers.launching import done, launch
from tests.workers.node_exporter import BUSY, node_exporter, recorded_after, reply
from workers import launcher, scraping
from workers.scraping import RunClock

SENDS_S = 2.6
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("spool_folder")]
S = 1_000_000_000


@pytest.fixture
def server() -> Iterator:
    with scripted(node_exporter()) as found:
        yield found


def exporter(run: Run, port: int, **fields) -> Exporter:
    url = f"http://127.0.0.1:{port}/metrics"
    return Exporter.objects.create(target=run.target, name="shop-1", url=url, **fields)


def to_the_end(run: Run, sends_s: float = SENDS_S) -> Run:
    # Its seconds are short: what counts here is how long the run takes.
    assert launch("--seconds", str(round(sends_s / 0.2)))
    return done(run)


def problems(run: Run) -> list[str]:
    told = run.events.filter(kind=EXPORTER_PROBLEM).values_list("data", flat=True)
    return [data["problem"] for data in told]


def test_a_run_has_its_exporters_seconds_from_the_start_to_the_end(run, dispatcher, server):
    exporter(run, server.port)
    to_the_end(run)
    rows = list(run.machine_seconds.order_by("second"))
    assert {row.source for row in rows} == {"shop-1"}
    assert rows[0].second == 0
    # The first begins on a second of the site's clock before the start, or a moment before it.
    assert sum(row.lasted_s for row in rows) == pytest.approx(SENDS_S, abs=1.3)
    told = [(row.did["user_s"], BUSY * row.lasted_s) for row in rows]
    assert sum(cpu_s for cpu_s, _ in told) == pytest.approx(sum(busy_s for _, busy_s in told), 0.1)
    for row, (cpu_s, busy_s) in zip(rows, told, strict=True):
        # On busy cores a reply waits; of a short last second that is a large part.
        assert cpu_s == pytest.approx(busy_s, rel=0.2, abs=0.1)
        assert row.did["cores"] == [25, 0]
        assert row.did["memory_bytes"] > row.did["memory_used_bytes"] > 0
    stored = Exporter.objects.get()
    assert stored.told_at
    assert {"CPU", "memory", "TCP"} <= set(stored.offers)
    assert problems(run) == []
    assert server.n_connections == 1


def test_an_exporter_that_is_not_there_is_said_and_harms_no_run(run, dispatcher):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        exporter(run, closed.getsockname()[1])
        to_the_end(run)
    assert run.outcome == "complete"
    (problem,) = problems(run)
    assert "refuses connections. Start the exporter there" in problem
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

    def fail_once(**given):
        if not n_failed:
            n_failed.append(1)
            raise OperationalError("the database is away")
        take(**given)

    monkeypatch.setattr(scraping, "take_scraped", fail_once)
    exporter(run, server.port)
    to_the_end(run)
    assert n_failed
    assert run.machine_seconds.filter(second=0).exists()


def test_only_the_first_shards_host_scrapes(run, server):
    exporter(run, server.port)
    found = [launcher._exporters(SimpleNamespace(run_id=run.pk, number=n)) for n in range(2)]
    assert [len(each) for each in found] == [1, 0]


def test_a_run_without_exporters_has_no_thread_for_them(run, dispatcher, monkeypatch):
    monkeypatch.setattr(scraping.threading, "Thread", None)
    idle = scraping.Scraping(SimpleNamespace(), [])
    idle.begin(0, datetime(2026, 1, 1, tzinfo=UTC))
    idle.end()
    idle.close()


T0 = datetime(2026, 11, 23, 12, 0, 0, 400_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("after_s", "second"), [(-0.1, None), (0.0, -5), (4.9, -1), (5.0, 0), (65.2, 60)]
)
def test_a_second_is_the_runs_in_which_its_middle_is(after_s, second):
    clock = RunClock(7 * S, T0, 5)
    assert clock.second_of(7 * S + round(after_s * S)) == second


@pytest.mark.parametrize(
    ("after_s", "left_s"),
    [(0.0, 0.6), (0.35, 0.25 + 1), (0.34, 0.26), (0.599, 1.001), (0.6, 1.0), (-3.0, 0.6)],
)
def test_the_next_second_of_the_sites_clock_is_not_too_near(after_s, left_s):
    clock = RunClock(7 * S, T0, 5)
    assert clock.to_next_second_s(7 * S + round(after_s * S)) == pytest.approx(left_s)
