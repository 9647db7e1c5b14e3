"""One reader per process behind all streams and live pages: each second is decoded once, not once
per viewer, and added incrementally, so the cost of a refresh does not grow with the run.
"""

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from typing import TypeVar

from django.db.models import Max

from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.measured.series import Point
from campaigns.domain.shown.progress import progress_of
from campaigns.domain.shown.results import RunReport
from campaigns.domain.shown.run_points import now_texts, point_columns
from campaigns.domain.shown.thinning import LAST_S, MOST_POINTS, thinned
from campaigns.live.change_signal import ChangeSignal, Shared
from campaigns.live.events import Look, News, RunLook
from campaigns.live.subject import Subject
from campaigns.models import Campaign, Run, RunEvent
from campaigns.queries.measurements import measurement_so_far, points_of
from campaigns.queries.reports import run_report

_MOST_SUBJECTS = 200
# A measurement holds its steps' histograms and a point per second: several MB.
_MOST_FOLLOWED = 20
_MOST_PAGES = 50
# What a process needs for a viewer who fetches the page again, with some to spare.
_SPREAD_S_PER_VIEWER = 0.01
_MOST_SPREAD_S = 5.0
# Of many viewers who follow a run, so many fetch its tiles and tables again in a second.
_REFRESHES_PER_S = 10
_T = TypeVar("_T")


class Followed:
    """A watched run: its measurement so far and the report of it.

    Each second is read and decoded once, however often points or report are requested. A finished
    run is read from its summary, which includes late seconds.
    """

    def __init__(self, run_id: int, bell: ChangeSignal):
        self._run_id = run_id
        self._measured: Shared[Measurement | None] = Shared(bell)
        self._points: list[Point] = []
        self._columns = point_columns([])
        # By the number of the first point that is told, until the run is read again.
        self._told: dict[int, News] = {}
        # With and without what the target's machine did, each with what it was made from.
        self._reported: dict[bool, tuple[Hashable, RunReport]] = {}

    def points(self) -> list[Point]:
        """All so far, oldest first."""
        return self._measured.use(self._read, lambda _: list(self._points))

    def news(self, after: int) -> News | None:
        """A stream's data for the seconds after `after`, the same for all who ask for these; None
        if there are none."""
        return self._measured.use(self._read, lambda measured: self._news(after, measured))

    def report(self, run: Run) -> RunReport:
        """The report of an active run; computed once per second and change of state."""
        return self._measured.use(self._read, lambda measured: self._report(run, measured))

    def _read(self, known: Measurement | None) -> Measurement | None:
        self._told = {}
        run = Run.objects.get(pk=self._run_id)
        if run.is_done:
            self._points = points_of(run)
            return None
        if known is None:
            self._columns = point_columns([])
        measured = measurement_so_far(run, known)
        self._points = measured.series
        return measured

    def _news(self, after: int, measured: Measurement | None) -> News | None:
        first = bisect_right(self._points, after, key=itemgetter("second"))
        if first == len(self._points):
            return None
        if first not in self._told:
            self._told[first] = self._news_from(first, measured)
        return self._told[first]

    def _news_from(self, first: int, measured: Measurement | None) -> News:
        n_points = len(self._points)
        is_due = n_points > MOST_POINTS and first // LAST_S < n_points // LAST_S
        return News(
            run=self._run_id,
            points=self._columns_from(0 if is_due else first, measured),
            all=is_due or not first,
            now=now_texts(self._points),
            progress=progress_of(measured).to_json() if measured else None,
        )

    def _columns_from(self, first: int, measured: Measurement | None) -> dict[str, list]:
        """Formats each second of an active run once."""
        if measured is None:
            before = min(first, 1)  # tells whether a second is missing
            return thinned(point_columns(self._points[first - before :]), before)
        n_known = len(self._columns["second"])
        for key, values in point_columns(self._points[n_known:]).items():
            self._columns[key] += values
        return thinned(self._columns, first)

    def _report(self, run: Run, measured: Measurement | None) -> RunReport:
        if measured is None:  # the run has ended meanwhile
            return run_report(run)
        key = (run.state, _newest_event(run=run), measured.last_second)
        known, report = self._reported.get(run.shows_machine, (None, None))
        if known != key:
            report = run_report(run, measured)
            self._reported[run.shows_machine] = key, report
        return report


