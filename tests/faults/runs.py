"""Runs of an installation that is being broken: how far they have come, and how they have ended."""

from tests.stuck import stuck_runs
from tests.waiting import eventually

RATE_PER_S = 40


def in_the_middle(run, site, within_s: float = 25):
    """Wait until the run has shown a second or two; its injectors."""
    eventually(lambda: run.seconds.filter(second__gte=1).exists(), within_s, "seconds arrive")
    return eventually(site.injectors, 1, "an injector runs")


def await_admission(run):
    now = type(run).objects.filter(pk=run.pk, state="preparing")
    eventually(now.exists, 10, "the run is admitted")


def await_workers(run, within_s: float):
    """A worker has heard of it. How long an injector then takes to start, the machine decides."""
    waits = run.shards.filter(state="open")
    eventually(lambda: not waits.exists(), within_s, "a worker has taken the run")


def await_end(run, within_s: float = 60):
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
