"""Searches whose trials the tests end, each with the judgement that such a run has."""

from collections.abc import Callable

import pytest

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.core.database import db_now
from campaigns.domain.analysis.capacity import CapacityAnswer
from campaigns.domain.analysis.judgement import Finding, Judgement, JudgementReason
from campaigns.domain.analysis.thresholds import Verdict
from campaigns.domain.lifecycle import Precision, TargetState, Trust
from campaigns.engine.services import dispatch
from campaigns.models import Campaign, Run, RunSummary, Search
from campaigns.probes.services import probes
from campaigns.probes.services.probes import settle_campaign
from campaigns.search.queries import report_of_search
from campaigns.search.services import advance_searches, start_search
from tests.engine.scenes import host, owner_of
from tests.factories import make_endpoint, make_plan, make_project, make_target, make_user
from tests.kept_rows import forget
from tests.values import plan_spec

OBJECTIVE = [{"metric": "p95", "limit": 300, "unit": "ms"}]
OK = {"type": "probe", "status": 200, "reason": "OK", "error": None, "response_us": 1500}
# Of an injector with room: its CPU is noted from 60 % on.
VITALS = {
    "shard": 0,
    "mean": {"cpu_share": 0.46},
    "worst": {},
    "at": {"cpu_share": 3},
}
REFUSED = {"type": "probe", "status": None, "error": "connect_refused"}
BUSY_INJECTOR = {"type": "probe", "error": "client_other", "detail": "Its machine is too busy."}


def searching(
    project, start: float = 100, limit: float = 5000, first: dict = OK, **fields
) -> Campaign:
    """`first`: what comes back of its first request."""
    host(slots=8)
    spec = {**plan_spec(model="open", rate_per_s=10, duration_s=30), "thresholds": OBJECTIVE}
    spec, target = fields.pop("spec", spec), fields.pop("target", None) or make_target(project)
    endpoint = make_endpoint(target, **fields.pop("endpoint", {}))
    campaign = start_search(
        by=owner_of(project),
        project=project,
        name="How much can it take?",
        cell=CampaignCell(make_plan(project, spec=spec), endpoint, "new"),
        start_per_s=start,
        limit_per_s=limit,
        seed=1,
        **fields,
    )
    return answer_first(campaign, first)


def answer_first(campaign: Campaign, result: dict = OK) -> Campaign:
    """What comes back of the first request that it waits for, if it does."""
    for probe in campaign.first_requests.filter(finished_at=None):
        probes.claim_probe(probe_id=probe.pk)
        probes.finish_probe(probe_id=probe.pk, result=result)
    settle_campaign(campaign_id=campaign.pk)
    campaign.refresh_from_db()
    return campaign


def make_judgement(trust: Trust = Trust.TRUSTED, why: str = "", target: str = "") -> Judgement:
    doubts = (JudgementReason("late", trust, why),) if why else ()
    state = TargetState.OVERLOADED if target else TargetState.HEALTHY
    reasons = (JudgementReason("in_flight_growing", state, target),) if target else ()
    return Judgement(Finding(trust, doubts), Finding(state, reasons), Finding(Precision.FINE))


def rate_of(run: Run) -> float:
    return run.frozen.plan.load.rate_per_s


def end_trial(
    campaign: Campaign,
    p95_ms: float,
    judgement: Judgement | None = None,
    verdict: Verdict | None = None,
) -> Run:
    """End the run that is next, as the dispatcher does, and go on."""
    run = campaign.runs.exclude(state="done").get()
    of_p95 = Verdict("p95 < 300 ms", "p95", 300, "ms", p95_ms, p95_ms < 300, None)
    RunSummary.objects.create(
        run=run, n_seconds=1, digest="", duration_s=20, figures={}, histograms={}, steps=[],
        series=[], vitals=[VITALS], thresholds=[(verdict or of_p95).to_json()],
    )  # fmt: skip
    Run.objects.filter(pk=run.pk).update(
        state="done",
        outcome="complete",
        trust=(judgement or make_judgement()).measurement.state,
        judgement=(judgement or make_judgement()).to_row(),
        t0=db_now(-20),
        ended_at=db_now(),
        n=round(20 * rate_of(run)),
        errors=0,
        mean_us=p95_ms * 400,
        p50_us=p95_ms * 250,
        p95_us=p95_ms * 1000,
        p99_us=p95_ms * 1500,
    )
    assert advance_searches() == 1
    answer_first(campaign)
    return run


def search_through(campaign: Campaign, p95_at: Callable[[float], float], most: int = 80) -> Search:
    """To its end, or for so many trials; `p95_at` a rate, in ms."""
    for _ in range(most):
        run = campaign.runs.exclude(state="done").first()
        if run is None:
            break
        end_trial(campaign, p95_at(rate_of(run)))
    dispatch.finish_campaigns()
    campaign.refresh_from_db()
    return Search.objects.select_related("campaign").get(pk=campaign.pk)


def capacity_answer(search: Search) -> CapacityAnswer:
    return report_of_search(search).answer


def limit_of(capacity: float) -> Callable[[float], float]:
    return lambda rate: 100.0 if rate < capacity else 900.0


@pytest.fixture(scope="module")
def search_of_the_file(rows_of_the_file) -> Campaign:
    campaign = searching(make_project("Searched", owner=make_user("searcher")))
    search_through(campaign, limit_of(1850))
    return campaign


@pytest.fixture
def capacity_search(search_of_the_file, db) -> Campaign:
    """A search that has found some 1,850 requests/s; what a test changes of it is undone."""
    forget()
    return Campaign.objects.get(pk=search_of_the_file.pk)


@pytest.fixture
def as_searcher(client, capacity_search):
    """The browser of the owner of what was searched."""
    client.force_login(capacity_search.project.memberships.get(role="owner").user)
    return client
