"""An owner stops all load of a project: real injectors, real Redis, and the targets' own clocks."""

import time

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Project, Run
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
from tests.services.engine import host
from tests.values import plan_spec
from tests.waiting import eventually
from tests.workers.launching import done, in_thread
from workers import launcher

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("spool_folder", "dispatcher"),
]
SILENT_AFTER_S = 2


def admitted(project: Project, port: int, number: int) -> Run:
    """A run of 40 requests/s for a minute, with a machine of its own as the site sees it."""
    campaign = make_campaign(project, started_at=timezone.now(), repeats=1)
    plan = make_plan(project, spec=plan_spec(model="open", rate_per_s=40, duration_s=60))
    test = make_test(campaign, plan, endpoint=make_endpoint(make_target(project), port=port))
    run = make_run(test, state="preparing")
    Run.objects.filter(pk=run.pk).update(machines=[f"10.0.0.{number}"])
    return run


def launch() -> None:
    launcher.launch_one(worker="w", host="host 1")


def test_its_load_falls_silent_and_that_of_others_goes_on(client, alice):
    host(slots=3)
    mine, other = make_project(owner=alice), make_project(owner=alice)
    first, second, of_other = targets = [Arrivals() for _ in range(3)]
    with scripted(first) as one, scripted(second) as two, scripted(of_other) as three:
        places = ((mine, one), (mine, two), (other, three))
        runs = [admitted(project, at.port, n) for n, (project, at) in enumerate(places)]
        launches = [in_thread(launch) for _ in runs]
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
