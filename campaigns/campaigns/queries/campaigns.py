"""Reads for the campaign pages: a campaign's runs, and what is archived of what these would need.

What answers of campaigns and figures of runs depend on, read without their results. Which
versions of its rows a page of what has ended was made from. PostgreSQL stores a changed row as a
new one, with another place (ctid) and the transaction that wrote it (xmin). So a digest of both
changes with every write, whoever wrote and whatever they wrote, and no writer has to remember it.
Checks no permissions: who may see a page, and what they may do there, is part of its key."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection
from django.db.models import Count, F, Max, OuterRef, Prefetch, QuerySet, Subquery, Sum
from django.db.models.functions import JSONObject

from campaigns.domain.lifecycle import ACTIVE_STATES
from campaigns.domain.typed_text import REFERENCE_TAG
from campaigns.models import Campaign, Endpoint, Round, Run, RunEvent, RunSummary, SavedPlan, Test
from campaigns.runs.queries.measurements import of_summary
from campaigns.runs.queries.runs import with_verdicts


def current_run_of(campaign: Campaign) -> Run | None:
    """The active run; None between two runs."""
    return current_runs_of([campaign]).get(campaign.pk)


def current_runs_of(campaigns: Sequence[Campaign]) -> dict[int, Run]:
    """The active run of each campaign that has one, by campaign, in one query."""
    by_pk = {campaign.pk: campaign for campaign in campaigns}
    active = Run.objects.filter(campaign__in=by_pk, state__in=ACTIVE_STATES)
    runs = active.order_by("campaign_id", "-position").distinct("campaign_id")
    current = {run.campaign_id: run for run in runs.select_related("test__endpoint")}
    for pk, run in current.items():
        run.campaign = by_pk[pk]
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


ROUNDS_OF_A_LOOK = 8


class TestNames(NamedTuple):
    """What a list says of a test (a `NamedTest`): `checkout v3`, `shop`, and the target's tags."""

    version_name: str
    target_name: str
    tags: tuple[str, ...]

    @property
    def is_of_reference(self) -> bool:
        return REFERENCE_TAG in self.tags


class CampaignKey(NamedTuple):
    """Another one whenever something has changed on which the campaign's answer depends. Names of
    plans and targets are part of it, and tags of targets: they make a reference."""

    pk: int
    state: str
    n_runs: int
    newest_event: int | None
    n_summaries: int | None  # as often as they were written
    n_looks: int  # at the rounds of arms that take turns
    names: tuple[TestNames, ...]  # of its tests, in their order


def campaign_key(campaign: Campaign) -> CampaignKey:
    return campaign_keys([campaign])[campaign.pk]


def campaign_keys(campaigns: Sequence[Campaign]) -> dict[int, CampaignKey]:
    """By campaign, in one query for all of them."""
    runs = Run.objects.filter(campaign=OuterRef("pk"))
    rows_of_campaigns = Campaign.objects.filter(pk__in=[each.pk for each in campaigns]).order_by()
    tests = Test.objects.filter(campaign=OuterRef("pk")).order_by("position")
    plan, number = F("plan_version__plan__name"), F("plan_version__number")
    target, tags = F("endpoint__target__name"), F("endpoint__target__tags")
    rows = rows_of_campaigns.annotate(
        n_all=_of_all(runs, "campaign", Count("pk")),
        newest_event=_of_all(_of_runs(RunEvent), "run__campaign", Max("pk")),
        n_summaries=_of_all(_of_runs(RunSummary), "run__campaign", Sum("version")),
        last_round=_of_all(_of_runs(Round), "run__campaign", Max("number")),
        names=ArraySubquery(
            tests.values_list(JSONObject(plan=plan, number=number, target=target, tags=tags))
        ),
    )
    columns = ("pk", "n_all", "newest_event", "n_summaries", "last_round", "names")
    facts = {pk: values for pk, *values in rows.values_list(*columns)}
    keys = {}
    for each in campaigns:
        n_runs, event, n_summaries, last_round, tests = facts.get(each.pk, (*[None] * 4, ()))
        names = tuple(
            TestNames(f"{of['plan']} v{of['number']}", of["target"], tuple(of["tags"]))
            for of in tests
        )
        counters = event, n_summaries, n_looks(last_round)
        keys[each.pk] = CampaignKey(each.pk, each.state, n_runs or 0, *counters, names)
    return keys


def _of_runs(model: type[Round | RunEvent | RunSummary]) -> QuerySet:
    return model.objects.filter(run__campaign=OuterRef("pk"))


def _of_all(rows: QuerySet, campaign: str, value: Count | Max | Sum) -> Subquery:
    """Grouped by the campaign although it has only one: so the newest row is looked for among its
    own, and not backwards among those of all campaigns."""
    return Subquery(rows.order_by().values(campaign).annotate(value=value).values("value"))


