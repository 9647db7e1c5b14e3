"""The launcher with a small program in the injector's place, on the real database."""

import errno
import sys
import time
from itertools import takewhile
from types import SimpleNamespace

import pytest
from django.db import OperationalError, transaction

from campaigns.core.database import db_now
from campaigns.domain.lifecycle import StopReason
from campaigns.engine.services import dispatch, shards
from campaigns.models import Run
from tests.engine.scenes import at_once, preparing
from tests.waiting import eventually
from tests.workers.launching import done, launch, sending
from workers import database, launcher, watch

NO_CONTACT = "The injector host had no contact with PostgreSQL for 1 s and stopped sending."
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("spool_folder")]


def test_a_shard_goes_from_claim_to_done_with_all_its_seconds(run, dispatcher, tmp_path):
    assert launch("--seconds", "3")
    done(run)
    shard = run.shards.get()
    assert (run.outcome, shard.state, shard.worker) == ("complete", "done", "w")
    assert list(run.seconds.values_list("second", flat=True).order_by("second")) == [0, 1, 2]
    assert shard.end["totals"] == {"started": 30, "ok": 30}
    assert 0 <= shard.end["start_error_us"] < 1_000_000
    assert all(0 < share <= 1 for _, share in shard.end["programs"])
    assert [path.suffix for path in tmp_path.iterdir()] == [".stored"]


def test_what_else_used_the_cpu_meanwhile_is_stored_with_the_end(run, dispatcher, monkeypatch):
    programs = [{"name": "python3 report.py", "cores": 0.9}]
    use = SimpleNamespace(take=lambda: {"cores": 2, "programs": programs}, close=lambda: None)
    monkeypatch.setattr(launcher, "HostWatch", lambda own: use)
    assert launch("--seconds", "1")
    done(run)
    assert run.shards.get().injector_end.programs == [["python3 report.py", 0.45]]


def test_a_host_that_does_not_tell_what_else_runs_measures_all_the_same(
    run, dispatcher, monkeypatch
):
    def no_files(own):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(launcher, "HostWatch", no_files)
    assert launch("--seconds", "1")
    done(run)
    assert (run.outcome, run.shards.get().injector_end.programs) == ("complete", None)


def test_without_an_open_shard_there_is_nothing_to_do(db):
    assert not launch()


def starts_in(messages) -> list[int]:
    return [message["start_at_ns"] for _, message in messages if "start_at_ns" in message]


def test_the_injector_starts_at_the_common_instant_for_which_it_has_the_right_before(
    run, dispatcher, messages
):
    launch("--seconds", "1")
    run.refresh_from_db()
    (start,) = starts_in(messages)
    assert abs(start - database.start_of(run.t0)[0]) < 5_000_000
    assert run.events.get(kind="shard_running").at < run.t0


@pytest.mark.parametrize("step_s", [60, -60])
def test_a_start_by_a_clock_that_was_set_is_read_again(
    run, dispatcher, messages, monkeypatch, step_s
):
    """As long as the dispatcher has not followed the clock, nobody begins by it."""
    instants, start_of = [], launcher.start_of

    def of_a_clock_that_was_set(t0):
        at_ns, error_ns = start_of(t0)
        instants.append(at_ns)
        return at_ns - (step_s * launcher.NS if len(instants) < 4 else 0), error_ns

    monkeypatch.setattr(launcher, "start_of", of_a_clock_that_was_set)
    launch("--seconds", "1")
    done(run)
    assert run.outcome == "complete"
    assert len(instants) == 4
    assert starts_in(messages) == instants[-1:]


BREACH = "The injector wrote a line that breaks its contract: "
CRASH = "The injector exited with status 70. Its last output: Segmentation fault in the hot path"


@pytest.mark.parametrize(
    ("mode", "outcome", "n_seconds", "reason"),
    [
        ("refuse", "failed", 0, "The name nowhere.invalid could not be resolved."),
        ("crash", "partial", 1, CRASH),
        # Nobody could read these lines later: they are not stored.
        (
            "babble",
            "failed",
            0,
            f"{BREACH}timings.response: n, sum_us, sum_squares, min_us, max_us must be whole "
            "numbers.",
        ),
        ("mumble", "partial", 2, f"{BREACH}duration_us is not a whole number."),
    ],
)
def test_what_went_wrong_is_the_runs_reason_and_what_was_seen_is_kept(
    run, dispatcher, mode, outcome, n_seconds, reason
):
    launch("--mode", mode)
    done(run)
    assert (run.outcome, run.seconds.count(), run.reason) == (outcome, n_seconds, reason)
    assert not (run.shards.get().end or {}).get("duration_us")


