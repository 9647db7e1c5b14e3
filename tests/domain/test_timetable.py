"""When a schedule is due, also where clocks change."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest

from campaigns.domain.errors import InvalidFields
from campaigns.domain.timetable import DAYS, MOST_MISSED, Timetable, daily_cron, read_daily

NIGHT = Timetable("0 2 * * *", "UTC")


def at(text: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


def test_a_daily_time_is_due_once_a_day_where_clocks_change():
    for zone, cron, since, first in [
        # The hour is left out: due as soon as there is a time again.
        ("America/New_York", "30 2 * * *", "2026-03-07 12:00", "2026-03-08T03:00:00-04:00"),
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03 12:00", "2026-10-04T02:30:00+11:00"),
        ("Pacific/Chatham", "50 2 * * *", "2026-09-26 12:00", "2026-09-27T03:45:00+13:45"),
        ("America/Havana", "0 0 * * *", "2026-03-07 12:00", "2026-03-08T01:00:00-04:00"),
        # The hour comes twice: due at the first.
        ("America/New_York", "30 1 * * *", "2026-10-31 12:00", "2026-11-01T01:30:00-04:00"),
        ("America/Havana", "30 0 * * *", "2026-10-31 12:00", "2026-11-01T00:30:00-04:00"),
    ]:
        times = Timetable(cron, zone).first_after(at(since, zone), 4)
        assert times[0].isoformat() == first
        days = [each.date() for each in times]
        assert [later - earlier for earlier, later in pairwise(days)] == [timedelta(days=1)] * 3


def test_each_half_hour_is_due_after_the_one_before():
    for since in ["2026-03-07", "2026-04-04", "2026-09-26", "2026-10-31"]:
        for zone in ["America/New_York", "Australia/Lord_Howe", "Pacific/Chatham"]:
            times = islice(Timetable("*/30 * * * *", zone).after(at(since, zone)), 400)
            gaps = {
                (later.astimezone(UTC) - earlier.astimezone(UTC))
                for earlier, later in pairwise(times)
            }
            assert min(gaps) >= timedelta(minutes=15)
            assert max(gaps) <= timedelta(minutes=60)


def test_what_is_no_timetable_is_refused_at_its_field():
    for cron, zone, field in [
        ("0 2 * *", "UTC", "cron"),
        ("0 2 * * * *", "UTC", "cron"),
        ("0 25 * * *", "UTC", "cron"),
        ("0 2 30 2 *", "UTC", "cron"),  # never
        ("0 2 * * *", "Mars/Olympus", "zone"),
    ]:
        with pytest.raises(InvalidFields) as refusal:
            Timetable.read(cron, zone)
        assert list(refusal.value.errors) == [field]


def test_a_daily_expression_is_read_as_it_was_written():
    for days in DAYS:
        cron = daily_cron(days, 2, 5)
        assert read_daily(cron) == (days, "02:05")
        assert Timetable.read(cron, "UTC").cron == cron


def test_another_expression_is_not_read_as_a_daily_one():
    for cron in ["*/5 2 * * *", "0 2 2 * *", "0 2,3 * * *"]:
        assert read_daily(cron) is None


def test_missed_times_are_one_and_a_count():
    due = at("2026-11-01 02:00")
    assert NIGHT.latest(due, at("2026-11-01 23:00")) == (due, 0)
    assert NIGHT.latest(due, at("2026-11-04 02:00")) == (at("2026-11-04 02:00"), 3)
    each_minute = Timetable("* * * * *", "UTC")
    assert each_minute.latest(due, at("2026-12-01 02:00"))[1] == MOST_MISSED
