import time
from datetime import timedelta

from django.db import connection

from workers import clock


def test_the_databases_now_is_this_hosts_monotonic_now(db):
    with connection.cursor() as cursor:
        before_ns = time.monotonic_ns()
        cursor.execute("SELECT clock_timestamp()")
        after_ns = time.monotonic_ns()
        now = cursor.fetchone()[0]
    margin_ns = 5_000_000
    assert before_ns - margin_ns < clock.start_of(now)[0] < after_ns + margin_ns


def test_it_believes_the_quickest_round_trip_and_says_by_how_much_it_may_be_wrong(monkeypatch):
    trips = iter([(900, 50), (100, 7), (400, -20)] + [(1000, 99)] * 5)
    monkeypatch.setattr(clock, "_round_trip", lambda: next(trips))
    assert clock.start_of(clock.EPOCH + timedelta(microseconds=1)) == (993, 50)


def test_a_clock_that_is_set_is_noticed_until_that_was_dealt_with(monkeypatch):
    offsets_s = iter([100, 100.9, 161, 161, 162, 72])
    monkeypatch.setattr(clock, "_round_trip", lambda _: (1_000, int(next(offsets_s) * 1e9)))
    watch = clock.ClockWatch()
    assert [watch.step_s(), watch.step_s()] == [0, 0], "it only drifts"
    assert [round(watch.step_s()), round(watch.step_s())] == [60, 60]
    watch.accept()
    assert [watch.step_s(), watch.step_s()] == [0, -90]


def test_instants_keep_their_microseconds(monkeypatch):
    monkeypatch.setattr(clock, "_round_trip", lambda: (10, 1_000))
    instant = clock.EPOCH + timedelta(days=20_000, microseconds=1)
    assert clock.start_of(instant)[0] == 20_000 * 86_400 * 10**9 + 1_000 - 1_000