@pytest.mark.parametrize(
    ("mode", "words"), [("decline", "No�name."), ("croak", "Segmentation�fault")]
)
def test_words_that_cannot_be_stored_are_told_all_the_same(run, dispatcher, mode, words):
    launch("--mode", mode)
    assert words in done(run).reason


def test_an_end_with_words_that_cannot_be_stored_is_an_end(run, dispatcher):
    launch("--mode", "rattle")
    assert done(run).outcome == "complete"
    assert run.shards.get().injector_end.servers == ["a�b �"]


def test_a_program_that_is_no_injector_ends_the_run(run, dispatcher):
    launcher.launch_one(worker="w", host="h", command=("/bin/echo", "hello"))
    done(run)
    assert (run.outcome, run.reason) == ("failed", "The injector exited with status 0.")


def note_looks(monkeypatch) -> list[tuple[float, bool]]:
    """When each of the watch's looks began, and whether it saw a request for a stop."""
    looks = []

    def note(ask):
        def ask_and_note(**what):
            began_at = time.monotonic()
            pulse = ask(**what)
            looks.append((began_at, bool(pulse and pulse.stop_requested)))
            return pulse

        return ask_and_note

    monkeypatch.setattr(watch, "look", note(watch.look))
    monkeypatch.setattr(watch, "heartbeat", note(watch.heartbeat))
    return looks


def test_a_stop_is_felt_at_the_next_look_and_looks_are_close(run, dispatcher, monkeypatch):
    """`python -m benchmarks.faults --kinds stops` measures how long that takes; here a busy machine
    may be late with all of it."""
    looks = note_looks(monkeypatch)
    thread = sending(run, "--seconds", "150")
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
    thread = sending(run, "--seconds", "300", "--mode", "deaf")
    Run.objects.filter(pk=run.pk).update(stop_requested="user")
    thread.join(5)
    assert not thread.is_alive()
    done(run)
    assert run.outcome == "stopped"
    assert "SIGKILL" in run.shards.get().reason


def test_a_lost_lease_stops_the_injector_at_once(run, dispatcher, settings):
    settings.HEARTBEAT_S = 0.3
    thread = sending(run, "--seconds", "300")
    with transaction.atomic():
        run.shards.update(lease_until=db_now(-1))
        dispatch.reap_shards()
    thread.join(3)
    assert not thread.is_alive()
    done(run)
    assert run.outcome == "partial"
    assert run.reason == "The injector host stopped answering while it was sending."


def away(**_):
    raise OperationalError("no route to host")


def lose_postgresql(monkeypatch, how=away) -> None:
    for name in ("heartbeat", "look"):
        monkeypatch.setattr(watch, name, how)


def test_an_injector_that_hears_nothing_does_not_keep_its_run_from_saying_what_happened(
    run, dispatcher, settings, monkeypatch
):
    """Its host is there; the lease ended while PostgreSQL was away."""
    settings.HEARTBEAT_S = 0.3
    thread = sending(run, "--seconds", "300", "--mode", "deaf")
    settings.DEAD_MAN_S = 1.0
    with monkeypatch.context() as outage:
        lose_postgresql(outage)
        time.sleep(1.5)  # it is asked to end after 1 s, and killed 5 s later
        with transaction.atomic():
            run.shards.update(lease_until=db_now(-1))
            dispatch.reap_shards()
    thread.join(launcher.STOP_GRACE_S + 10)
    done(run)
    eventually(lambda: run.refresh_from_db() or NO_CONTACT in run.reason, 10, run.reason)


def at_the_limit(**_):
    raise OSError(errno.EMFILE, "Too many open files")


FROZEN = "The launcher on the injector host was frozen for 2 s."
FILES = "this process has all 36 files open"


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "frozen_s", "reason"),
    [(away, 0, NO_CONTACT), (away, 2, FROZEN), (at_the_limit, 0, f"{NO_CONTACT[:-1]}: {FILES}")],
    ids=["without PostgreSQL", "frozen", "at the limit of open files"],
)
def test_one_that_hears_nothing_stops_sending_by_itself_and_says_whose_fault_it_was(
    run, dispatcher, settings, monkeypatch, how, frozen_s, reason
):
    settings.HEARTBEAT_S = 0.3
    thread = sending(run, "--seconds", "300")
    # Not before: on a busy machine a start may well take more than a second.
    settings.DEAD_MAN_S = 1.0
    lose_postgresql(monkeypatch, how)
    monkeypatch.setattr(watch, "file_limit", lambda: FILES if how is at_the_limit else "")
    if frozen_s:
        monkeypatch.setattr(launcher.FreezeDetector, "longest_s", lambda *_: float(frozen_s))
    thread.join(5)
    assert not thread.is_alive()
    assert (done(run).outcome, run.reason) == ("partial", reason)


