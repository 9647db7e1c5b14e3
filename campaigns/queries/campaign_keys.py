"""What the answers of campaigns depend on, read without their results."""

from collections.abc import Sequence
from typing import NamedTuple

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, F, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import JSONObject

from campaigns.domain.tags import REFERENCE_TAG
from campaigns.models import Campaign, Run, RunEvent, RunSummary, Test


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
    newest_summary: int | None
    names: tuple[TestNames, ...]  # of its tests, in their order


def campaign_key(campaign: Campaign) -> CampaignKey:
    return campaign_keys([campaign])[campaign.pk]


def campaign_keys(campaigns: Sequence[Campaign]) -> dict[int, CampaignKey]:
    """By campaign, in one query for all of them."""
    runs = Run.objects.filter(campaign=OuterRef("pk"))
    found = Campaign.objects.filter(pk__in=[each.pk for each in campaigns]).order_by()
    rows = found.annotate(
        n_all=_of_all(runs, "campaign", Count("pk")),
        newest_event=_of_all(_of_runs(RunEvent), "run__campaign", Max("pk")),
        newest_summary=_of_all(_of_runs(RunSummary), "run__campaign", Max("pk")),
        names=ArraySubquery(_names()),
    )
    told = {
        pk: values
        for pk, *values in rows.values_list(
            "pk", "n_all", "newest_event", "newest_summary", "names"
        )
    }
    return {
        each.pk: _key_of(each, *told.get(each.pk, (None, None, None, ()))) for each in campaigns
    }


def _of_runs(model: type[RunEvent | RunSummary]) -> QuerySet:
    return model.objects.filter(run__campaign=OuterRef("pk"))


def _of_all(rows: QuerySet, campaign: str, value: Count | Max) -> Subquery:
    """Grouped by the campaign although it has only one: so the newest row is looked for among its
    own, and not backwards among those of all campaigns."""
    return Subquery(rows.order_by().values(campaign).annotate(value=value).values("value"))


def _names() -> QuerySet:
    tests = Test.objects.filter(campaign=OuterRef("pk")).order_by("position")
    plan, number = F("plan_version__plan__name"), F("plan_version__number")
    target, tags = F("endpoint__target__name"), F("endpoint__target__tags")
    return tests.values_list(JSONObject(plan=plan, number=number, target=target, tags=tags))


def _key_of(
    campaign: Campaign,
    n_runs: int | None,
    newest_event: int | None,
    newest_summary: int | None,
    names: Sequence[dict],
) -> CampaignKey:
    told = tuple(
        TestNames(f"{each['plan']} v{each['number']}", each["target"], tuple(each["tags"]))
        for each in names
    )
    return CampaignKey(campaign.pk, campaign.state, n_runs or 0, newest_event, newest_summary, told)
