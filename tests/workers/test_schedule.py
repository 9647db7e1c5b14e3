"""Beat while PostgreSQL or Redis is away: it goes on, and its log stays short."""

import io
import logging
import time
from datetime import timedelta

import celery.beat
import pytest
from django.db import OperationalError
from django.utils import timezone
from django_celery_beat import schedulers
from django_celery_beat.models import PeriodicTask, PeriodicTasks
from kombu.exceptions import OperationalError as BrokerError

from benchsite.celery import app
from benchsite.logs import OUTAGE_TOLD_EVERY_S, OutagesInShort
from tests.services.engine import at_once
from workers import schedule
from workers.schedule import PatientScheduler

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def scheduler():
    (made,) = at_once(lambda: PatientScheduler(app))
    return made


def away(*_, **__):
    raise OperationalError('connection to server at "db" failed: Connection refused\n\tIs it up?')


class Gone:
    """A database that answers the third time."""

    def __init__(self):
        self.asked = 0

    def ensure_connection(self):
        self.asked += 1
        if self.asked < 3:
            away()

    def close(self):
        pass


def test_it_waits_for_a_database_that_is_away_when_it_starts(monkeypatch, caplog):
    gone = Gone()
    monkeypatch.setattr(schedule, "connection", gone)
    monkeypatch.setattr(schedule, "LOOK_EVERY_S", 0)
    (made,) = at_once(lambda: PatientScheduler(app))
    assert gone.asked == 3
    assert set(app.conf.beat_schedule) <= set(made.schedule)
    assert caplog.text.count("Beat waits for PostgreSQL") == 1


def test_it_goes_on_by_the_schedule_that_it_knows(scheduler, monkeypatch, caplog):
    known = set(scheduler.schedule)
    scheduler._last_full_sync -= timedelta(hours=1)
    monkeypatch.setattr(scheduler, "all_as_schedule", away)
    assert set(scheduler.schedule) == known >= set(app.conf.beat_schedule)
    assert "The schedule was not read anew" in caplog.text


def test_a_clock_that_was_set_back_puts_nothing_off(scheduler):
    """The state just after it: what was done last, and what comes next, are an hour ahead."""
    scheduler.tick()
    for entry in scheduler.schedule.values():
        entry.last_run_at = entry.model.last_run_at = timezone.now() + timedelta(hours=1)
    scheduler._heap = [each._replace(time=each.time + 3600) for each in scheduler._heap]
    scheduler.tick()
    due_in_s = {each.entry.task: each.time - time.time() for each in scheduler._heap}
    assert due_in_s["workers.so_far"] <= 30
    scheduler.sync()
    assert not PeriodicTask.objects.filter(last_run_at__gt=timezone.now()).exists()


@pytest.fixture
def log(monkeypatch, settings):
    """What beat's libraries write, by the settings' own filter, as its log has it."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    in_short = OutagesInShort()
    loggers = [celery.beat.logger, schedulers.logger]
    for logger in loggers:
        assert settings.LOGGING["loggers"][logger.name]["filters"] == ["outages_in_short"]
        logger.addHandler(handler)
        logger.addFilter(in_short)
    yield text
    for logger in loggers:
        logger.removeHandler(handler)
        logger.removeFilter(in_short)


def test_a_quarter_of_an_hour_without_postgresql_is_a_line_a_minute(scheduler, log, monkeypatch):
    """Beat asks every five seconds whether its schedule has changed."""
    monkeypatch.setattr(PeriodicTasks, "last_change", away)
    pass_time(scheduler.schedule_changed, every_s=5, for_s=900)
    lines = log.getvalue().splitlines()
    assert len(lines) == 900 / OUTAGE_TOLD_EVERY_S
    assert all("Connection refused" in line for line in lines)


def test_so_is_one_without_redis_for_all_tasks_together(scheduler, log, monkeypatch):
    def refused(*_, **__):
        raise BrokerError("Error 111 connecting to redis:6379. Connection refused.")

    monkeypatch.setattr(app, "send_task", refused)  # beat words it as an error of its own
    entries = list(scheduler.schedule.values())

    def send_all():
        for entry in entries:
            scheduler.apply_entry(entry)

    pass_time(send_all, every_s=60, for_s=900)
    errors = [line for line in log.getvalue().splitlines() if line.startswith("ERROR")]
    assert len(errors) == 900 / OUTAGE_TOLD_EVERY_S
    assert "Traceback" not in log.getvalue()
    assert all(
        line.endswith("Error 111 connecting to redis:6379. Connection refused.") for line in errors
    )


def test_any_other_fault_keeps_its_traceback(log):
    try:
        raise ValueError("a fault of ours")
    except ValueError:
        celery.beat.logger.exception("It failed")
    assert "Traceback" in log.getvalue()


def pass_time(act, every_s: float, for_s: float) -> None:
    """Act every so often, by the time that log records have."""
    make = logging.getLogRecordFactory()
    now = [0.0]

    def at_now(*given, **named):
        record = make(*given, **named)
        record.created = now[0]
        return record

    logging.setLogRecordFactory(at_now)
    try:
        while now[0] < for_s:
            act()
            now[0] += every_s
    finally:
        logging.setLogRecordFactory(make)