@pytest.mark.parametrize(
    ("silence", "why"),
    [
        ((1.0, ""), NO_CONTACT),
        ((1.0, "all 36 files open"), f"{NO_CONTACT[:-1]}: all 36 files open"),
        ((0.2, ""), StopReason.DEAD_MAN.sentence),
    ],
)
def test_an_injector_that_stopped_first_does_not_blame_a_launcher_without_postgresql(
    run, dispatcher, settings, monkeypatch, silence, why
):
    """Both have the same limit, and the launcher knows why it was silent."""
    settings.HEARTBEAT_S, settings.DEAD_MAN_S = 0.3, 1.0
    monkeypatch.setattr(watch.Watch, "worst_silence", lambda _: silence)
    launch("--mode", "lonely", "--seconds", "300")
    done(run)
    assert run.outcome == "partial"
    assert run.reason == why
    assert run.seconds.count() == 1


def test_the_longest_silence_is_known_when_it_is_over(run, dispatcher, settings, monkeypatch):
    settings.HEARTBEAT_S, settings.DEAD_MAN_S = 0.3, 30
    silences, close = [], watch.Watch.close

    def note_and_close(self):
        silences.append(self.worst_silence())
        close(self)

    monkeypatch.setattr(watch.Watch, "close", note_and_close)
    thread = sending(run, "--seconds", "20")
    with monkeypatch.context() as outage:
        lose_postgresql(outage, at_the_limit)
        outage.setattr(watch, "file_limit", lambda: "all 36 files open")
        time.sleep(1.5)
    thread.join(15)
    ((silent_s, files),) = silences
    assert silent_s > 1.4
    assert files == "all 36 files open"


def test_a_launcher_that_waits_for_postgresql_before_the_start_was_not_frozen(
    run, dispatcher, settings, monkeypatch
):
    settings.HEARTBEAT_S, settings.DEAD_MAN_S = 0.3, 1.0
    look = shards.look

    def slow(**fields):
        time.sleep(2)  # longer than the time after which it stops
        return look(**fields)

    lose_postgresql(monkeypatch)
    monkeypatch.setattr(launcher.shards, "look", slow)
    launch("--seconds", "300")
    done(run)
    assert NO_CONTACT in run.reason


def test_it_tells_the_injector_that_it_lives_after_each_heartbeat(
    run, dispatcher, messages, settings, monkeypatch
):
    settings.HEARTBEAT_S = 0.3
    beats, beat = [], watch.heartbeat
    monkeypatch.setattr(watch, "heartbeat", lambda **fields: beats.append(1) or beat(**fields))
    launch("--seconds", "7")
    assert messages[0][1]["dead_man_s"] == settings.DEAD_MAN_S
    assert len(beats) >= 3
    assert abs(len(beats) - sum(message == {"alive": True} for _, message in messages)) <= 1


def test_four_launchers_share_a_run(project, dispatcher):
    run = preparing(project, n_shards=4)
    at_once(*[launch] * 4)
    done(run)
    assert run.outcome == "complete"
    assert set(run.seconds.values_list("shard", flat=True)) == {0, 1, 2, 3}


def test_the_injector_gets_no_secret_of_ours(run, dispatcher, tmp_path):
    environment = tmp_path / "environment"
    script = f"import os; open({str(environment)!r}, 'w').write(repr(sorted(os.environ)))"
    launcher.launch_one(worker="w", host="h", command=(sys.executable, "-c", script))
    names = environment.read_text()
    assert "PATH" in names
    for secret in ("DATABASE_URL", "REDIS_URL", "SECRET"):
        assert secret not in names


def test_an_injector_starts_with_the_memory_limit_of_the_settings(settings):
    settings.INJECTOR_MEMORY_MB = 300
    tells = (
        "import json, resource\n"
        "print(json.dumps({'type': 'limit', 'bytes': resource.getrlimit(resource.RLIMIT_DATA)[0]}))"
    )
    process = launcher.InjectorProcess({}, (sys.executable, "-c", tells))
    assert process.next_message(10)["bytes"] == 300 * 1024 * 1024
    process.end(1)
