"""Keeps what pages and histories read of each test."""

from collections.abc import Iterable

from django.db import transaction

from campaigns.models import Search, Test, TestFigures
from campaigns.queries.kept_figures import figures_of
from campaigns.services.kept_briefs import keep_pooled


@transaction.atomic
def keep_figures(tests: Iterable[int]) -> None:
    """Write the figures of these tests as their runs have them now, for pages and for histories.
    May be done any number of times. Trials of a search and points of a sweep have no history: they
    are not the plan."""
    tests = list(tests)
    keep_pooled(tests)
    chosen = Test.objects.filter(pk__in=tests, swept="")
    chosen = chosen.exclude(campaign__in=Search.objects.values("pk"))
    # Who writes later has read later.
    list(chosen.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    rows = figures_of(chosen)
    TestFigures.objects.bulk_create(
        (TestFigures(**row) for row in rows),
        update_conflicts=True,
        unique_fields=["test"],
        update_fields=_WRITTEN,
    )


_WRITTEN = (
    *("n", "errors", "trust", "target_state", "facts"),
    *("mean_us", "p50_us", "p95_us", "p99_us"),
)
