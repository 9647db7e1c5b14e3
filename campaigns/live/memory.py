"""In-process cache of answers and reports: a page with a hundred viewers is computed once per
change, not once per viewer.

A key holds everything on which the value depends, so no entry can be stale.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Generic, TypeVar

from django.db.models import Aggregate, Count, Max, QuerySet

from campaigns.domain.shown.results import Answer, Gist, RunReport
from campaigns.domain.shown.run_points import point_columns
from campaigns.domain.shown.thinning import thinned
from campaigns.live.feed import FEED
from campaigns.live.waiting import held
from campaigns.models import Campaign, Run, RunEvent, RunSummary, Test
from campaigns.queries.answers import campaign_answer, campaign_answers
from campaigns.queries.measurements import points_of
from campaigns.queries.reports import run_report
from campaigns.queries.tool_reports import tool_reports

_T = TypeVar("_T")


class Memory(Generic[_T]):
    """An LRU cache of `size` values; concurrent callers share one computation."""

    def __init__(self, size: int):
        self._size = size
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Slot[_T]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], _T]) -> _T:
        with self._lock:
            slot = self._kept.setdefault(key, _Slot())
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return slot.get(make)

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._kept


class _Slot(Generic[_T]):
    def __init__(self):
        self._lock = threading.Lock()
        self._values: list[_T] = []

    def get(self, make: Callable[[], _T]) -> _T:
        with held(self._lock):
            if not self._values:
                self._values.append(make())
            return self._values[0]


_ANSWERS: Memory[Answer] = Memory(16)
_GISTS: Memory[Gist] = Memory(500)
_REPORTS: Memory[RunReport] = Memory(32)
_COLUMNS: Memory[dict[str, list]] = Memory(32)
_TOOL_REPORTS: Memory[list[tuple[str, str]]] = Memory(32)


def answer_of(
    campaign: Campaign, chosen: tuple[int, int] | None = None, relative: int = 1
) -> Answer:
    """The answer, with the pair of tests and the column that were chosen (see campaign_answer)."""
    key = (*campaign_key(campaign), chosen, relative)
    return _ANSWERS.get(key, lambda: campaign_answer(campaign, chosen, relative))


def gist_of(campaign: Campaign) -> Gist:
    """The answer's sentence and states alone, for lists."""
    return _GISTS.get(campaign_key(campaign), lambda: campaign_answer(campaign).gist)


# Runs whose summaries are in memory at once.
_RUNS_AT_ONCE = 500


def gists_of(campaigns: Sequence[Campaign]) -> dict[int, Gist]:
    """`gist_of` each, however many campaigns, with a few queries. They need `n_runs`."""
    keys = _campaign_keys(campaigns)
    gists = {}
    for batch in _batches([each for each in campaigns if keys[each.pk] not in _GISTS]):
        for pk, answer in campaign_answers(batch).items():
            gists[pk] = _GISTS.get(keys[pk], lambda gist=answer.gist: gist)
    for each in campaigns:
        if each.pk not in gists:
            gists[each.pk] = _GISTS.get(
                keys[each.pk], lambda campaign=each: campaign_answer(campaign).gist
            )
    return gists


def _batches(campaigns: Sequence[Campaign]) -> Iterator[list[Campaign]]:
    batch, n_runs = [], 0
    for each in campaigns:
        if batch and n_runs + each.n_runs > _RUNS_AT_ONCE:
            yield batch
            batch, n_runs = [], 0
        batch.append(each)
        n_runs += each.n_runs
    if batch:
        yield batch


def report_of(run: Run) -> RunReport:
    """The feed follows an active run; a finished one is read once."""
    if not run.is_done:
        return FEED.report(run)
    return _REPORTS.get(run_key(run), lambda: run_report(run))


def point_columns_of(run: Run) -> dict[str, list]:
    """The points of a finished run; an active one sends them on its stream."""
    return _COLUMNS.get(run_key(run), lambda: thinned(point_columns(points_of(run))))


def tool_reports_of(run: Run) -> list[tuple[str, str]]:
    return _TOOL_REPORTS.get(run_key(run), lambda: tool_reports(run))


def campaign_key(campaign: Campaign) -> tuple:
    """What its answer depends on: another one whenever that has changed."""
    return _campaign_keys([campaign])[campaign.pk]


def _campaign_keys(campaigns: Sequence[Campaign]) -> dict[int, tuple]:
    """What each campaign's answer depends on. Names of plans and targets are part of it, and tags
    of targets: they make a reference."""
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
        each.pk: (
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


def run_key(run: Run) -> tuple:
    """Another one after each change of state; late seconds change it by a new summary."""
    event = RunEvent.objects.filter(run=run).aggregate(newest=Max("pk"))
    summary = RunSummary.objects.filter(run=run).aggregate(newest=Max("pk"))
    return run.pk, run.state, run.trust, event["newest"], summary["newest"]


def final_key(of: Run | Campaign) -> tuple | None:
    """What the files of a run or of a campaign depend on once it has ended; None before."""
    if isinstance(of, Run):
        return run_key(of) if of.is_done else None
    return (of.name, *campaign_key(of)) if of.finished_at else None
