"""Whatever is killed in the middle of a run: it ends within a minute, with the seconds seen so far,
and says why. Leases are shortened (6 s instead of 30), so the tests wait less than users would.
"""

import os
import signal
import time
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from campaigns.models import InjectorHost, RunSummary
from tests.faults.processes import APPLICATION
from tests.faults.runs import RATE_PER_S, await_end, in_the_middle, stored_requests
from tests.process_tree import is_alive
from tests.waiting import eventually
from workers.celery_worker import PULSE_EVERY_S

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


def test_a_killed_injector_leaves_a_partial_run_that_says_so(site, begin):
    run = begin(20)
    (injector,) = in_the_middle(run, site)
    os.kill(injector, signal.SIGKILL)
    await_end(run)
    assert run.outcome == "partial"
    assert "killed by SIGKILL" in run.reason
    assert run.seconds.filter(second__gte=1).exists()
    assert RunSummary.objects.filter(run=run).exists()


def test_a_killed_launcher_takes_its_injector_with_it(site, begin, echo):
    run = begin(20)
    (injector,) = in_the_middle(run, site)
    os.kill(site.launcher_of(injector), signal.SIGKILL)
    eventually(lambda: not is_alive(injector), 2, "the injector is gone")
    eventually(lambda: echo.is_silent_for(0.5), 5, "the target hears nothing more")
    await_end(run)
    assert run.outcome == "partial"
    assert "killed" in run.reason or "stopped answering" in run.reason
    assert run.seconds.filter(second__gte=1).exists()


def test_a_killed_worker_with_all_its_launchers_loses_no_stored_second(site, begin, echo):
    run = begin(20, injectors=2)
    injectors = in_the_middle(run, site)
    assert len(injectors) == 2
    site.worker.kill()
    eventually(lambda: not any(map(is_alive, injectors)), 3, "the injectors are gone")
    eventually(lambda: echo.is_silent_for(0.5), 5, "the target hears nothing more")
    await_end(run)
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
    in_the_middle(run, site, within_s=60)  # the dispatcher starts meanwhile
    dispatcher.kill()
    eventually(run.shards.filter(state="done").exists, 10, "the load is over")
    run.refresh_from_db()
    assert run.state == "running"
    site.lead()
    await_end(run)
    assert (run.outcome, run.reason) == ("complete", "")
    assert stored_requests(run) == 4 * RATE_PER_S == echo.n_arrived() - n_before


def test_cut_database_connections_cost_nothing(site, begin, echo):
    n_before = echo.n_arrived()
    run = begin(5)
    in_the_middle(run, site)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = %s",
            [APPLICATION],
        )
        assert cursor.fetchone()[0] >= 3
    await_end(run)
    assert (run.outcome, run.reason) == ("complete", "")
    assert stored_requests(run) == 5 * RATE_PER_S == echo.n_arrived() - n_before


BUSY_S = 20


def next_beat(pulse: Path) -> None:
    before = pulse.stat().st_mtime_ns
    eventually(lambda: pulse.stat().st_mtime_ns != before, PULSE_EVERY_S + BUSY_S, "the next beat")


def is_silent(pulse: Path) -> bool:
    before = pulse.stat().st_mtime_ns
    time.sleep(2.5 * PULSE_EVERY_S)
    return pulse.stat().st_mtime_ns == before


def test_a_worker_has_a_pulse_also_without_redis_but_not_when_it_is_frozen(site, redis_server):
    pulse = site.folder / "worker.pulse"
    eventually(pulse.exists, PULSE_EVERY_S + BUSY_S, "the first beat")
    redis_server.kill()
    try:
        for _ in range(4):  # more than one attempt to connect
            next_beat(pulse)
    finally:
        redis_server.start()
    for _ in range(2):
        next_beat(pulse)
    site.worker.send(signal.SIGSTOP)
    try:
        eventually(lambda: is_silent(pulse), BUSY_S, "silence")
    finally:
        site.worker.send(signal.SIGCONT)
    next_beat(pulse)