def n_looks(last_round: int | None) -> int:
    """How often pages look at rounds while they come."""
    return 0 if last_round is None else 1 + last_round // ROUNDS_OF_A_LOOK


def newest_event(**runs: Any) -> int:
    """Of the runs with these fields; 0 before the first."""
    return RunEvent.objects.filter(**runs).aggregate(newest=Max("pk"))["newest"] or 0


def run_key(run: Run) -> tuple:
    """Another one after each change of state; late seconds change it by a new summary."""
    return run.pk, run.state, run.trust, newest_event(run=run), of_summary(run, "version")


def final_key(row: Run | Campaign) -> tuple | None:
    """What the files of a run or of a campaign depend on once it has ended; None before."""
    if isinstance(row, Run):
        return run_key(row) if row.is_done else None
    return (row.name, *campaign_key(row)) if row.finished_at else None


# The newest earlier measurements of a reference that a page looks for the one before in.
_REFERENCES = 20
# The tables that pages of campaigns and runs read, with the rows that such a page can show.
# `tests/campaigns/test_kept_pages.py` fails for a table that is missing here.
_RUN = "run_id IN (SELECT id FROM run)"
_SHOWN = {
    "campaigns_campaign": "id = %(campaign)s",
    "campaigns_project": "id IN (SELECT project_id FROM asked)",
    "campaigns_baseline": "project_id IN (SELECT project_id FROM asked)",
    "campaigns_search": "campaign_id = %(campaign)s",
    "campaigns_test": "campaign_id = %(campaign)s",
    "campaigns_testfigures": "campaign_id = %(campaign)s",
    "campaigns_probe": "campaign_id = %(campaign)s",
    "campaigns_endpoint": "id IN (SELECT endpoint_id FROM test)",
    "campaigns_target": "id IN (SELECT target_id FROM campaigns_endpoint "
    "WHERE id IN (SELECT endpoint_id FROM test))",
    "campaigns_planversion": "id IN (SELECT plan_version_id FROM test)",
    "campaigns_plan": "id IN (SELECT plan_id FROM campaigns_planversion "
    "WHERE id IN (SELECT plan_version_id FROM test))",
    "campaigns_run": "id IN (SELECT id FROM run)",
    "auth_user": "id IN (SELECT added_by_id FROM campaigns_tooloutput "
    "WHERE run_id IN (SELECT id FROM run))",
    **{
        f"campaigns_{each}": _RUN
        for each in (
            *("baseline_runs", "shard", "round", "runevent", "runsummary", "runuse"),
            *("machinesecond", "tooloutput", "failureexample", "requestsofshard", "runprofile"),
        )
    },
}
_VERSION = "SELECT tableoid, ctid, xmin FROM"
_ROWS = f"""
WITH asked AS (
    SELECT id, project_id, started_at FROM campaigns_campaign WHERE id = %(campaign)s
), run AS (
    SELECT id FROM campaigns_run
    WHERE campaign_id = %(campaign)s AND (%(run)s::bigint IS NULL OR id = %(run)s)
), test AS (
    SELECT id, endpoint_id, plan_version_id FROM campaigns_test WHERE campaign_id = %(campaign)s
), reference AS (
    SELECT endpoint.id FROM campaigns_endpoint endpoint
    JOIN campaigns_target target ON target.id = endpoint.target_id
    WHERE endpoint.id IN (SELECT endpoint_id FROM test) AND target.tags @> %(reference)s::varchar[]
), row_version AS (
    {" UNION ALL ".join(f"{_VERSION} {table} WHERE {rows}" for table, rows in _SHOWN.items())}
    UNION ALL
    (
        {_VERSION} campaigns_testfigures
        WHERE project_id IN (SELECT project_id FROM asked)
            AND endpoint_id IN (SELECT id FROM reference)
            AND started_at < (SELECT started_at FROM asked)
            AND EXISTS (SELECT 1 FROM reference)
        ORDER BY started_at DESC LIMIT %(references)s
    )
)
SELECT count(*), sum(hashtextextended(ctid::text || ' ' || xmin::text, tableoid::bigint))
FROM row_version
"""  # noqa: S608 - only the names of tables above; what is asked for is bound


def rows_of_campaign(campaign: int) -> tuple[int, int]:
    """Another value after each write of a row that the campaign's page can show. Read it before the
    rows: then what was made of them may be newer than it says, and never older."""
    return _rows_version(campaign, None)


def rows_of_run(run: int) -> tuple[int, int]:
    """The same for a run's page."""
    campaign = Run.objects.filter(pk=run).values_list("campaign", flat=True).first()
    return _rows_version(campaign, run) if campaign else (0, 0)


def _rows_version(campaign: int, run: int | None) -> tuple[int, int]:
    arguments = {"campaign": campaign, "run": run}
    arguments |= {"reference": [REFERENCE_TAG], "references": _REFERENCES}
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, arguments)
        n_rows, total = cursor.fetchone()
    return n_rows, int(total or 0)
