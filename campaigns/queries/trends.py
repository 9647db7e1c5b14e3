"""The p95 of a campaign beside earlier ones with the same test, for the list of campaigns."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Aggregate, F, FloatField, OuterRef, QuerySet, Subquery

from campaigns.domain.judged.against import Against
from campaigns.domain.lifecycle import Outcome, Trust
from campaigns.models import Campaign, Run, Test

MOST = 12  # campaigns in a trend


@dataclass(frozen=True, slots=True)
class P95Trend:
    """Of a campaign's first test. `p95s_ms`: its p95 and those of the same test before, the newest
    last: the median over the runs that ended as planned and are usable, None without any.
    `against`: what was stored of its comparison with a baseline."""

    p95s_ms: list[float | None]
    against: Against | None


def trends_of(campaigns: Sequence[Campaign]) -> dict[int, P95Trend]:
    """By campaign, in one query that brings no run; a campaign without tests has none."""
    firsts = Test.objects.filter(campaign__in=campaigns, position=0).order_by()
    rows = firsts.annotate(p95s_us=ArraySubquery(_p95s_until_then()), said=F("figures__against"))
    return {
        campaign: P95Trend(
            [None if us is None else us / 1000 for us in reversed(p95s_us)],
            Against.from_json(said) if said else None,
        )
        for campaign, p95s_us, said in rows.values_list("campaign", "p95s_us", "said")
    }


def _p95s_until_then() -> QuerySet:
    same = ("plan_version__plan", "endpoint", "connection_mode", "injectors")
    same += ("swept", "swept_value")
    tests = Test.objects.filter(**{name: OuterRef(name) for name in same})
    tests = tests.filter(campaign__lte=OuterRef("campaign"), campaign__started_at__isnull=False)
    return tests.order_by("-campaign_id").values(p95_us=Subquery(_p95_us()))[:MOST]


def _p95_us() -> QuerySet:
    runs = Run.objects.filter(test=OuterRef("pk"), outcome=Outcome.COMPLETE, p95_us__isnull=False)
    runs = runs.exclude(trust=Trust.NOT_USABLE).order_by()
    return runs.values("test").annotate(median=_Median("p95_us")).values("median")


class _Median(Aggregate):
    template = "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()
