"""A stop needs no fast database: it reaches the injectors through Redis, before it is stored."""

import sys
import threading
import time
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db.backends.utils import CursorWrapper
from django.urls import reverse

from campaigns.domain.stop_reasons import StopReason
from campaigns.stop_calls import StopCall, call
from tests.services.engine import preparing
from tests.waiting import eventually
from tests.workers.launching import in_thread
from workers import launcher
from workers.stop_listener import StopListener

FAKE = (sys.executable, str(Path(__file__).with_name("fake_injector.py")), "--second-s", "0.2")
HELD_S = 1  # longer than a call through Redis takes on a busy machine
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(project, settings, tmp_path):
    settings.SPOOL_DIR = tmp_path
    return preparing(project)


@pytest.fixture
def told(monkeypatch):
    """When the injector is told to stop."""
    instants = []
    tell = launcher.InjectorProcess.tell

    def noted(self, message):
        if "stop" in message:
            instants.append(time.monotonic())
        tell(self, message)

    monkeypatch.setattr(launcher.InjectorProcess, "tell", noted)
    return instants


def launch() -> None:
    launcher.launch_one(worker="w", host="host 1", command=(*FAKE, "--seconds", "300"))


def by_page(client, bob, run) -> None:
    client.post(reverse("campaign-stop", args=[run.campaign_id]))


def by_console(client, bob, run) -> None:
    call_command("stop_load", verbosity=0)


@pytest.mark.parametrize("stop", [by_page, by_console])
def test_load_ends_after_at_most_four_statements_of_who_stops_it(
    run, dispatcher, told, client, bob, monkeypatch, stop
):
    client.force_login(bob)
    client.get(reverse("login"))  # a server has loaded its code
    launching = in_thread(launch)
    eventually(run.seconds.exists, 10, "it sends")
    execute, done = CursorWrapper.execute, []

    def held(self, *given, **named):
        time.sleep(HELD_S)  # the slowness of the database, in every thread
        done.append((time.monotonic(), threading.current_thread()))
        return execute(self, *given, **named)

    with monkeypatch.context() as slow:
        slow.setattr(CursorWrapper, "execute", held)
        stopping = in_thread(lambda: stop(client, bob, run))
        eventually(lambda: told, 20, "the injector is told to stop")
        run.refresh_from_db()
        assert run.stop_requested is None, "PostgreSQL does not know of it yet"
    assert sum(thread is stopping and at < told[0] for at, thread in done) <= 4
    launching.join(20)
    stopping.join(20)
    eventually(lambda: run.refresh_from_db() or run.state == "done", 20, "the run has ended")
    assert run.outcome == "stopped"
    assert "Stopped by" in run.reason


def test_a_call_is_for_its_run_its_campaign_or_all():
    of_run, of_campaign = StopCall("user", run=7), StopCall("user", campaign=3)
    assert [of_run.is_for(7, 1), of_run.is_for(8, 7)] == [True, False]
    assert [of_campaign.is_for(1, 3), of_campaign.is_for(3, 4)] == [True, False]
    assert StopCall("administrator").is_for(1, 1)
    for text in (b"", b"[]", b"{}", b'{"reason": "user", "target": 1}'):
        assert StopCall.read(text) is None


def test_calls_are_heard_again_once_redis_is_back(settings, monkeypatch):
    heard, right = [], settings.REDIS_URL
    monkeypatch.setattr("workers.stop_listener.REST_AFTER_ERROR_S", 0.1)
    settings.REDIS_URL = "redis://127.0.0.1:1"
    ear = StopListener(heard.append)
    try:
        call(StopCall(StopReason.USER, run=1))  # nobody hears it, and nobody is kept from stopping
        settings.REDIS_URL = right
        eventually(
            lambda: call(StopCall(StopReason.USER, run=2)) or heard, 5, "the second is heard"
        )
    finally:
        ear.close()
    assert {each.run for each in heard} == {2}
