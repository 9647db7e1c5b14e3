"""What a launcher does with seconds that the database or its own disk does not take."""

import errno
import signal
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.db import OperationalError, connection, transaction

from campaigns.core.database import db_now
from campaigns.engine.services import shards
from campaigns.models import Run, Shard
from tests.engine.scenes import at_once, running, second
from tests.frozen_backends import frozen_backends
from tests.waiting import eventually
from tests.workers.launching import done, in_background, in_thread, launch, read_only, when
from tests.workers.open_files import all_files_open
from workers import injector_process, launcher, spool
from workers.database import use_own_connection
from workers.dispatching import TIDY_EVERY_S

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("spool_folder")]


def away(**_):
    raise OperationalError("gone for good")


def test_seconds_wait_in_order_while_postgresql_is_away(run, dispatcher, monkeypatch):
    record, is_away, refusals = shards.record_seconds, threading.Event(), []

    def sometimes(**fields):
        if is_away.is_set():
            refusals.append(fields)
            raise OperationalError("the database system is starting up")
        return record(**fields)

    monkeypatch.setattr(spool, "record_seconds", sometimes)
    is_away.set()
    thread = in_background("--seconds", "4")
    when(run, lambda: len(refusals) >= 3)
    assert run.seconds.count() == 0
    is_away.clear()
    thread.join(10)
    done(run)
    assert (run.outcome, run.seconds.count()) == ("complete", 4)


def test_a_locked_table_of_seconds_costs_none_of_them_however_long_it_is_locked(
    run, dispatcher, settings, monkeypatch
):
    settings.HEARTBEAT_S = 0.3
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "options", "-c lock_timeout=200")
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE campaigns_shardsecond IN SHARE MODE")
        thread = in_background("--seconds", "4")
        at_once(lambda: when(run, run.shards.filter(state="storing").exists))
        # Long after all that its plan allows, and twice as long as it takes the dispatcher to see.
        at_once(lambda: Run.objects.filter(pk=run.pk).update(t0=db_now(-500)))
        time.sleep(2 * TIDY_EVERY_S)
    thread.join(10)
    done(run)
    assert (run.outcome, run.reason, run.seconds.count()) == ("complete", "", 4)


def test_who_waits_for_a_locked_table_of_seconds_keeps_nobody_from_renewing_its_lease(project):
    _, (lease,) = running(project)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE campaigns_shardsecond IN SHARE MODE")
        storing = in_thread(lambda: shards.record_seconds(lease=lease, seconds=[second(0)]))
        eventually(lambda: _n_waiting() == 1, 10, "a second waits")
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '500ms'")
        assert shards.heartbeat(lease=lease)
    storing.join(10)
    assert Run.objects.get().seconds.count() == 1


def _n_waiting() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks "
            "JOIN pg_database ON oid = database AND datname = current_database() "
            "WHERE NOT granted AND relation = 'campaigns_shardsecond'::regclass"
        )
        return cursor.fetchone()[0]


def test_what_could_not_be_stored_waits_for_the_next_start(run, dispatcher, monkeypatch, tmp_path):
    monkeypatch.setattr(launcher, "STORE_FOR_S", 0.5)
    with monkeypatch.context() as patch:
        patch.setattr(spool, "record_seconds", away)
        patch.setattr(launcher.shards, "mark_lost", away)
        launch("--seconds", "2")
    (path,) = tmp_path.glob("*.spool")
    assert not run.seconds.exists()
    assert spool.store_leftovers() == 1
    assert run.seconds.count() == 2
    assert not path.exists()
    done(run)
    spool.store_leftovers()
    assert list(tmp_path.iterdir()) == []


def test_who_stores_what_a_launcher_could_not_says_what_that_launcher_would_have_said(
    run, dispatcher, monkeypatch
):
    monkeypatch.setattr(launcher, "STORE_FOR_S", 0.5)
    with monkeypatch.context() as patch:
        patch.setattr(spool, "record_seconds", away)
        patch.setattr(launcher.shards, "mark_lost", away)
        launch("--mode", "crash")
    spool.store_leftovers()
    done(run)
    assert run.seconds.count() == 1
    assert "Segmentation fault in the hot path" in run.reason


def test_a_disk_that_becomes_read_only_in_the_middle_of_a_run_costs_no_second(
    run, dispatcher, monkeypatch, tmp_path, caplog
):
    append = spool.Spool.append

    def until_the_third(self, message):
        if message.get("second", 0) >= 2 or message["type"] == "end":
            read_only()
        append(self, message)

    with monkeypatch.context() as disk:
        disk.setattr(spool.Spool, "append", until_the_third)
        disk.setattr(Path, "rename", read_only)
        launch("--seconds", "5")
    done(run)
    assert (run.outcome, run.reason, run.seconds.count()) == ("complete", "", 5)
    assert caplog.text.count("Read-only file system") == 1
    spool.store_leftovers()
    assert (run.shards.get().state, list(tmp_path.iterdir())) == ("done", [])


