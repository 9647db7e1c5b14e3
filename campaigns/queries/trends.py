"""The p95 of a campaign and of the earlier ones with the same test, for the list of campaigns."""

from collections.abc import Sequence
from statistics import median

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet

from campaigns.domain.lifecycle import Outcome, Trust
from campaigns.models import Campaign, Run, Test

MOST = 12  # campaigns in a trend


def trends_of(campaigns: Sequence[Campaign]) -> dict[int, list[float | None]]:
    """For each campaign the p95 in ms of its first test, the newest last: the median over the runs
    that ended as planned and are usable, None without any. Two queries for all campaigns."""
    firsts = Test.objects.filter(campaign__in=campaigns).order_by("campaign_id", "position")
    tests = firsts.distinct("campaign").annotate(same=ArraySubquery(_same_until_then()))
    lines = {test.campaign_id: test.same[::-1] for test in tests}
    p95_ms = _p95_ms({pk for line in lines.values() for pk in line})
    return {campaign: [p95_ms.get(pk) for pk in line] for campaign, line in lines.items()}


def _same_until_then() -> QuerySet:
    same = ("plan_version__plan", "endpoint", "connection_mode", "injectors")
    same += ("swept", "swept_value")
    tests = Test.objects.filter(**{name: OuterRef(name) for name in same})
    tests = tests.filter(campaign__lte=OuterRef("campaign"), campaign__started_at__isnull=False)
    return tests.order_by("-campaign_id").values("pk")[:MOST]


def _p95_ms(tests: set[int]) -> dict[int, float]:
    runs = Run.objects.filter(test__in=tests, outcome=Outcome.COMPLETE, p95_us__isnull=False)
    of_tests: dict[int, list[float]] = {}
    for test, p95_us in runs.exclude(trust=Trust.NOT_USABLE).values_list("test", "p95_us"):
        of_tests.setdefault(test, []).append(p95_us / 1000)
    return {test: median(values) for test, values in of_tests.items()}
