"""In-process cache of answers and reports: a page with a hundred viewers is computed once per
change, not once per viewer.

A key holds everything on which the value depends, so no entry can be stale.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Max

from campaigns.campaigns.queries.answers import (
    campaign_answer,
    campaign_answers,
    campaign_verdict,
    verdict_on_held,
)
from campaigns.campaigns.queries.campaign_keys import CampaignKey, campaign_key, campaign_keys
from campaigns.core import cache
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.series import Point
from campaigns.domain.presentation.ladder import MEAN
from campaigns.domain.presentation.results import Answer, Gist, RunReport
from campaigns.domain.presentation.run_points import noted_points, thinned_columns
from campaigns.domain.presentation.verdicts import CampaignVerdict
from campaigns.history.queries.baselines import with_baselines
from campaigns.live.feed import FEED
from campaigns.live.waiting import held
from campaigns.models import Campaign, Run, RunEvent
from campaigns.runs.queries.measurements import measurement_of, of_summary
from campaigns.runs.queries.reports import run_report

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
_REPORTS: Memory[RunReport] = Memory(32)
_VERDICTS: Memory[CampaignVerdict] = Memory(64)
_POINTS: Memory["_OfPoints"] = Memory(32)


def answer_of(
    campaign: Campaign,
    chosen: tuple[int, int] | None = None,
    relative: int = 1,
    metric: str = MEAN,
    *,
    shows_machines: bool = True,
) -> Answer:
    """The answer, with the pair of tests, the column and the ladder's metric that were chosen (see
    campaign_answer)."""
    asked = (chosen, relative, metric)
    key = (*campaign_key(campaign), *asked, shows_machines)
    return _ANSWERS.get(
        key, lambda: campaign_answer(campaign, *asked, shows_machines=shows_machines)
    )


def verdict_of(campaign: Campaign) -> CampaignVerdict | None:
    """None while it goes on, unless it is on hold."""
    if campaign.is_held:
        return verdict_on_held(campaign)
    if not campaign.finished_at:
        return None
    pairs = with_baselines(campaign)
    keys = campaign_keys([campaign, *(baseline.test.campaign for baseline, _ in pairs)])
    key = (*keys.values(), *(baseline.pk for baseline, _ in pairs))
    return _VERDICTS.get(key, lambda: campaign_verdict(campaign, answer_of(campaign), pairs))


GIST_DAYS = 90


def gist_of(campaign: Campaign) -> Gist:
    """The answer's sentence and states alone, for lists."""
    return gists_of([campaign], campaign_keys([campaign]))[campaign.pk]


# Runs whose summaries are in memory at once.
_RUNS_AT_ONCE = 500


def gists_of(campaigns: Sequence[Campaign], keys: Mapping[int, CampaignKey]) -> dict[int, Gist]:
    """`gist_of` each, however many campaigns, with a few queries. Of those that have ended it is
    cached for all processes; of the others it is the answer's that their pages show."""
    ended = [each for each in campaigns if each.finished_at]
    names = {each.pk: cache.key_of("gist", *keys[each.pk]) for each in ended}
    cached = cache.get_many(names.values())
    gists = {pk: Gist.from_json(cached[name]) for pk, name in names.items() if name in cached}
    for batch in _batches([each for each in ended if each.pk not in gists], keys):
        read = {pk: answer.gist for pk, answer in campaign_answers(batch).items()}
        cache.put_many({names[pk]: gist.to_json() for pk, gist in read.items()}, GIST_DAYS)
        gists |= read
    return gists | {each.pk: answer_of(each).gist for each in campaigns if not each.finished_at}


def _batches(
    campaigns: Sequence[Campaign], keys: Mapping[int, CampaignKey]
) -> Iterator[list[Campaign]]:
    batch, n_runs = [], 0
    for each in campaigns:
        if batch and n_runs + keys[each.pk].n_runs > _RUNS_AT_ONCE:
            yield batch
            batch, n_runs = [], 0
        batch.append(each)
        n_runs += keys[each.pk].n_runs
    if batch:
        yield batch


def report_of(run: Run) -> RunReport:
    """The feed follows an active run; a finished one is read once."""
    if not run.is_done:
        return FEED.report(run)
    key = (*run_key(run), run.shows_machine)
    return _REPORTS.get(key, lambda: run_report(run, _stored(run)))


def point_columns_of(run: Run) -> dict[str, list]:
    """The points of a finished run; an active one sends them on its stream."""
    return _of_points(run).columns


def noted_points_of(run: Run) -> list[Point]:
    """Those points of a finished run that its page looks at one by one, see `noted_points`."""
    return _of_points(run).noted


@dataclass(frozen=True, slots=True)
class _OfPoints:
    """What pages show of a finished run's points, which nobody else needs to read again."""

    columns: dict[str, list]
    noted: list[Point]


def _of_points(run: Run) -> _OfPoints:
    def make() -> _OfPoints:
        points = _stored(run).series
        return _OfPoints(thinned_columns(points), noted_points(points))

    return _POINTS.get(run_key(run), make)


def _stored(run: Run) -> Measurement:
    """A finished run's, read once for all that a page shows of it: the row keeps it for as long as
    the page is made. A long run's points are many, so the process does not."""
    known = vars(run)
    if "stored" not in known:
        known["stored"] = measurement_of(run)
    return known["stored"]


def run_key(run: Run) -> tuple:
    """Another one after each change of state; late seconds change it by a new summary."""
    event = RunEvent.objects.filter(run=run).aggregate(newest=Max("pk"))
    return run.pk, run.state, run.trust, event["newest"], of_summary(run, "version")


def final_key(of: Run | Campaign) -> tuple | None:
    """What the files of a run or of a campaign depend on once it has ended; None before."""
    if isinstance(of, Run):
        return run_key(of) if of.is_done else None
    return (of.name, *campaign_key(of)) if of.finished_at else None