def test_a_spool_that_lacks_a_second_does_not_say_that_its_run_is_whole(
    run, dispatcher, monkeypatch, tmp_path
):
    """The disk took nothing for a moment, and the launcher gave up before it had stored all."""
    append = spool.Spool.append

    def but_the_second(self, message):
        if message.get("second") == 1:
            read_only()
        append(self, message)

    monkeypatch.setattr(launcher, "ONLY_IN_MEMORY_FOR_S", 0.5)
    monkeypatch.setattr(spool.Spool, "append", but_the_second)
    with monkeypatch.context() as patch:
        patch.setattr(spool, "record_seconds", away)
        launch("--seconds", "3")
    spool.store_leftovers()
    when(run, lambda: run.outcome == "partial")  # failed, if it ended before these seconds came
    assert run.seconds.count() == 2
    assert "neither on its disk nor in PostgreSQL" in run.reason


def test_what_only_memory_has_waits_for_longer_and_the_log_says_what_would_lose_it(
    run, dispatcher, monkeypatch, caplog
):
    append, record, away_until = spool.Spool.append, shards.record_seconds, []

    def full(self, message):
        if message["type"] == "second":
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, message)

    def after_a_while(**fields):
        away_until.append(time.monotonic())
        if time.monotonic() < away_until[0] + 3:
            raise OperationalError("the database system is starting up")
        return record(**fields)

    monkeypatch.setattr(launcher, "STORE_FOR_S", 0.5)
    monkeypatch.setattr(spool.Spool, "append", full)
    monkeypatch.setattr(spool, "record_seconds", after_a_while)
    launch("--seconds", "2")
    done(run)
    assert (run.outcome, run.reason, run.seconds.count()) == ("complete", "", 2)
    assert "while PostgreSQL is away do not restart this worker" in caplog.text
    assert "PostgreSQL does not answer; seconds wait in memory: the database" in caplog.text


def test_a_spool_that_cannot_be_made_ends_the_run_in_words(run, dispatcher, monkeypatch):
    monkeypatch.setattr("workers.spool.RESERVE_BYTES", 2**60)
    launch()
    done(run)
    assert "MiB free" in run.reason
    assert Shard.objects.get().state == "lost"


def test_an_injector_that_cannot_be_started_leaves_nothing_to_be_stored(run, dispatcher, tmp_path):
    launcher.launch_one(worker="w", host="host 1", command=("/no/such/injector",))
    done(run)
    assert "The injector could not be started: [Errno 2] No such file" in run.reason
    assert [file.suffix for file in tmp_path.iterdir()] == [".stored"]


def test_a_spool_that_cannot_begin_is_closed(run, dispatcher, monkeypatch):
    files = []

    def full(self, message):
        files.append(self._file)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(spool.Spool, "append", full)
    launch()
    done(run)
    assert "No space left on device" in run.reason
    assert [file.closed for file in files] == [True]


@pytest.mark.parametrize("nth", range(6))
def test_an_injector_whose_launcher_gets_no_thread_is_ended(run, dispatcher, monkeypatch, nth):
    start, names, injectors = threading.Thread.start, [], []
    popen = injector_process.subprocess.Popen

    def start_some(thread):
        if len(names) == nth and injectors:
            raise RuntimeError("can't start new thread")
        if injectors:
            names.append(thread.name)
        start(thread)

    def open_and_note(*args, **options):
        injectors.append(popen(*args, **options))
        return injectors[-1]

    monkeypatch.setattr(injector_process.subprocess, "Popen", open_and_note)
    monkeypatch.setattr(threading.Thread, "start", start_some)
    launch()
    monkeypatch.undo()
    done(run)
    assert "can't start new thread: raise the host's limit of processes" in run.reason
    assert [process.returncode for process in injectors] == [-signal.SIGKILL]


def test_a_launcher_at_its_limit_of_open_files_claims_its_run_and_says_why_it_fails(
    run, dispatcher
):
    def at_the_limit():
        use_own_connection()
        with all_files_open():
            launch()

    at_once(at_the_limit)
    done(run)
    assert "files open that it may" in run.reason


def test_files_freed_since_the_failure_do_not_hide_the_limit(run, dispatcher, monkeypatch):
    failed = Mock(side_effect=OSError(errno.EMFILE, "Too many open files"))
    monkeypatch.setattr("workers.injector_process.subprocess.Popen", failed)
    launch()
    done(run)
    assert "files open that it may" in run.reason


def test_seconds_wait_while_no_file_can_be_opened_for_a_connection(run, dispatcher, monkeypatch):
    record, refusals = shards.record_seconds, []

    def after_a_while(**fields):
        if len(refusals) < 2:
            refusals.append(fields)
            raise OSError(errno.EMFILE, "Too many open files")
        return record(**fields)

    monkeypatch.setattr(spool, "record_seconds", after_a_while)
    launch("--seconds", "2")
    done(run)
    assert (run.outcome, run.seconds.count()) == ("complete", 2)


@pytest.mark.usefixtures("impatient", "dispatcher")
def test_a_run_is_complete_although_it_stood_still_while_it_was_measured(run, caplog):
    launching = in_background("--seconds", "20")
    when(run, lambda: run.seconds.exists())
    with frozen_backends():
        for part in (
            "Heartbeat failed",
            "PostgreSQL does not answer; seconds wait in the spool",
            "PostgreSQL does not answer",  # the dispatcher
        ):
            words = f"{part}: no answer from PostgreSQL within 0.3 s"
            eventually(lambda words=words: words in caplog.text, 10, part)
    launching.join(30)
    done(run, within_s=30)
    assert (run.outcome, run.reason) == ("complete", "")
    assert run.seconds.count() == 20
