"""One reader per process: what many viewers ask for is read once."""

import threading
import time

import pytest
import redis
from django.conf import settings
from django.db import connection

from campaigns.domain.shown.thinning import LAST_S, MOST_POINTS
from campaigns.live import waiting
from campaigns.live.events import BEFORE_ALL
from campaigns.live.feed import CHANNEL, Bell, Feed, Shared
from campaigns.models import Run, ShardSecond
from tests.factories import make_campaign, make_run, make_test, store_second
from tests.queries.measured import measure
from tests.values import make_second


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def counting():
    reads = []

    def read(previous):
        reads.append(previous)
        return len(reads)

    return reads, read


def test_a_shared_value_is_read_once_until_the_bell_rings():
    bell, clock = Bell(), Clock()
    shared = Shared(bell, clock)
    reads, read = counting()
    assert [shared.get(read) for _ in range(100)] == [1] * 100
    bell.ring()
    assert [shared.get(read) for _ in range(100)] == [2] * 100
    assert reads == [None, 1]


def test_without_any_ring_it_is_read_again_after_a_second():
    clock = Clock()
    shared = Shared(Bell(), clock)
    _, read = counting()
    shared.get(read)
    clock.now += 1.0
    assert shared.get(read) == 2


def test_viewers_who_come_at_once_wait_for_one_reading():
    shared = Shared(Bell(), Clock())
    reads, read = counting()

    def slow(previous):
        time.sleep(0.05)
        return read(previous)

    threads = [threading.Thread(target=shared.get, args=(slow,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reads) == 1


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_another_gives_its_connection_back(monkeypatch):
    lock, is_waiting, seen = threading.Lock(), threading.Event(), []
    give_back = waiting.release_connection
    monkeypatch.setattr(waiting, "release_connection", lambda: (give_back(), is_waiting.set()))

    def look():
        connection.ensure_connection()
        seen.append(connection.connection)
        with waiting.held(lock):
            seen.append(connection.connection)

    with lock:
        viewer = threading.Thread(target=look)
        viewer.start()
        assert is_waiting.wait(10)
    viewer.join()
    assert seen[0] is not None
    assert seen[1] is None


def test_a_failed_reading_is_tried_again():
    shared = Shared(Bell(), Clock())

    def fail(_):
        raise ConnectionError

    with pytest.raises(ConnectionError):
        shared.get(fail)
    assert shared.get(lambda _: 7) == 7


def test_a_ring_that_came_before_the_wait_is_not_missed():
    bell = Bell()
    heard = bell.count
    bell.ring()
    begun = time.monotonic()
    bell.wait(heard, 5.0)
    assert time.monotonic() - begun < 1.0


def test_a_poke_through_redis_rings_the_bell():
    bell = Bell()
    bell.wait(bell.count, 0.01)
    client = redis.Redis.from_url(settings.REDIS_URL)
    heard, until = bell.count, time.monotonic() + 5
    while bell.count == heard and time.monotonic() < until:
        client.publish(CHANNEL, '{"run": 1}')
        bell.wait(heard, 0.1)
    assert bell.count > heard


def test_without_redis_the_wait_just_ends(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    bell = Bell()
    begun = time.monotonic()
    bell.wait(bell.count, 0.1)
    assert time.monotonic() - begun < 2


@pytest.fixture
def run(run):
    Run.objects.filter(pk=run.pk).update(state="preparing")
    return run


def seconds(news):
    return news["points"]["second"]


def test_a_second_is_decoded_once_for_a_hundred_viewers(run, monkeypatch):
    decoded = []
    real = ShardSecond.value

    def watched(row):
        decoded.append(row.second)
        return real(row)

    monkeypatch.setattr(ShardSecond, "value", watched)
    store_second(run, make_second(0, [10_000]))
    feed = Feed()
    for _ in range(100):
        assert seconds(feed.news(run.pk, BEFORE_ALL)) == [0]
    store_second(run, make_second(1, [10_000]))
    feed.bell.ring()
    for _ in range(100):
        assert seconds(feed.news(run.pk, 0)) == [1]
        assert feed.report(run).tiles
    assert decoded == [0, 1]


def test_a_second_is_told_in_one_text_to_all_who_wait_for_it(run):
    feed = Feed()
    store_second(run, make_second(0, [10_000]))
    told = [feed.news(run.pk, BEFORE_ALL).text for _ in range(100)]
    assert len({id(text) for text in told}) == 1
    store_second(run, make_second(1, [10_000]))
    feed.bell.ring()
    assert seconds(feed.news(run.pk, 0)) == [1]
    assert seconds(feed.news(run.pk, BEFORE_ALL)) == [0, 1], "who comes later is told more"


def test_a_finished_run_is_told_with_its_late_seconds(project):
    run = make_run(make_test(make_campaign(project)))
    feed = Feed()
    store_second(run, make_second(12, [10_000]))
    assert seconds(feed.news(run.pk, BEFORE_ALL)) == [12]
    measure(run, 12_000)
    feed.bell.ring()
    assert seconds(feed.news(run.pk, BEFORE_ALL)) == [*range(10), 12]
    assert seconds(feed.news(run.pk, 8)) == [9, 12]


def test_a_long_run_is_told_anew_every_five_minutes_in_a_thousand_points(run):
    feed, n_seconds = Feed(), MOST_POINTS + LAST_S
    row = store_second(run, make_second(0, [10_000]))
    later = [ShardSecond(**{**fields_of(row), "second": each}) for each in range(1, n_seconds)]
    ShardSecond.objects.bulk_create(later)
    told = feed.news(run.pk, BEFORE_ALL)
    assert told["all"]
    assert len(seconds(told)) <= MOST_POINTS
    assert seconds(feed.news(run.pk, n_seconds - 2)) == [n_seconds - 1]
    crossed = (n_seconds - 1) // LAST_S * LAST_S - 1
    assert seconds(feed.news(run.pk, crossed - 1))[0] == 0
    assert feed.news(run.pk, crossed - 1)["all"]
    assert not feed.news(run.pk, n_seconds - 2)["all"]


def fields_of(row: ShardSecond) -> dict:
    names = [each.attname for each in row._meta.fields if each.name != "pk"]
    return {name: getattr(row, name) for name in names}


def test_a_look_names_the_newest_event_and_the_runs_in_order(run):
    second = make_run(run.test, repeat=2)
    look = Feed().campaign(run.campaign_id)
    assert [each.id for each in look.runs] == [run.pk, second.pk]
    assert look.event == run.events.latest("pk").pk
    assert not look.is_over
