"""Keeps what pages and histories read of each test."""

from collections.abc import Collection, Iterable

from django.db import transaction

from campaigns.models import PooledPercentiles, Run, Search, Test, TestFigures
from campaigns.queries.briefs import known_of
from campaigns.queries.kept_figures import figures_of
from campaigns.queries.measured import (
    MeasuredRun,
    counted_runs,
    measured_runs,
    pooled_of,
    summaries_of,
)


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


@transaction.atomic
def keep_pooled(tests: Collection[int]) -> None:
    """Write the percentiles of these tests as their runs count now. May be done any number of
    times. Trials of a search are not pooled: each has another rate."""
    chosen = Test.objects.filter(pk__in=tests).exclude(campaign__in=Search.objects.values("pk"))
    # Who writes later has read later.
    locked = chosen.select_for_update(no_key=True).order_by("pk")
    chosen = list(locked.values_list("pk", flat=True))
    runs: dict[int, list[MeasuredRun]] = {}
    for each in measured_runs(Run.objects.filter(test__in=chosen).prefetch_related("shards")):
        if each.measurement:
            runs.setdefault(each.run.test_id, []).append(each)
    PooledPercentiles.objects.bulk_create(
        (_pooled(*of_test) for of_test in runs.items()),
        update_conflicts=True,
        unique_fields=["test"],
        update_fields=["of", "known"],
    )


def _pooled(test: int, runs: Iterable[MeasuredRun]) -> PooledPercentiles:
    counted = counted_runs(runs)
    total, _ = pooled_of(counted)
    return PooledPercentiles(test_id=test, of=summaries_of(counted), known=known_of(total))
