"""What is kept of a summary's total and of a test's pooled requests, so that pages read small rows
and decode no histogram; and where these come from where something else is asked for.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform

from campaigns.domain.judged import shift
from campaigns.domain.measured.brief import RankedHistogram, brief_of, ranked, read_total
from campaigns.domain.measured.figures import SHOWN_PERCENTILES
from campaigns.domain.measured.histogram import Histogram, StoredHistogram
from campaigns.domain.measured.percentile_curve import CURVE_PERCENTILES
from campaigns.domain.measured.snapshot import Timing, Total
from campaigns.domain.percentiles import P50
from campaigns.domain.shown.exchange_tables import EXCHANGE_PERCENTILES, EXCHANGE_TIMINGS
from campaigns.models import PooledPercentiles, RunSummary, Test

# Of one run: in tables, files and comparisons.
_OF_A_RUN = {
    "response": {*SHOWN_PERCENTILES, *shift.PERCENTILES},
    **dict.fromkeys(EXCHANGE_TIMINGS, EXCHANGE_PERCENTILES),
}
# Of a test's runs together: in tables and as a curve, and whether a difference is within lateness.
POOLED = {
    "response": {*SHOWN_PERCENTILES, *CURVE_PERCENTILES},
    **dict.fromkeys(EXCHANGE_TIMINGS, EXCHANGE_PERCENTILES),
    "lateness": {P50},
}


def brief_total(total: Total) -> dict[str, Any]:
    """The column `brief` of a summary with this total."""
    return brief_of(total, lambda name: _OF_A_RUN.get(name, SHOWN_PERCENTILES), SHOWN_PERCENTILES)


def in_brief(summaries: QuerySet[RunSummary]) -> QuerySet[RunSummary]:
    """Without what is large."""
    return summaries.defer("total", "chunks", "steps")


class BriefTotals:
    """The totals of many summaries. Where more is asked of a timing than is kept in brief, its
    histograms are read: by one statement for all of the summaries."""

    def __init__(self) -> None:
        self._summaries: list[int] = []
        self._histograms: dict[str, dict[int, str]] = {}

    def of(self, summary: RunSummary) -> Total:
        """Of a row of `in_brief`."""
        self._summaries.append(summary.pk)
        return read_total(summary.brief, lambda name: self._histogram(summary.pk, name))

    def _histogram(self, summary: int, name: str) -> Histogram:
        found = self._histograms.setdefault(name, {})
        if summary not in found:
            timing = KeyTransform(name, KeyTransform("timings", "total"))
            unread = [pk for pk in self._summaries if pk not in found]
            rows = RunSummary.objects.filter(pk__in=unread)
            found |= rows.values_list("pk", KeyTextTransform("histogram", timing))
        return StoredHistogram(found[summary])


def kept_pooled(tests: Collection[Test]) -> dict[int, PooledPercentiles]:
    """What is kept of their pooled requests, by test."""
    return PooledPercentiles.objects.in_bulk([test.pk for test in tests])


def known_of(pooled: Total) -> dict[str, Any]:
    """The column `known` of a test whose counted runs have this total."""
    return {name: ranked(timing, POOLED[name]) for name, timing in pooled.timings.items()}


def with_known(pooled: Total, known: Mapping[str, Any]) -> Total:
    """The total with what was kept of its timings. For more, the runs' histograms are added up."""
    ranked_ones = {
        name: _with_ranked(timing, *known[name]) for name, timing in pooled.timings.items()
    }
    return replace(pooled, timings=pooled.timings | ranked_ones)


def _with_ranked(timing: Timing, ranks: Iterable[int], values_us: Iterable[float]) -> Timing:
    known = dict(zip(ranks, values_us, strict=True))
    return replace(timing, histogram=RankedHistogram(known, lambda: timing.histogram))
