import threading
import time
from functools import partial

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from campaigns.core import queue
from campaigns.core.database import db_now
from campaigns.engine.services import dispatch
from campaigns.models import InjectorHost, LoadControl, Run, Search
from campaigns.operations.services.load_control import stop_all_load
from tests.engine.scenes import age, at_once, claim, expire, host, preparing, running, started
from tests.searches import searching
from tests.waiting import eventually
from workers import database, dispatching, side_threads
from workers.dispatching import Dispatcher

pytestmark = pytest.mark.django_db(transaction=True)
HANGS_S = 30


class Running:
    """A dispatcher in a thread."""

    def __init__(self):
        self.end = threading.Event()
        self.dispatcher = Dispatcher(self.end)
        self.thread = threading.Thread(target=self.dispatcher.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join(15)
        assert not self.thread.is_alive()


def comes_to_lead(running: Running) -> None:
    eventually(lambda: running.dispatcher.is_active, 5, "it leads")


def is_admitted(campaign) -> None:
    eventually(campaign.runs.filter(state="preparing").exists, 5, "the run is admitted")


def test_a_search_that_others_keep_waiting_ends_with_its_time(project, monkeypatch):
    monkeypatch.setattr(dispatching, "TIDY_EVERY_S", -1)
    campaign = searching(project)
    InjectorHost.objects.update(slots=0)
    Search.objects.filter(pk=campaign.pk).update(deadline=db_now(1))
    Dispatcher(threading.Event()).tick()
    assert Search.objects.get(pk=campaign.pk).ending == "deadline"


def test_it_admits_a_run_at_its_next_tick_and_rings(project, monkeypatch):
    bell = threading.Event()
    monkeypatch.setattr(
        dispatch.queue, "send", lambda task, **_: task != queue.INJECT or bell.set() or True
    )
    host(slots=1)
    with Running():
        is_admitted(started(project))
        assert bell.wait(5)
    assert dispatching.TICK_S <= 0.5


def test_a_second_one_waits_and_takes_over(project):
    host(slots=1)
    with Running() as first:
        comes_to_lead(first)
        with Running() as second:
            time.sleep(0.5)  # more than two of its ticks
            assert not second.dispatcher.is_active
            first.end.set()
            comes_to_lead(second)
            is_admitted(started(project))


def test_a_host_that_vanished_keeps_the_lock_for_less_than_half_a_minute(db):
    """PostgreSQL is asked to notice it by itself: nobody there ends the session."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, reset_val::int FROM pg_settings "
            "WHERE source = 'client' AND name ~ '^tcp_'"
        )
        tcp = dict(cursor.fetchall())
    probes_s = tcp["tcp_keepalives_interval"] * tcp["tcp_keepalives_count"]
    assert 0 < tcp["tcp_keepalives_idle"] + probes_s < 30
    assert 0 < tcp["tcp_user_timeout"] < 30_000


def test_it_survives_a_lost_connection_and_leads_again(project):
    host(slots=1)
    with Running() as running:
        comes_to_lead(running)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks "
                "JOIN pg_database ON oid = database AND datname = current_database() "
                "WHERE locktype = 'advisory' AND objid = %s",
                [dispatching.LEADER_LOCK],
            )
        is_admitted(started(project))


def test_a_fault_in_one_rule_does_not_end_it(project, monkeypatch):
    monkeypatch.setattr(dispatching, "WAIT_AFTER_ERROR_S", 0.1)
    faults = [ValueError("a bug"), OperationalError("away")]
    admit = dispatch.admit_runs

    def admit_at_last():
        if faults:
            raise faults.pop()
        return admit()

    monkeypatch.setattr(dispatch, "admit_runs", admit_at_last)
    host(slots=1)
    campaign = started(project)
    with Running():
        is_admitted(campaign)
    assert not faults


@pytest.mark.parametrize("n_runs", [0, 1])
def test_a_tick_is_one_statement_and_another_while_a_run_sends(
    project, django_assert_num_queries, n_runs
):
    for _ in range(n_runs):
        running(project)
    dispatcher = Dispatcher(threading.Event())
    dispatcher.tick()
    with django_assert_num_queries(1 + n_runs):
        dispatcher.tick()


def is_stopped_meanwhile(project, hung: threading.Event, state: str) -> None:
    """A run that is asked to stop comes to this state long before `HANGS_S`."""
    host(slots=1)
    with Running():
        try:
            campaign = started(project)
            is_admitted(campaign)
            Run.objects.filter(campaign=campaign).update(stop_requested="user")
            eventually(campaign.runs.filter(state=state).exists, 10, "it is stopped")
        finally:
            hung.set()


def test_a_slow_broker_does_not_keep_it_from_its_ticks(project, monkeypatch):
    hung = threading.Event()
    monkeypatch.setattr(dispatch.queue, "send", lambda *_, **__: hung.wait(HANGS_S))
    is_stopped_meanwhile(project, hung, "done")


def test_a_stop_does_not_wait_for_the_summary_of_another_run(project, monkeypatch):
    hung = threading.Event()
    monkeypatch.setattr(side_threads.endings, "finalise_runs", lambda: hung.wait(HANGS_S) and 0)
    is_stopped_meanwhile(project, hung, "finalizing")


@pytest.fixture
def set_clock(monkeypatch):
    """By so many seconds, of the database's host."""
    offset_s = [0.0]
    monkeypatch.setattr(dispatching, "TIDY_EVERY_S", 0)
    monkeypatch.setattr(database, "_round_trip", lambda _: (0, int(offset_s[0] * 1e9)))

    def set_clock(step_s: float) -> None:
        offset_s[0] += step_s

    return set_clock


@pytest.mark.parametrize("step_s", [60, -60])
def test_a_clock_that_is_set_ends_what_is_under_way_before_anything_is_judged_by_its_age(
    project, set_clock, step_s
):
    run, _ = running(project)
    dispatcher = Dispatcher(threading.Event())
    dispatcher.tick()
    run.shards.update(lease_until=db_now(settings.LEASE_S - step_s))
    set_clock(step_s)
    for _ in range(3):
        dispatcher.tick()
    run.refresh_from_db()
    assert (run.state, run.stop_requested) == ("stopping", "clock_set")
    assert run.shards.get().state == "running"


@pytest.mark.parametrize("step_s", [60, -60])
def test_a_clock_that_is_set_while_nothing_is_under_way_ends_nothing_later(
    project, set_clock, step_s
):
    dispatcher = Dispatcher(threading.Event())
    dispatcher.tick()
    set_clock(step_s)
    dispatcher.tick()
    run, _ = running(project)
    dispatcher.tick()
    run.refresh_from_db()
    assert (run.state, run.stop_requested) == ("running", None)


@pytest.mark.parametrize("step_s", [1.9, -1.9])
def test_a_step_of_up_to_two_seconds_ends_nothing(project, set_clock, step_s):
    run, _ = running(project)
    dispatcher = Dispatcher(threading.Event())
    dispatcher.tick()
    set_clock(step_s)
    dispatcher.tick()
    run.refresh_from_db()
    assert run.stop_requested is None


@pytest.fixture
def unlock():
    yield
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock_all()")


@pytest.mark.usefixtures("unlock")
def test_a_clock_that_was_set_while_another_one_led_ends_nothing(project, set_clock):
    with Running() as first:
        comes_to_lead(first)
        second = Dispatcher(threading.Event())
        second.tick()
        assert not second._lead()
        set_clock(60)
    run, _ = running(project)
    assert second._lead()
    second.tick()
    run.refresh_from_db()
    assert run.stop_requested is None


def test_what_was_done_while_the_clock_was_set_is_undone(project, set_clock, monkeypatch):
    run, _ = running(project)
    reap = dispatch.reap_shards

    def reap_as_the_clock_is_set():
        run.shards.update(lease_until=db_now(-30))
        set_clock(60)
        return reap()

    dispatcher = Dispatcher(threading.Event())
    dispatcher.tick()
    monkeypatch.setattr(dispatch, "reap_shards", reap_as_the_clock_is_set)
    dispatcher.tick()
    assert run.shards.get().state == "running"
    monkeypatch.setattr(dispatch, "reap_shards", reap)
    dispatcher.tick()
    assert run.shards.get().state == "running"
    assert Run.objects.get(pk=run.pk).stop_requested == "clock_set"


def test_whoever_stops_all_load_and_it_wait_for_each_others_runs_in_one_order(
    project, as_adam, monkeypatch
):
    """Otherwise PostgreSQL ends one of them, such as the stop, with an error."""
    age_runs = dispatch.age_runs
    waiting = preparing(project)
    claim(waiting)
    sending, _ = running(project)
    assert waiting.pk < sending.pk
    age(waiting, 61)
    expire(sending)

    def age_slowly() -> int:
        time.sleep(0.5)
        return age_runs()

    def stop() -> int:
        time.sleep(0.2)
        return stop_all_load(by=as_adam)

    monkeypatch.setattr(dispatch, "age_runs", age_slowly)
    dispatcher = Dispatcher(threading.Event())
    dispatcher._clock.step_s()
    assert at_once(partial(dispatcher.tidy, frozenset({"running"})), stop)[1] is not None
    assert not LoadControl.objects.get().is_on
