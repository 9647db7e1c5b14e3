"""The database's clock on this host, and a frozen process told from one that waits."""

import os
import signal
import subprocess
import sys
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


PROGRAM = """
import sys, time
from workers.launcher import FreezeDetector
seen = FreezeDetector()
print("begun", flush=True)
sys.stdin.readline()
print(seen.longest_s(2) > 0.9, flush=True)
time.sleep(1)
print(seen.longest_s(0.5) > 0.9, flush=True)
"""


def test_only_what_stops_the_whole_process_is_a_standstill():
    command = [sys.executable, "-c", PROGRAM]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline() == "begun\n"
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(1)  # a freeze takes its time
        os.kill(process.pid, signal.SIGCONT)
        process.stdin.write("go on\n")
        process.stdin.flush()
        assert process.stdout.readline() == "True\n"
        assert process.stdout.readline() == "False\n"
