"""One reader per process behind all streams and live pages: each second is decoded once, not once
per viewer, and added incrementally, so the cost of a refresh does not grow with the run. What the
streams of a campaign or run say is encoded once for all who stand at the same place, and told to
all of them at once.
"""

import threading
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import attrgetter, itemgetter
from typing import TypeVar

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Max

from campaigns.campaigns.queries.campaign_keys import n_looks
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.series import Point
from campaigns.domain.presentation.results import RunReport
from campaigns.domain.presentation.run_points import (
    LAST_S,
    MOST_POINTS,
    now_texts,
    point_columns,
    progress_of,
    thinned,
)
from campaigns.engine.queries.injector_hosts import busy_host
from campaigns.live.change_signal import ChangeSignal, Shared
from campaigns.live.events import Cursor, Look, News, RunLook, StreamUpdate, build_update
from campaigns.live.waiting import connection_given_back
from campaigns.models import Campaign, Round, Run, RunEvent
from campaigns.runs.queries.measurements import measurement_so_far, points_of
from campaigns.runs.queries.reports import run_report

NewsOf = Callable[[int, int], News | None]


class StreamSnapshot:
    """A campaign or run at one instant, and what its streams say of it, by cursor and state."""

    def __init__(self, look: Look, news_of: NewsOf):
        self.look = look
        self._news_of = news_of
        self._updates: dict[tuple[Cursor, str], StreamUpdate] = {}

    def to(self, cursor: Cursor, seen_state: str) -> StreamUpdate:
        place = cursor, seen_state
        if place not in self._updates:
            with connection_given_back():
                self._updates[place] = build_update(cursor, seen_state, self.look, self._news_of)
        return self._updates[place]


class Topic:
    """A campaign or run that streams follow. Of those who wait, one listens to the signal and reads
    what is new; then all others wake and find it read."""

    def __init__(
        self,
        look: Callable[[], Look],
        news_of: NewsOf,
        signal: ChangeSignal,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._look_at, self._news_of = look, news_of
        self._signal, self._clock = signal, clock
        self._now: Shared[StreamSnapshot] = Shared(signal, clock)
        self._lock = threading.Lock()
        self._news_sent: threading.Event | None = None

    def look(self) -> Look:
        return self._now.use(self._read, attrgetter("look"))

    def look_briefly(self) -> Look:
        """By one of many who wait: without keeping a connection. Raises ObjectDoesNotExist."""
        return self._now.use(self._read_briefly, attrgetter("look"))

    def update_for(self, cursor: Cursor, seen_state: str) -> StreamUpdate:
        """What a stream says to all who have heard everything up to this cursor.

        Raises ObjectDoesNotExist when there is no such campaign or run any more.
        """
        return self._now.use(self._read_briefly, lambda now: now.to(cursor, seen_state))

    def wait(self, heard: int, update: StreamUpdate, timeout_s: float) -> None:
        """Return when there is more to say than was told, or after `timeout_s`. `heard` is the
        signal's count before it was told."""
        if self._signal.count != heard:
            return
        with self._lock:
            listens, news_sent = self._news_sent is None, self._news_sent or threading.Event()
            self._news_sent = news_sent
        if not listens:
            news_sent.wait()
            return
        try:
            self._listen(heard, update, self._clock() + timeout_s)
        finally:
            self._news_sent = None
            news_sent.set()

    def _listen(self, heard: int, update: StreamUpdate, until: float) -> None:
        """The signal comes for all runs of the installation."""
        while (left_s := until - self._clock()) > 0:
            self._signal.wait(heard, left_s)
            heard = self._signal.count
            try:
                if self.update_for(update.cursor, update.state).events:
                    return
            except ObjectDoesNotExist:  # each stream finds that out for itself
                return

    def _read(self, _: StreamSnapshot | None) -> StreamSnapshot:
        return StreamSnapshot(self._look_at(), self._news_of)

    def _read_briefly(self, known: StreamSnapshot | None) -> StreamSnapshot:
        """By a stream; a page that looks goes on with its connection, and its turn at one."""
        with connection_given_back():
            return self._read(known)


_MOST_TOPICS = 200
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

    def __init__(self, run_id: int, signal: ChangeSignal):
        self._run_id = run_id
        self._measured: Shared[Measurement | None] = Shared(signal)
        self._points: list[Point] = []
        self._columns = point_columns([])
        # By the number of the first point that is told, until the run is read again.
        self._sent_news: dict[int, News] = {}
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
        self._sent_news = {}
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
        if first not in self._sent_news:
            n_points = len(self._points)
            is_due = n_points > MOST_POINTS and first // LAST_S < n_points // LAST_S
            self._sent_news[first] = News(
                run=self._run_id,
                points=self._columns_from(0 if is_due else first, measured),
                all=is_due or not first,
                now=now_texts(self._points),
                progress=progress_of(measured).to_json() if measured else None,
            )
        return self._sent_news[first]

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
    """The shared values by topic; the least recently used are evicted."""

    def __init__(self):
        self.signal = ChangeSignal()
        self._lock = threading.Lock()
        self._topics: OrderedDict[Hashable, Topic] = OrderedDict()
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
        page = self._cached(self._pages, key, partial(Shared, self.signal), _MOST_PAGES)
        return page.get(lambda _: render())

    def campaign(self, campaign_id: int) -> Topic:
        return self._topic(_look_at_campaign, campaign_id)

    def wait_for_end(self, campaign_id: int, timeout_s: float) -> None:
        """Return when the campaign has ended or is on hold, or after `timeout_s`. Whatever their
        number, those who wait for a campaign look at it once. Raises ObjectDoesNotExist."""
        topic, until = self.campaign(campaign_id), time.monotonic() + timeout_s
        while True:
            heard = self.signal.count
            look = topic.look_briefly()
            left_s = until - time.monotonic()
            if look.is_over or look.is_held or left_s <= 0:
                return
            self.signal.wait(heard, min(1.0, left_s))

    def run(self, run_id: int) -> Topic:
        return self._topic(_look_at_run, run_id)

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

    def _topic(self, look: Callable[[int], Look], pk: int) -> Topic:
        make = partial(Topic, partial(look, pk), self.news, self.signal)
        return self._cached(self._topics, (look, pk), make, _MOST_TOPICS)

    def _follow(self, run_id: int) -> Followed:
        make = partial(Followed, run_id, self.signal)
        return self._cached(self._followed, run_id, make, _MOST_FOLLOWED)

    def _cached(self, kept: OrderedDict, key: Hashable, make: Callable[[], _T], most: int) -> _T:
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
    state = campaign.state
    if campaign.is_before_first_run:  # pages show each of the first requests as it comes back
        n_back = campaign.first_requests.filter(finished_at__isnull=False).count()
        state = f"{'held' if campaign.is_held else 'checking'}, {n_back}"
    if campaign.finished_at is None and busy_host():  # pages say so at once
        state = f"{state}, busy"
    if campaign.order == Campaign.Order.SIDE_BY_SIDE:  # intervals narrow as rounds come
        rounds = Round.objects.filter(run__campaign=campaign_id)
        state = f"{state}, {n_looks(rounds.aggregate(last=Max('number'))['last'])}"
    return Look(
        event=_newest_event(run__campaign=campaign_id),
        state=state,
        is_over=campaign.state == "done",
        runs=tuple(RunLook(*run) for run in runs),
        is_held=campaign.is_held,
    )


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
