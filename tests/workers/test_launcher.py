"""The launcher with a small program in the injector's place, on the real database."""

import errno
import sys
import threading
import time
from itertools import takewhile
from pathlib import Path

import pytest
from django.db import OperationalError, connection, transaction

from campaigns.models import Run, Shard
from campaigns.models.dbtime import db_now
from campaigns.services import dispatch, shards
from tests.services.engine import at_once, preparing
from tests.waiting import eventually
from tests.workers.open_files import all_files_open
from workers import clock, delivery, launcher, leftovers, spool, watch
from workers.database import use_own_connection
from workers.dispatching import TIDY_EVERY_S

# Its seconds are short: nothing here depends on their length.
FAKE = (sys.executable, str(Path(__file__).with_name("fake_injector.py")), "--second-s", "0.2")
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _spool(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


@pytest.fixture
def run(project):
    return preparing(project)


def launch(*options: str) -> bool:
    return launcher.launch_one(worker="w", host="host 1", command=(*FAKE, *options))


def in_background(*options: str) -> threading.Thread:
    def work():
        try:
            launch(*options)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def done(run: Run, within_s: float = 10) -> Run:
    return when(run, lambda: run.state == "done", within_s)


def when(run: Run, is_so, within_s: float = 10) -> Run:
    eventually(lambda: run.refresh_from_db() or is_so(), within_s, f"what {run} was to come to")
    return run


def test_a_shard_goes_from_claim_to_done_with_all_its_seconds(run, dispatcher, tmp_path):
    assert launch("--seconds", "3")
    done(run)
    shard = run.shards.get()
    assert (run.outcome, shard.state, shard.worker) == ("complete", "done", "w")
    assert list(run.seconds.values_list("second", flat=True).order_by("second")) == [0, 1, 2]
    assert shard.end["totals"] == {"started": 30, "ok": 30}
    assert 0 <= shard.end["start_error_us"] < 1_000_000
    assert [path.suffix for path in tmp_path.iterdir()] == [".stored"]


def test_without_an_open_shard_there_is_nothing_to_do(db):
    assert not launch()


def test_the_injector_starts_at_the_common_instant(run, dispatcher, monkeypatch):
    told = []
    tell = launcher.InjectorProcess.tell
    monkeypatch.setattr(
        launcher.InjectorProcess,
        "tell",
        lambda self, message: (told.append(message), tell(self, message)),
    )
    launch("--seconds", "1")
    run.refresh_from_db()
    (start,) = [message["start_at_ns"] for message in told if "start_at_ns" in message]
    assert abs(start - clock.start_of(run.t0)[0]) < 5_000_000


def test_the_right_to_send_is_taken_before_the_start(run, dispatcher):
    launch("--seconds", "1")
    run.refresh_from_db()
    assert run.events.get(kind="shard_running").at < run.t0


def test_a_refusal_is_the_runs_reason(run, dispatcher):
    launch("--mode", "refuse")
    done(run)
    assert run.outcome == "failed"
    assert run.reason == "The name nowhere.invalid could not be resolved."


def test_a_crash_keeps_what_was_seen_and_says_the_last_words(run, dispatcher):
    launch("--mode", "crash")
    done(run)
    assert (run.outcome, run.seconds.count()) == ("partial", 1)
    assert run.reason == (
        "The injector exited with status 70. Its last output: Segmentation fault in the hot path"
    )


def test_a_program_that_is_no_injector_ends_the_run(run, dispatcher):
    launcher.launch_one(worker="w", host="h", command=("/bin/echo", "hello"))
    done(run)
    assert (run.outcome, run.reason) == ("failed", "The injector exited with status 0.")


def test_a_line_that_nobody_could_read_later_ends_the_run_and_is_not_stored(run, dispatcher):
    launch("--mode", "babble")
    done(run)
    assert (run.outcome, run.seconds.count()) == ("failed", 0)
    assert run.reason == (
        "The injector wrote a line that breaks its contract: timings.response: n, sum_us, "
        "sum_squares, min_us, max_us must be whole numbers."
    )


def test_an_end_that_nobody_could_read_later_is_not_stored_but_the_seconds_are(run, dispatcher):
    launch("--mode", "mumble")
    done(run)
    assert (run.outcome, run.seconds.count(), run.shards.get().end) == ("partial", 2, None)
    assert run.reason == (
        "The injector wrote a line that breaks its contract: duration_us is not a whole number."
    )


def note_looks(monkeypatch) -> list[tuple[float, bool]]:
    """When each of the watch's looks began, and whether it saw a request for a stop."""
    looks = []

    def noted(ask):
        def asked(**what):
            began_at = time.monotonic()
            pulse = ask(**what)
            looks.append((began_at, bool(pulse and pulse.stop_requested)))
            return pulse

        return asked

    monkeypatch.setattr(watch, "look", noted(watch.look))
    monkeypatch.setattr(watch, "heartbeat", noted(watch.heartbeat))
    return looks


def test_a_stop_is_felt_at_the_next_look_and_looks_are_close(run, dispatcher, monkeypatch):
    """How long that takes, `python -m benchmarks.faults.stops` measures; here a busy machine may be
    late with all of it."""
    looks = note_looks(monkeypatch)
    thread = in_background("--seconds", "150")
    when(run, lambda: run.seconds.exists())
    Run.objects.filter(pk=run.pk).update(stop_requested="user")
    asked_at = time.monotonic()
    thread.join(30)
    done(run, within_s=30)
    assert (run.outcome, run.shards.get().end["outcome"]) == ("stopped", "stopped")
    blind = list(takewhile(lambda look: not look[1], looks))
    assert len(blind) < len(looks)
    assert all(began_at <= asked_at for began_at, _ in blind)
    assert watch.LOOK_EVERY_S <= 0.5


def test_an_injector_that_does_not_hear_stop_is_killed(run, dispatcher, monkeypatch):
    monkeypatch.setattr(launcher, "STOP_GRACE_S", 0.5)
    thread = in_background("--seconds", "300", "--mode", "deaf")
    when(run, lambda: run.seconds.exists())
    Run.objects.filter(pk=run.pk).update(stop_requested="user")
    thread.join(5)
    assert not thread.is_alive()
    done(run)
    assert run.outcome == "stopped"
    assert "SIGKILL" in run.shards.get().reason


def test_a_lost_lease_stops_the_injector_at_once(run, dispatcher, settings):
    settings.HEARTBEAT_S = 0.3
    thread = in_background("--seconds", "300")
    when(run, lambda: run.seconds.exists())
    with transaction.atomic():
        run.shards.update(lease_until=db_now(-1))
        dispatch.reap_shards()
    thread.join(3)
    assert not thread.is_alive()
    done(run)
    assert run.outcome == "partial"
    assert run.reason == "The injector host stopped answering while it was sending."


def test_without_postgresql_it_stops_sending_by_itself(run, dispatcher, settings, monkeypatch):
    settings.HEARTBEAT_S = 0.3
    thread = in_background("--seconds", "300")
    when(run, lambda: run.seconds.exists())
    # Not before: on a busy machine a start may well take more than a second.
    settings.DEAD_MAN_S = 1.0

    def away(**_):
        raise OperationalError("no route to host")

    monkeypatch.setattr(watch, "heartbeat", away)
    monkeypatch.setattr(watch, "look", away)
    thread.join(5)
    assert not thread.is_alive()
    done(run)
    assert run.outcome == "partial"
    assert run.reason == (
        "The injector host had no contact with PostgreSQL for 1 s and stopped sending."
    )


def test_a_launcher_that_was_frozen_does_not_blame_postgresql(
    run, dispatcher, settings, monkeypatch
):
    settings.HEARTBEAT_S = 0.3
    thread = in_background("--seconds", "300")
    when(run, lambda: run.seconds.exists())
    settings.DEAD_MAN_S = 1.5

    def timed_out(**_):
        raise OperationalError("the connection timed out")

    for name in ("heartbeat", "look"):
        monkeypatch.setattr(watch, name, timed_out)
    monkeypatch.setattr(launcher.Standstill, "longest_s", lambda *_: 2.0)
    thread.join(5)
    done(run)
    assert run.reason == "The launcher on the injector host was frozen for 2 s."


def test_a_launcher_that_waits_for_postgresql_before_the_start_was_not_frozen(
    run, dispatcher, settings, monkeypatch
):
    settings.HEARTBEAT_S, settings.DEAD_MAN_S = 0.3, 1.0
    look = shards.look

    def slow(**given):
        time.sleep(2)  # longer than the time after which it stops
        return look(**given)

    def away(**_):
        raise OperationalError("no route to host")

    for name in ("heartbeat", "look"):
        monkeypatch.setattr(watch, name, away)
    monkeypatch.setattr(launcher.shards, "look", slow)
    launch("--seconds", "300")
    done(run)
    assert "had no contact with PostgreSQL for 1 s" in run.reason


def test_it_tells_the_injector_that_it_lives_after_each_heartbeat(
    run, dispatcher, settings, monkeypatch
):
    settings.HEARTBEAT_S = 0.3
    beats, told = [], []
    beat, tell = watch.heartbeat, launcher.InjectorProcess.tell
    monkeypatch.setattr(watch, "heartbeat", lambda **given: beats.append(1) or beat(**given))
    monkeypatch.setattr(
        launcher.InjectorProcess,
        "tell",
        lambda self, message: (told.append(message), tell(self, message)),
    )
    launch("--seconds", "7")
    assert told[0]["dead_man_s"] == settings.DEAD_MAN_S
    assert len(beats) >= 3
    assert abs(len(beats) - told.count({"alive": True})) <= 1


def test_seconds_wait_in_order_while_postgresql_is_away(run, dispatcher, monkeypatch):
    record, is_away, refused = shards.record_seconds, threading.Event(), []

    def sometimes(**given):
        if is_away.is_set():
            refused.append(given)
            raise OperationalError("the database system is starting up")
        return record(**given)

    monkeypatch.setattr(delivery, "record_seconds", sometimes)
    is_away.set()
    thread = in_background("--seconds", "4")
    when(run, lambda: len(refused) >= 3)
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


def test_what_could_not_be_stored_waits_for_the_next_start(run, dispatcher, monkeypatch, tmp_path):
    def away(**_):
        raise OperationalError("gone for good")

    monkeypatch.setattr(launcher, "STORE_FOR_S", 0.5)
    with monkeypatch.context() as patch:
        patch.setattr(delivery, "record_seconds", away)
        patch.setattr(launcher.shards, "mark_lost", away)
        launch("--seconds", "2")
    (path,) = tmp_path.glob("*.spool")
    assert not run.seconds.exists()
    assert leftovers.store_leftovers() == 1
    assert run.seconds.count() == 2
    assert not path.exists()
    done(run)
    leftovers.store_leftovers()
    assert list(tmp_path.iterdir()) == []


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
    leftovers.store_leftovers()
    assert (run.shards.get().state, list(tmp_path.iterdir())) == ("done", [])


def read_only(*_):
    raise OSError(errno.EROFS, "Read-only file system")


def test_a_spool_that_lacks_a_second_does_not_say_that_its_run_is_whole(
    run, dispatcher, monkeypatch, tmp_path
):
    """The disk took nothing for a moment, and then the launcher died before it had stored all."""
    append = spool.Spool.append

    def but_the_second(self, message):
        if message.get("second") == 1:
            read_only()
        append(self, message)

    def away(**_):
        raise OperationalError("gone for good")

    monkeypatch.setattr(launcher, "STORE_FOR_S", 0.5)
    monkeypatch.setattr(spool.Spool, "append", but_the_second)
    with monkeypatch.context() as patch:
        patch.setattr(delivery, "record_seconds", away)
        launch("--seconds", "3")
    leftovers.store_leftovers()
    done(run)
    assert (run.outcome, run.seconds.count()) == ("partial", 2)


def test_four_launchers_share_a_run(project, dispatcher):
    run = preparing(project, n_shards=4)
    at_once(*[launch] * 4)
    done(run)
    assert run.outcome == "complete"
    assert set(run.seconds.values_list("shard", flat=True)) == {0, 1, 2, 3}


def test_the_injector_gets_no_secret_of_ours(run, dispatcher, tmp_path):
    told = tmp_path / "environment"
    script = f"import os; open({str(told)!r}, 'w').write(repr(sorted(os.environ)))"
    launcher.launch_one(worker="w", host="h", command=(sys.executable, "-c", script))
    names = told.read_text()
    assert "PATH" in names
    for secret in ("DATABASE_URL", "REDIS_URL", "SECRET"):
        assert secret not in names


def test_a_spool_that_cannot_be_made_ends_the_run_in_words(run, dispatcher, monkeypatch):
    monkeypatch.setattr("workers.spool.RESERVE_BYTES", 2**60)
    launch()
    done(run)
    assert "MiB free" in run.reason
    assert Shard.objects.get().state == "lost"


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


def test_seconds_wait_while_no_file_can_be_opened_for_a_connection(run, dispatcher, monkeypatch):
    record, refused = shards.record_seconds, []

    def after_a_while(**given):
        if len(refused) < 2:
            refused.append(given)
            raise OSError(errno.EMFILE, "Too many open files")
        return record(**given)

    monkeypatch.setattr(delivery, "record_seconds", after_a_while)
    launch("--seconds", "2")
    done(run)
    assert (run.outcome, run.seconds.count()) == ("complete", 2)
