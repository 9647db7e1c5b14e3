"""Reads for the campaign pages: a campaign's runs, and what it takes to run it again. What is
archived of what a campaign would need to run, in a sentence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Prefetch, QuerySet

from campaigns.campaigns.queries.campaign_grid import Grid, LastReply
from campaigns.campaigns.queries.checks import (
    Check,
    checks_before_start,
    first_requests_check,
    machine_rule_checks,
    room_checks,
    room_of,
)
from campaigns.campaigns.queries.references import has_own_reference, reference_version
from campaigns.domain.lifecycle import ACTIVE_STATES
from campaigns.domain.plan.estimates import Estimate
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.reference import next_name
from campaigns.domain.plan.sweep import Sweep
from campaigns.domain.presentation.remedies import words_of
from campaigns.domain.units import and_joined, duration
from campaigns.engine.queries.injector_hosts import hosts
from campaigns.machines.queries.target_costs import perf_checks
from campaigns.models import Campaign, Endpoint, Project, Run, SavedPlan, Test
from campaigns.runs.queries.runs import with_verdicts


@dataclass(frozen=True, slots=True)
class Again:
    """A campaign to be run again: what the form starts with, and what differs from then.
    `reference`: it measured the installation's own target, which has a tick of its own."""

    campaign: Campaign
    name: str
    ticks: tuple[str, ...]
    injectors: tuple[int, ...]
    sweep: Sweep | None  # of a number of the plan
    differences: tuple[str, ...]  # sentences: newer versions, cells that are gone
    reference: bool


def again_of(campaign: Campaign, grid: Grid) -> Again:
    """The campaign's tests in a new grid, with the plans' latest versions."""
    related = ("plan_version__plan", "endpoint__target")
    tests = list(campaign.tests.select_related(*related).order_by("position"))
    own = reference_version(campaign.project)
    tests = [test for test in tests if test.plan_version != own]
    latest = {row.version.plan_id: row.version for row in grid.plans}
    ticks, differences = [], []
    for test in tests:
        version = latest.get(test.plan_version.plan_id)
        key = f"{version.pk}.{test.endpoint_id}.{test.connection_mode}" if version else ""
        if key not in grid.cells:
            differences.append(f"{test} is left out: its plan or endpoint is archived.")
            continue
        ticks.append(key)
        if version.pk != test.plan_version_id:
            differences.append(f"{test.plan_version} has become version {version.number}.")
    names = set(campaign.project.campaigns.values_list("name", flat=True))
    return Again(
        campaign,
        next_name(campaign.name, names),
        tuple(dict.fromkeys(ticks)),
        tuple(sorted({test.injectors for test in tests})),
        sweep_of(tests),
        tuple(dict.fromkeys(differences)),
        has_own_reference(campaign),
    )


def sweep_of(tests: Sequence[Test]) -> Sweep | None:
    """Of a number of the plan."""
    fields = {test.swept for test in tests}
    values = tuple(dict.fromkeys(test.swept_value for test in tests))
    return Sweep(fields.pop(), values) if len(fields) == 1 and fields != {""} else None


def current_run_of(campaign: Campaign) -> Run | None:
    """The active run; None between two runs."""
    return current_runs_of([campaign]).get(campaign.pk)


def current_runs_of(campaigns: Sequence[Campaign]) -> dict[int, Run]:
    """The active run of each campaign that has one, by campaign, in one query."""
    known = {campaign.pk: campaign for campaign in campaigns}
    active = Run.objects.filter(campaign__in=known, state__in=ACTIVE_STATES)
    runs = active.order_by("campaign_id", "-position").distinct("campaign_id")
    current = {run.campaign_id: run for run in runs.select_related("test__endpoint")}
    for pk, run in current.items():
        run.campaign = known[pk]
    return current


def runs_of(campaign: Campaign) -> QuerySet[Run]:
    """All runs of a campaign in order. Many are of the same few tests, which are read once."""
    tests = Test.objects.select_related("endpoint", "plan_version__plan")
    runs = campaign.runs.prefetch_related(Prefetch("test", queryset=tests))
    return with_verdicts(runs).order_by("position")


def why_archived(campaign: Campaign, tests: Iterable[Test]) -> str:
    """The first that is archived of what its runs would need, in a sentence; "" if all is there."""
    if campaign.archived_at:
        return "This campaign is archived. Restore it first."
    missing = (archived_part(test.plan_version.plan, test.endpoint) for test in tests)
    return next(filter(None, missing), "")


def archived_part(plan: SavedPlan, endpoint: Endpoint) -> str:
    """As of `why_archived`."""
    target = endpoint.target
    if plan.archived_at:
        return f"The plan {plan.name} is archived. Restore it first."
    if target.archived_at:
        return f"The target {target.name} is archived. Restore it first."
    if endpoint.archived_at:
        return f"The endpoint {endpoint} is archived. Add it to {target.name} again first."
    return ""


def checks_of_campaign(
    project: Project,
    requests: Sequence[tuple[Plan, Endpoint]],
    estimate: Estimate,
    *,
    injectors: int,
    perf: str,
) -> list[Check]:
    """What a start would say of these plans on these endpoints."""
    endpoints = [endpoint for _, endpoint in requests]
    return [
        first_requests_check(requests),
        *checks_before_start(project, endpoints, injectors),
        *machine_rule_checks(requests),
        *perf_checks(endpoints, perf),
        *room_checks(estimate, room_of(hosts())),
    ]


def answer_checks(
    endpoints: Iterable[Endpoint], answers: Mapping[int, LastReply], now: datetime
) -> Iterator[Check]:
    """What the latest single requests to them brought, if any was sent: shop-api answers over HTTP
    and HTTPS, 3 s ago."""
    good: dict[str, list[tuple[str, datetime]]] = {}
    for each in dict.fromkeys(endpoints):
        name, scheme = each.target.name, each.scheme.upper()
        latest = answers.get(each.pk)
        if latest and latest.error:
            what = words_of(latest.error)
            yield Check("warn", f"{name} failed over {scheme}, {_ago(now, latest.at)}: {what}")
        elif latest:
            good.setdefault(name, []).append((scheme, latest.at))
    for name, tried in good.items():
        schemes = and_joined(list(dict.fromkeys(scheme for scheme, _ in tried)))
        oldest = min(at for _, at in tried)
        yield Check("good", f"{name} answers over {schemes}, {_ago(now, oldest)}")


def _ago(now: datetime, then: datetime) -> str:
    return f"{duration(max(0, round((now - then).total_seconds())))} ago"
