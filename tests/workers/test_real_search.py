"""Searches for a capacity with real load, from their first request to their ending."""

import os
from collections.abc import Iterator
from threading import Thread

import pytest
from django.db import connection

from campaigns.domain.analysis.capacity import Ending
from campaigns.domain.analysis.trust import LIMITS
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.units import percent
from campaigns.models import Campaign, Run, Search, Target
from campaigns.permissions import Actor
from campaigns.queries.probes import is_watched
from campaigns.queries.search_busy import busy_by_run, busy_near, limiter_beside
from campaigns.queries.searches import report_of_search
from campaigns.services import searches
from campaigns.services.agents import create_agent
from campaigns.services.blocks import CampaignCell
from campaigns.services.campaigns import stop_campaign
from campaigns.services.searches import start_search
from tests.factories import make_endpoint, make_plan, make_target
from tests.faults.watching import Site, start_agent
from tests.injector.servers import OK_REPLY, always, scripted
from tests.services.engine import host, owner_of
from tests.values import plan_spec
from tests.waiting import eventually
from workers import dispatching, launcher

pytestmark = pytest.mark.django_db(transaction=True)
NEVER_IN_DOUBT = dict.fromkeys(LIMITS, (1e12, None))


@pytest.fixture(autouse=True)
def _quick(settings, tmp_path, monkeypatch):
    """Short trials, and no doubt because this machine is busy."""
    settings.SPOOL_DIR = tmp_path
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.JUDGEMENT_LIMITS = NEVER_IN_DOUBT
    monkeypatch.setattr(dispatching, "TIDY_EVERY_S", 0.2)
    for name, seconds in (("SHORTEST_TRIAL_S", 1), ("PAUSE_S", 0), ("SILENT_AFTER_S", 0)):
        monkeypatch.setattr(searches, name, seconds)


def started(
    project,
    port: int,
    *,
    limit: float,
    start: float = 50,
    objective=("p95 < 1000 ms", "errors < 1 %"),
    target=None,
    trial_s: float = 1,
) -> Campaign:
    host(slots=4)
    spec = plan_spec(model="open", rate_per_s=10, duration_s=30)
    endpoint = make_endpoint(target or make_target(project), port=port)
    return start_search(
        by=owner_of(project),
        project=project,
        name="How much can it take?",
        cell=CampaignCell(make_plan(project, spec=spec), endpoint, "keep-alive"),
        objective=objective,
        start_per_s=start,
        limit_per_s=limit,
        trial_s=trial_s,
    )


def work_until(is_so) -> None:
    """Do what the workers of a host do."""

    def works() -> bool:
        launcher.launch_one(worker="w", host="host 1")
        return is_so()

    eventually(works, 60, "what the search was to come to")


def is_done(campaign: Campaign) -> bool:
    return Campaign.objects.get(pk=campaign.pk).state == "done"


def said_of(campaign: Campaign) -> tuple[Ending, str]:
    report = report_of_search(Search.objects.get(pk=campaign.pk))
    return report.ending, plain_text(report.sentence)


def test_a_search_whose_highest_rate_passes_says_at_least_that(project, dispatcher):
    with scripted(always(OK_REPLY)) as server:
        campaign = started(project, server.port, limit=50)
        work_until(lambda: is_done(campaign))
    ending, said = said_of(campaign)
    assert ending == Ending.LIMIT
    assert said.startswith("At least 50.0 requests/s keep p95 below 1,000")
    assert server.n_requests == 1 + campaign.runs.get().n, "the first request and one trial"


def test_a_search_that_somebody_stops_keeps_what_it_found(project, dispatcher):
    def is_at_its_second_trial() -> bool:
        return campaign.runs.filter(repeat=2, state="running").exists()

    with scripted(always(OK_REPLY)) as server:
        campaign = started(project, server.port, limit=1000)
        stopper = Thread(target=stop_when, args=(is_at_its_second_trial, campaign))
        stopper.start()
        work_until(lambda: is_done(campaign))
        stopper.join()
    ending, said = said_of(campaign)
    assert ending == Ending.STOPPED
    assert said.startswith("At least 50.0 requests/s keep p95 below 1,000")
    assert said.endswith(" The search was stopped.")
    outcomes = campaign.runs.order_by("repeat").values_list("outcome", flat=True)
    assert list(outcomes) == ["complete", "stopped"]


def stop_when(is_so, campaign: Campaign) -> None:
    """What somebody at a page does meanwhile."""
    try:
        eventually(is_so, 30, "the trial that is to be stopped runs")
        stop_campaign(by=Actor(user=campaign.created_by), campaign=campaign)
    finally:
        connection.close()


@pytest.fixture
def watched(project) -> Iterator[Target]:
    """A target whose machine, which is this one, the agent's own program watches."""
    target, site = make_target(project), Site()
    _, token = create_agent(by=owner_of(project), target=target)
    agent = start_agent(site.url, token, watch=f"pid:{os.getpid()}")
    eventually(lambda: is_watched(target), 20, "the site hears the agent")
    yield target
    agent.kill()
    agent.communicate()
    site.end()


def test_an_agent_beside_the_target_tells_in_each_trial_how_busy_its_machine_was(
    project, dispatcher, watched
):
    """Which decides here, because the objective asks for more than any machine keeps."""
    with scripted(always(OK_REPLY)) as server:
        campaign = started(
            project,
            server.port,
            limit=100,
            objective=["p95 < 1000 ms", "target_cpu < 0.001 %"],
            target=watched,
            trial_s=3,
        )
        work_until(lambda: is_done(campaign))
    assert said_of(campaign)[0] == Ending.BELOW
    report = report_of_search(Search.objects.get(pk=campaign.pk))
    (trial,) = report.made
    assert trial.trial.reason.startswith("target_cpu ")
    busy = busy_by_run(report.made)
    told = busy[trial.run.pk]
    assert 0 < told.target_cpu <= 1
    assert told.target_cores == os.cpu_count()
    limiter = limiter_beside(report, busy_near(report, busy))
    cpu = next(row for row in limiter.rows if row.who == "Target" and row.figure.startswith("CPU"))
    assert cpu.measured == percent(told.target_cpu)


def test_a_target_that_dies_gets_no_further_trial(project, dispatcher):
    def has_ended_a_trial() -> bool:
        return campaign.runs.filter(state="done").exists()

    with scripted(always(OK_REPLY)) as server:
        campaign = started(project, server.port, limit=1000)
        work_until(has_ended_a_trial)
    work_until(lambda: is_done(campaign))
    ending, said = said_of(campaign)
    assert ending == Ending.SILENT
    assert said.endswith(" The target stopped answering.")
    *before, failed, last = campaign.runs.order_by("repeat")
    assert before
    assert all(run.errors == 0 for run in before)
    assert (failed.outcome, failed.n) == ("complete", 0), "this one found nobody there"
    assert (last.outcome, last.n, last.t0) == ("stopped", None, None), "and this one was not sent"
    assert Run.objects.filter(campaign=campaign).exclude(state="done").count() == 0
