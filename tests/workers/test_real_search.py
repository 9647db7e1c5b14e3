"""Searches for a capacity with real load, from their first request to their ending."""

import pytest

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.domain.analysis.capacity import Ending
from campaigns.domain.analysis.criteria import CRITERIA, Aspect
from campaigns.domain.presentation.sentences import plain_text
from campaigns.models import Campaign, Run, Search
from campaigns.search import queries
from campaigns.search import services as searches
from campaigns.search.queries import report_of_search
from campaigns.search.services import start_search
from tests.engine.scenes import host, owner_of
from tests.factories import make_endpoint, make_plan, make_target
from tests.injector.servers import OK_REPLY, always, scripted
from tests.values import plan_spec
from tests.workers.launching import is_done, work_until
from workers import dispatching

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
NEVER_IN_DOUBT = {
    code: (1e12, None) for code, row in CRITERIA.items() if row.aspect == Aspect.MEASUREMENT
}


@pytest.fixture(autouse=True)
def _quick(settings, tmp_path, monkeypatch):
    """Short trials, and no doubt because this machine is busy."""
    settings.SPOOL_DIR = tmp_path
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.JUDGEMENT_LIMITS = NEVER_IN_DOUBT
    monkeypatch.setattr(dispatching, "TIDY_EVERY_S", 0.2)
    monkeypatch.setattr(searches, "SHORTEST_TRIAL_S", 1)
    monkeypatch.setattr(searches, "PAUSE_S", 0)
    monkeypatch.setattr(queries, "SILENT_AFTER_S", 0)


def begin(
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


def said_of(campaign: Campaign) -> tuple[Ending, str]:
    report = report_of_search(Search.objects.get(pk=campaign.pk))
    return report.ending, plain_text(report.sentence)


def test_a_search_whose_highest_rate_passes_says_at_least_that(project, dispatcher):
    with scripted(always(OK_REPLY)) as server:
        campaign = begin(project, server.port, limit=50)
        work_until(lambda: is_done(campaign))
    ending, sentence = said_of(campaign)
    assert ending == Ending.LIMIT
    assert sentence.startswith("At least 50.0 requests/s keep p95 below 1,000")
    assert server.n_requests == 1 + campaign.runs.get().n, "the first request and one trial"


def test_a_target_that_dies_gets_no_further_trial(project, dispatcher):
    def has_ended_a_trial() -> bool:
        return campaign.runs.filter(state="done").exists()

    with scripted(always(OK_REPLY)) as server:
        campaign = begin(project, server.port, limit=1000)
        work_until(has_ended_a_trial)
    work_until(lambda: is_done(campaign))
    ending, sentence = said_of(campaign)
    assert ending == Ending.SILENT
    assert sentence.endswith(" The target stopped answering.")
    *before, failed, last = campaign.runs.order_by("repeat")
    assert before
    assert all(run.errors == 0 for run in before)
    assert (failed.outcome, failed.n) == ("complete", 0), "this one found nobody there"
    assert (last.outcome, last.n, last.t0) == ("stopped", None, None), "and this one was not sent"
    assert Run.objects.filter(campaign=campaign).exclude(state="done").count() == 0