class Feed:
    """The shared values by subject; the least recently used are evicted."""

    def __init__(self):
        self.bell = ChangeSignal()
        self._lock = threading.Lock()
        self._subjects: OrderedDict[Hashable, Subject] = OrderedDict()
        self._followed: OrderedDict[int, Followed] = OrderedDict()
        self._pages: OrderedDict[Hashable, Shared[str]] = OrderedDict()
        self._n_viewers = 0

    @contextmanager
    def viewer(self) -> Iterator[None]:
        """Counts a stream while it is open."""
        with self._lock:
            self._n_viewers += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_viewers -= 1

    @property
    def spread_s(self) -> float:
        """The time over which this process's viewers spread what they all fetch at once."""
        return min(_MOST_SPREAD_S, _SPREAD_S_PER_VIEWER * (self._n_viewers - 1))

    @property
    def refresh_s(self) -> float:
        """How often each viewer may fetch the page of a run under way again; what moves second by
        second comes by the stream."""
        return self._n_viewers / _REFRESHES_PER_S

    def page(self, key: Hashable, render: Callable[[], str]) -> str:
        """The page that all who share `key` see, rendered once for those who ask together."""
        page = self._kept(self._pages, key, self._new_shared, _MOST_PAGES)
        return page.get(lambda _: render())

    def campaign(self, campaign_id: int) -> Subject:
        return self._subject(_look_at_campaign, campaign_id)

    def run(self, run_id: int) -> Subject:
        return self._subject(_look_at_run, run_id)

    def points(self, run_id: int) -> list[Point]:
        """The run's points so far, oldest first."""
        return self._follow(run_id).points()

    def news(self, run_id: int, after: int) -> News | None:
        """{"run", "points": the columns of the seconds after `after`, thinned, "all", "now": the
        texts of the last one, "progress"}; None if no second is new. With `all` the points are the
        whole run's: every five minutes of a long run, so that a page's points do not pile up.
        """
        return self._follow(run_id).news(after)

    def report(self, run: Run) -> RunReport:
        """The report of an active run, up to the last complete second."""
        return self._follow(run.pk).report(run)

    def _subject(self, look: Callable[[int], Look], pk: int) -> Subject:
        make = partial(Subject, partial(look, pk), self.news, self.bell)
        return self._kept(self._subjects, (look, pk), make, _MOST_SUBJECTS)

    def _new_shared(self) -> Shared:
        return Shared(self.bell)

    def _follow(self, run_id: int) -> Followed:
        make = partial(Followed, run_id, self.bell)
        return self._kept(self._followed, run_id, make, _MOST_FOLLOWED)

    def _kept(self, kept: OrderedDict, key: Hashable, make: Callable[[], _T], most: int) -> _T:
        with self._lock:
            if key not in kept:
                kept[key] = make()
            kept.move_to_end(key)
            while len(kept) > most:
                kept.popitem(last=False)
            return kept[key]


FEED = Feed()


def _look_at_campaign(campaign_id: int) -> Look:
    campaign = Campaign.objects.get(pk=campaign_id)
    runs = Run.objects.filter(campaign=campaign).order_by("position").values_list("pk", "state")
    return Look(
        event=_newest_event(run__campaign=campaign_id),
        state=_state_of(campaign),
        is_over=campaign.state == "done",
        runs=tuple(RunLook(*run) for run in runs),
    )


def _state_of(campaign: Campaign) -> str:
    """Before the first run, pages show each of the first requests as it comes back."""
    if not campaign.is_before_first_run:
        return campaign.state
    n_back = campaign.first_requests.filter(finished_at__isnull=False).count()
    return f"{'held' if campaign.is_held else 'checking'}, {n_back}"


def _look_at_run(run_id: int) -> Look:
    run = Run.objects.get(pk=run_id)
    return Look(
        event=_newest_event(run=run_id),
        state=run.state,
        is_over=run.is_done,
        runs=(RunLook(run.pk, run.state),),
    )


def _newest_event(**of) -> int:
    return RunEvent.objects.filter(**of).aggregate(newest=Max("pk"))["newest"] or 0
