"""Whatever is killed in the middle of a run: it ends within a minute, with the seconds seen so far,
and says why. Leases are shortened (6 s instead of 30), so the tests wait less than users would.
"""

import os
import signal
import time

import pytest
from django.db import connection
from django.utils import timezone

from campaigns.models import InjectorHost
from campaigns.queries.engine import stuck_runs
from campaigns.services.campaigns import CampaignCell, create_campaign, start_campaign
from tests.factories import make_endpoint, make_plan, make_target
from tests.faults.processes import APPLICATION
from tests.process_tree import is_alive
from tests.services.engine import age, owner_of
from tests.values import plan_spec
from tests.waiting import eventually
from workers.tasks.lookout import UNHEARD_AFTER_S

pytestmark = pytest.mark.django_db(transaction=True)
RATE_PER_S = 40


@pytest.fixture
def begin(project, echo):
    """Start a campaign of one run that sends 40 requests a second for so long."""

    def begin(duration_s: float, injectors: int = 1):
        load = {"model": "open", "rate_per_s": RATE_PER_S, "duration_s": duration_s}
        endpoint = make_endpoint(make_target(project), port=echo.port)
        campaign = create_campaign(
            by=owner_of(project),
            project=project,
            name="fault",
            cells=[
                CampaignCell(make_plan(project, spec=plan_spec(**load)), endpoint, "keep-alive")
            ],
            repeats=1,
            order="listed",
            pause_s=0,
            injectors=injectors,
        )
        start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
        return campaign.runs.get()

    return begin


def in_the_middle(run, site, within_s: float = 25):
    """Wait until the run has shown a second or two; its injectors."""
    eventually(lambda: run.seconds.filter(second__gte=1).exists(), within_s, "seconds arrive")
    return eventually(site.injectors, 1, "an injector runs")


def admitted(run):
    now = type(run).objects.filter(pk=run.pk, state="preparing")
    eventually(now.exists, 10, "the run is admitted")


def taken(run, within_s: float):
    """A worker has heard of it. How long an injector then takes to start, the machine decides."""
    waits = run.shards.filter(state="open")
    eventually(lambda: not waits.exists(), within_s, "a worker has taken the run")


def ended(run, within_s: float = 60):
    def is_done():
        run.refresh_from_db()
        return run.state == "done"

    eventually(is_done, within_s, "the run is done")
    eventually(lambda: _campaign_is_done(run), 5, "its campaign is done")
    assert stuck_runs() == []
    return run


def _campaign_is_done(run) -> bool:
    run.campaign.refresh_from_db()
    return run.campaign.state == "done"


def stored_requests(run) -> int:
    return sum(row.value().counters.get("started", 0) for row in run.seconds.all())


def test_a_killed_injector_leaves_a_partial_run_that_says_so(site, begin):
    run = begin(20)
    (injector,) = in_the_middle(run, site)
    os.kill(injector, signal.SIGKILL)
    ended(run)
    assert run.outcome == "partial"
    assert "killed by SIGKILL" in run.reason
    assert run.seconds.filter(second__gte=1).exists()
    assert run.summaries.exists()


def test_a_killed_launcher_takes_its_injector_with_it(site, begin, echo):
    run = begin(20)
    (injector,) = in_the_middle(run, site)
    os.kill(site.launcher_of(injector), signal.SIGKILL)
    eventually(lambda: not is_alive(injector), 2, "the injector is gone")
    assert echo.is_silent_for(0.5)
    ended(run)
    assert run.outcome == "partial"
    assert "killed" in run.reason or "stopped answering" in run.reason
    assert run.seconds.filter(second__gte=1).exists()


def test_a_killed_worker_with_all_its_launchers_loses_no_stored_second(site, begin, echo):
    run = begin(20, injectors=2)
    injectors = in_the_middle(run, site)
    assert len(injectors) == 2
    site.worker.kill()
    eventually(lambda: not any(map(is_alive, injectors)), 3, "the injectors are gone")
    assert echo.is_silent_for(0.5)
    ended(run)
    assert run.outcome == "partial"
    assert "stopped answering while it was sending" in run.reason
    n_before = run.seconds.count()
    gone_at = timezone.now()
    site.start_worker()
    is_back = InjectorHost.objects.filter(seen_at__gt=gone_at).exists
    eventually(is_back, 30, "the host is back")
    eventually(lambda: not list(site.folder.glob("spool/*.spool")), 10, "the spool is stored")
    assert run.seconds.count() >= n_before


def test_a_killed_dispatcher_that_comes_back_finds_a_complete_run(site, begin, echo):
    n_before = echo.n_arrived()
    dispatcher = site.lead_by_a_process()
    run = begin(4)
    in_the_middle(run, site)
    dispatcher.kill()
    eventually(run.shards.filter(state="done").exists, 10, "the load is over")
    run.refresh_from_db()
    assert run.state == "running"
    site.lead()
    ended(run)
    assert (run.outcome, run.reason) == ("complete", "")
    assert stored_requests(run) == 4 * RATE_PER_S == echo.n_arrived() - n_before


def test_cut_database_connections_cost_nothing(site, begin, echo):
    n_before = echo.n_arrived()
    run = begin(5)
    in_the_middle(run, site)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE application_name = %s",
            [APPLICATION],
        )
        assert cursor.fetchone()[0] >= 3
    ended(run)
    assert (run.outcome, run.reason) == ("complete", "")
    assert stored_requests(run) == 5 * RATE_PER_S == echo.n_arrived() - n_before


def test_a_run_begins_soon_after_a_frozen_redis_is_back(site, begin, redis_server):
    eventually(lambda: InjectorHost.objects.exists(), 30, "the host is there")
    redis_server.freeze()
    try:
        run = begin(2)
        admitted(run)
        time.sleep(1)  # five ticks of the dispatcher
        run.refresh_from_db()
        assert run.state == "preparing", "admitted, and nobody has heard of it"
    finally:
        redis_server.thaw()
    taken(run, within_s=9)  # sooner than by the worker's own look
    ended(run)
    assert run.outcome == "complete"


def test_a_run_begins_although_redis_is_away_and_a_worker_that_is_to_end_waits_for_it(
    site, begin, redis_server
):
    """Nobody hears a doorbell; the worker looks by itself."""
    redis_server.kill()
    try:
        run = begin(4)
        admitted(run)
        age(run, UNHEARD_AFTER_S + 1)
        taken(run, within_s=20)
        in_the_middle(run, site)
        site.worker.send(signal.SIGTERM)
        ended(run)
    finally:
        redis_server.start()
    assert (run.outcome, run.reason) == ("complete", "")
    eventually(lambda: site.worker.has_ended, 15, "the worker ends after its run")


def test_redis_frozen_in_the_middle_of_a_run_does_not_touch_it(site, begin, redis_server, echo):
    n_before = echo.n_arrived()
    run = begin(4)
    in_the_middle(run, site)
    redis_server.freeze()
    try:
        ended(run)
    finally:
        redis_server.thaw()
    assert run.outcome == "complete"
    assert stored_requests(run) == 4 * RATE_PER_S == echo.n_arrived() - n_before


def test_a_killed_redis_that_comes_back_empty_delays_the_next_run_by_seconds(
    site, begin, redis_server
):
    eventually(lambda: InjectorHost.objects.exists(), 30, "the host is there")
    redis_server.kill()
    run = begin(1)
    admitted(run)
    redis_server.start()
    taken(run, within_s=12)
    ended(run)
    assert run.outcome == "complete"
