"""In-process cache of answers and reports: a page with a hundred viewers is computed once per
change, not once per viewer.

A key holds everything on which the value depends, so no entry can be stale.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from django.db.models import Max

from campaigns.domain.shown.results import Answer, Gist, RunReport
from campaigns.domain.shown.run_points import point_columns
from campaigns.live.feed import FEED
from campaigns.live.waiting import held
from campaigns.models import Campaign, Run, RunEvent, RunSummary
from campaigns.queries.answers import campaign_answer
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


def answer_of(campaign: Campaign, chosen: tuple[int, int] | None = None) -> Answer:
    """The answer, with the pair of tests that was chosen (see campaign_answer)."""
    key = (*_campaign_key(campaign), chosen)
    return _ANSWERS.get(key, lambda: campaign_answer(campaign, chosen))


def gist_of(campaign: Campaign) -> Gist:
    """The answer's sentence and states alone, for lists."""
    return _GISTS.get(_campaign_key(campaign), lambda: campaign_answer(campaign).gist)


def report_of(run: Run) -> RunReport:
    """The feed follows an active run; a finished one is read once."""
    if not run.is_done:
        return FEED.report(run)
    return _REPORTS.get(_run_key(run), lambda: run_report(run))


def point_columns_of(run: Run) -> dict[str, list]:
    """The points of a finished run; an active one sends them on its stream."""
    return _COLUMNS.get(_run_key(run), lambda: point_columns(points_of(run)))


def tool_reports_of(run: Run) -> list[tuple[str, str]]:
    return _TOOL_REPORTS.get(_run_key(run), lambda: tool_reports(run))


def _campaign_key(campaign: Campaign) -> tuple:
    event = RunEvent.objects.filter(run__campaign=campaign).aggregate(newest=Max("pk"))
    summary = RunSummary.objects.filter(run__campaign=campaign).aggregate(newest=Max("pk"))
    n_runs = campaign.runs.count()
    return campaign.pk, campaign.state, n_runs, event["newest"], summary["newest"]


def _run_key(run: Run) -> tuple:
    """The key of a finished run; late seconds change it by a new summary."""
    event = RunEvent.objects.filter(run=run).aggregate(newest=Max("pk"))
    summary = RunSummary.objects.filter(run=run).aggregate(newest=Max("pk"))
    return run.pk, run.state, run.trust, event["newest"], summary["newest"]
