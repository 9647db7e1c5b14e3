"""Redis is frozen or killed: a run under way does not notice, the next begins within seconds."""

import signal
import time

import pytest

from campaigns.models import InjectorHost
from tests.faults.runs import RATE_PER_S, admitted, ended, in_the_middle, stored_requests, taken
from tests.services.engine import age
from tests.waiting import eventually
from workers.tasks.inject import UNHEARD_AFTER_S

pytestmark = pytest.mark.django_db(transaction=True)


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
