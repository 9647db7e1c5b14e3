"""Keeps what pages show of a run or of a test's runs together as small rows, so that nobody decodes
the histograms of hundreds of runs while somebody waits for a page.
"""

import logging
from collections.abc import Callable, Collection, Iterable

from django.db import InterfaceError, OperationalError, transaction

from campaigns.domain.measured.brief import read_total
from campaigns.models import PooledPercentiles, Run, RunSummary, Search, Test
from campaigns.queries.briefs import brief_total, known_of
from campaigns.queries.measured import (
    MeasuredRun,
    counted_runs,
    measured_runs,
    pooled_of,
    summaries_of,
)

logger = logging.getLogger(__name__)


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


def keep_missing_briefs(*, is_over: Callable[[], bool]) -> int:
    """Of runs that earlier releases summarised, test by test, the newest first, until `is_over`.
    Returns the number of tests."""
    n_kept = 0
    missing = RunSummary.objects.filter(brief__isnull=True).order_by("-pk")
    for test in dict.fromkeys(missing.values_list("run__test", flat=True)[:1000]):
        if is_over():
            break
        n_kept += _keep_briefs(test)
    return n_kept


def _keep_briefs(test: int) -> bool:
    """Whether it could be done; whatever goes wrong, pages read the totals."""
    missing = RunSummary.objects.filter(run__test=test, brief__isnull=True)
    try:
        for pk, total in missing.values_list("pk", "total").iterator(10):
            RunSummary.objects.filter(pk=pk).update(brief=brief_total(read_total(total)))
        keep_pooled([test])
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("Pages read the histograms of test %s", test)
        return False
    return True
