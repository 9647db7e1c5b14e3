"""The database's clock on this host, a frozen process told from one that waits, and host names."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest
from django.db import connection

from campaigns.models import Run
from tests.engine.scenes import host, started
from tests.factories import make_endpoint, make_target
from tests.waiting import eventually
from tests.workers.test_dispatcher import Running
from workers import database, side_threads
from workers.dialling import addresses_of, own_addresses
from workers.side_threads import NamesThread


def test_the_databases_now_is_this_hosts_monotonic_now(db):
    with connection.cursor() as cursor:
        before_ns = time.monotonic_ns()
        cursor.execute("SELECT clock_timestamp()")
        after_ns = time.monotonic_ns()
        now = cursor.fetchone()[0]
    margin_ns = 5_000_000
    assert before_ns - margin_ns < database.start_of(now)[0] < after_ns + margin_ns


def test_it_believes_the_quickest_round_trip_and_says_by_how_much_it_may_be_wrong(monkeypatch):
    trips = iter([(900, 50), (100, 7), (400, -20)] + [(1000, 99)] * 5)
    monkeypatch.setattr(database, "_round_trip", lambda: next(trips))
    assert database.start_of(database.EPOCH + timedelta(microseconds=1)) == (993, 50)


def test_a_clock_that_is_set_is_noticed_until_that_was_dealt_with(monkeypatch):
    offsets_s = iter([100, 100.9, 161, 161, 162, 72])
    monkeypatch.setattr(database, "_round_trip", lambda _: (1_000, int(next(offsets_s) * 1e9)))
    watch = database.ClockWatch()
    assert [watch.step_s(), watch.step_s()] == [0, 0], "it only drifts"
    assert [round(watch.step_s()), round(watch.step_s())] == [60, 60]
    watch.accept()
    assert [watch.step_s(), watch.step_s()] == [0, -90]


def test_instants_keep_their_microseconds(monkeypatch):
    monkeypatch.setattr(database, "_round_trip", lambda: (10, 1_000))
    instant = database.EPOCH + timedelta(days=20_000, microseconds=1)
    assert database.start_of(instant)[0] == 20_000 * 86_400 * 10**9 + 1_000 - 1_000


PROGRAM = """
import sys, time
import django
django.setup()
from workers.launcher import FreezeDetector
seen = FreezeDetector()
print("begun", flush=True)
sys.stdin.readline()
print(seen.longest_s(2) > 0.9, flush=True)
time.sleep(1)
print(seen.longest_s(0.5) > 0.9, flush=True)
"""


@pytest.mark.long
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


@pytest.fixture
def names(monkeypatch) -> list[str]:
    """The names that were asked for; all stand for one machine with two addresses."""
    names = []
    monkeypatch.setattr(
        side_threads,
        "addresses_of",
        lambda host, port: names.append(host) or ["10.0.0.5", "fd00::5"],
    )
    return names


def on(project, name: str):
    return started(project, endpoint=make_endpoint(make_target(project), host=name))


def test_a_name_is_asked_for_once_in_a_while(db, project, names):
    run = on(project, "shop.example").runs.get()
    on(project, "10.0.0.9")
    thread = NamesThread(threading.Event(), is_active=lambda: True)
    thread.act()
    thread.act()
    run.refresh_from_db()
    assert names == ["shop.example"]
    assert run.machines == ["10.0.0.5", "fd00::5"]


def test_a_name_is_asked_for_again_while_its_run_waits(db, project, names, monkeypatch):
    on(project, "shop.example")
    monkeypatch.setattr(side_threads, "NAMES_AGAIN_AFTER_S", 0.0)
    thread = NamesThread(threading.Event(), is_active=lambda: True)
    thread.act()
    thread.act()
    assert names == ["shop.example"] * 2


@pytest.mark.django_db(transaction=True)
def test_two_names_of_one_machine_are_measured_one_after_the_other(project, names):
    host(slots=4)
    on(project, "shop.example"), on(project, "www.example")
    with Running():
        runs = Run.objects.filter(state="preparing")
        eventually(runs.exists, 5, "a run is admitted")
        eventually(lambda: len(names) == 2, 5, "both names are looked up")
        assert runs.count() == 1


def test_an_unknown_name_has_no_address(monkeypatch):
    def unknown(*_args, **_kwargs):
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert addresses_of("nowhere.invalid", 80) == []


def test_a_name_has_all_of_its_addresses(monkeypatch):
    answers = [(2, 1, 6, "", ("10.0.0.5", 80)), (10, 1, 6, "", ("fd00::5", 80, 0, 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_kwargs: answers)
    assert addresses_of("shop.example", 80) == ["10.0.0.5", "fd00::5"]


TRIE = """Local:
  +-- 0.0.0.0/0 3 0 5
     |-- 10.0.0.0
        /24 link UNICAST
     |-- 10.0.0.7
        /32 host LOCAL
     |-- 10.0.0.255
        /32 link BROADCAST
     |-- 127.0.0.1
        /32 host LOCAL
"""


def test_it_reads_the_addresses_that_the_kernel_calls_local(tmp_path):
    ipv4, ipv6 = tmp_path / "fib_trie", tmp_path / "if_inet6"
    ipv4.write_text(TRIE)
    ipv6.write_text("fd000000000000000000000000000007 02 40 00 80 eth0\n")
    assert own_addresses(ipv4, ipv6) == ["10.0.0.7", "127.0.0.1", "fd00::7"]


def test_a_machine_that_tells_nothing_has_no_known_address(tmp_path):
    assert own_addresses(tmp_path / "none", tmp_path / "none") == []


def test_this_machine_has_a_loopback_address():
    assert "127.0.0.1" in own_addresses()
