"""A stop needs no fast database: it reaches the injectors through Redis, before it is stored."""

import threading
import time

import pytest
from django.core.management import call_command
from django.db.backends.utils import CursorWrapper
from django.urls import reverse
from django.utils import timezone

from campaigns.domain.lifecycle import StopReason
from campaigns.engine.services.endings import StopCall, call
from campaigns.models import Project, Run
from tests.engine.scenes import host
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_run,
    make_target,
    make_test,
)
from tests.injector.servers import scripted
from tests.injector.test_loads import Arrivals
from tests.values import plan_spec
from tests.waiting import eventually
from tests.workers.launching import done, in_background, in_thread
from workers import launcher
from workers.watch import StopListener

HELD_S = 1  # longer than a call through Redis takes on a busy machine
SILENT_AFTER_S = 2
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("spool_folder")]


def by_page(client, bob, run) -> None:
    client.post(reverse("campaign-stop", args=[run.campaign_id]))


def by_console(client, bob, run) -> None:
    call_command("stop_load", verbosity=0)


@pytest.mark.parametrize("stop", [by_page, by_console])
def test_load_ends_after_at_most_four_statements_of_who_stops_it(
    run, dispatcher, messages, client, bob, monkeypatch, stop
):
    client.force_login(bob)
    client.get(reverse("account_login"))  # a server has loaded its code
    launching = in_background("--seconds", "300")
    eventually(run.seconds.exists, 10, "it sends")
    execute, statements = CursorWrapper.execute, []

    def execute_slowly(self, *args, **options):
        time.sleep(HELD_S)  # the slowness of the database, in every thread
        statements.append((time.monotonic(), threading.current_thread()))
        return execute(self, *args, **options)

    with monkeypatch.context() as slow:
        slow.setattr(CursorWrapper, "execute", execute_slowly)
        stopping = in_thread(lambda: stop(client, bob, run))
        stops = eventually(
            lambda: [at for at, message in messages if "stop" in message], 20, "it is told to stop"
        )
        run.refresh_from_db()
        assert run.stop_requested is None, "PostgreSQL does not know of it yet"
    assert sum(thread is stopping and at < stops[0] for at, thread in statements) <= 4
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
    calls, right = [], settings.REDIS_URL
    monkeypatch.setattr("workers.watch.REST_AFTER_ERROR_S", 0.1)
    settings.REDIS_URL = "redis://127.0.0.1:1"
    ear = StopListener(calls.append)
    try:
        call(StopCall(StopReason.USER, run=1))  # nobody hears it, and nobody is kept from stopping
        settings.REDIS_URL = right
        eventually(
            lambda: call(StopCall(StopReason.USER, run=2)) or calls, 5, "the second is heard"
        )
    finally:
        ear.close()
    assert {each.run for each in calls} == {2}


def admit(project: Project, port: int, number: int) -> Run:
    """A run of 40 requests/s for a minute, with a machine of its own as the site sees it."""
    campaign = make_campaign(project, started_at=timezone.now(), repeats=1)
    plan = make_plan(project, spec=plan_spec(model="open", rate_per_s=40, duration_s=60))
    test = make_test(campaign, plan, endpoint=make_endpoint(make_target(project), port=port))
    run = make_run(test, state="preparing")
    Run.objects.filter(pk=run.pk).update(machines=[f"10.0.0.{number}"])
    return run


@pytest.mark.usefixtures("dispatcher")
def test_a_stopped_project_s_load_falls_silent_and_that_of_others_goes_on(client, alice):
    host(slots=3)
    mine, other = make_project(owner=alice), make_project(owner=alice)
    first, second, of_other = targets = [Arrivals() for _ in range(3)]
    with scripted(first) as one, scripted(second) as two, scripted(of_other) as three:
        places = ((mine, one), (mine, two), (other, three))
        runs = [admit(project, at.port, n) for n, (project, at) in enumerate(places)]
        launches = [in_thread(lambda: launcher.launch_one(worker="w", host="host 1")) for _ in runs]
        for target in targets:
            eventually(lambda target=target: len(target.times) > 20, 30, "it is under load")
        client.force_login(alice)
        asked_at = time.monotonic()
        client.post(reverse("project-stop", args=[mine.pk]))
        for run in runs[:2]:
            done(run, within_s=30)
            assert run.outcome == "stopped"
        n_before = len(of_other.times)
        eventually(lambda: len(of_other.times) > n_before + 20, 10, "the other project goes on")
        assert max(first.times[-1], second.times[-1]) - asked_at < SILENT_AFTER_S
        client.post(reverse("campaign-stop", args=[runs[2].campaign_id]))
        for each in launches:
            each.join(30)
    assert done(runs[2], within_s=30).outcome == "stopped"
