"""What the answers of campaigns depend on, read without their results."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Aggregate, Count, Max, QuerySet

from campaigns.models import Campaign, Run, RunEvent, RunSummary, Test


class CampaignKey(NamedTuple):
    """Another one whenever something has changed on which the campaign's answer depends. Names of
    plans and targets are part of it, and tags of targets: they make a reference."""

    pk: int
    state: str
    n_runs: int
    newest_event: int | None
    newest_summary: int | None
    names: tuple[tuple[str, ...], ...]


def campaign_key(campaign: Campaign) -> CampaignKey:
    return campaign_keys([campaign])[campaign.pk]


def campaign_keys(campaigns: Sequence[Campaign]) -> dict[int, CampaignKey]:
    """By campaign, in four queries for all of them."""
    runs = Run.objects.filter(campaign__in=campaigns)
    n_runs = _by_campaign(runs, "campaign", Count("pk"))
    events = _by_campaign(RunEvent.objects.filter(run__in=runs), "run__campaign", Max("pk"))
    summaries = _by_campaign(RunSummary.objects.filter(run__in=runs), "run__campaign", Max("pk"))
    tests = Test.objects.filter(campaign__in=campaigns).values_list(
        "campaign", "plan_version__plan__name", "endpoint__target__name", "endpoint__target__tags"
    )
    names: dict[int, list] = {}
    for campaign, plan, target, tags in tests.order_by("campaign", "position"):
        names.setdefault(campaign, []).append((plan, target, *tags))
    return {
        each.pk: CampaignKey(
            each.pk,
            each.state,
            n_runs.get(each.pk, 0),
            events.get(each.pk),
            summaries.get(each.pk),
            tuple(names.get(each.pk, ())),
        )
        for each in campaigns
    }


def _by_campaign(rows: QuerySet, campaign: str, value: Aggregate) -> dict[int, int]:
    counted = rows.order_by().values(campaign).annotate(value=value)
    return dict(counted.values_list(campaign, "value"))
