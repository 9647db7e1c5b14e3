"""What a process reads once for all who watch a campaign or a run: of an active run each second is
read and decoded once and added to what is known, however many ask; an update is encoded once for
all who stand at the same place; a page is rendered once for all who ask together and see the same.
Reads of runs check no permissions.

A server-sent event's id `e<event>.r<run>.s<second>` names the last change of state, the run and the
second that the viewer has; a browser sends it back as Last-Event-ID when it reconnects."""

import json
import re
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, Self

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Max

from campaigns.campaigns.queries.campaigns import n_looks, newest_event, run_key
from campaigns.compare.queries.columns import Viewer, open_links, who_still_see
from campaigns.core.cache import Cache
from campaigns.core.database import connection_given_back, held
from campaigns.domain.lifecycle import ACTIVE_STATES, RunState
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.series import Point
from campaigns.domain.presentation.results import RunReport
from campaigns.domain.presentation.run_points import (
    LAST_S,
    MOST_POINTS,
    noted_points,
    now_texts,
    progress_of,
    thinned_columns,
)
from campaigns.engine.queries.injector_hosts import busy_host
from campaigns.live.notify import SIGNAL, Signal, Topic
from campaigns.models import Campaign, Round, Run, ShareLink
from campaigns.runs.queries.measurements import measurement_of, measurement_so_far, points_of
from campaigns.runs.queries.reports import run_report


class EndedRun(NamedTuple):
    """What pages show of it; a long run's points are too many to keep."""

    report: RunReport
    columns: dict[str, list[Any]]  # of its points, thinned
    noted: list[Point]  # see `noted_points`


class FollowedRun:
    """A run's points and measurement so far; a finished one's points are those of its summary,
    which has late seconds too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version = -1
        self.measured: Measurement | None = None
        self.points: list[Point] = []

    @contextmanager
    def at_version(self, version: int, run_id: int) -> Iterator[None]:
        """While nobody else can read on."""
        with held(self._lock):
            if version > self._version:
                # What is only partly read is discarded.
                measurement, self.measured, self._version = self.measured, None, -1
                run = Run.objects.get(pk=run_id)
                newer = None if run.is_done else measurement_so_far(run, measurement)
                self.points = newer.series if newer else points_of(run)
                self.measured, self._version = newer, version
            yield


# A measurement holds its steps' histograms and a point per second: several MB.
_FOLLOWED: Cache[FollowedRun] = Cache(20)
_REPORTS: Cache[RunReport] = Cache(32)
_ENDED: Cache[EndedRun] = Cache(32)


@contextmanager
def _follow(run_id: int) -> Iterator[FollowedRun]:
    followed_run = _FOLLOWED.get(run_id, FollowedRun)
    with followed_run.at_version(SIGNAL.version(("run", run_id)), run_id):
        yield followed_run


def points_so_far(run_id: int) -> list[Point]:
    """Oldest first. Raises ObjectDoesNotExist."""
    with _follow(run_id) as live_run:
        return list(live_run.points)


def seconds_after(run_id: int, after: int) -> dict[str, Any] | None:
    """{"run", "points": the columns of the seconds after `after`, thinned, "all", "now": the texts
    of the last one, "progress"}; None if no second is new. With `all` the points are the whole
    run's: every five minutes of a long run, so that a page's points do not pile up."""
    with _follow(run_id) as live_run:
        points, measurement = live_run.points, live_run.measured
        first, n_points = bisect_right(points, after, key=itemgetter("second")), len(points)
        if first == n_points:
            return None
        is_due = n_points > MOST_POINTS and first // LAST_S < n_points // LAST_S
        return {
            "run": run_id,
            "points": thinned_columns(points, 0 if is_due else first),
            "all": is_due or not first,
            "now": now_texts(points),
            "progress": progress_of(measurement).to_json() if measurement else None,
        }


def report_of(run: Run) -> RunReport:
    """Of an active run up to the last complete second."""
    if run.is_done:
        return ended_run(run).report
    with _follow(run.pk) as live_run:
        measurement = live_run.measured
        key = (*run_key(run), run.shows_machine, measurement and measurement.last_second)
        return _REPORTS.get(key, lambda: run_report(run, measurement))


def ended_run(run: Run) -> EndedRun:
    def reader() -> EndedRun:
        measurement = measurement_of(run)
        points = measurement.series
        return EndedRun(run_report(run, measurement), thinned_columns(points), noted_points(points))

    return _ENDED.get((*run_key(run), run.shows_machine), reader)


_CURSOR = re.compile(r"e(\d{1,18})\.r(\d{1,18})\.s(-?\d{1,9})")
# A viewer who missed many runs gets only the latest ones.
_MOST_RUNS = 3
# Below the first second of any warm-up.
BEFORE_ALL = -1_000_000


class Cursor(NamedTuple):
    """What a viewer has received. `run` is 0 before its first second."""

    event: int = 0
    run: int = 0
    second: int = BEFORE_ALL

    def __str__(self) -> str:
        return f"e{self.event}.r{self.run}.s{self.second}"

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """None for anything that is not a cursor: the stream then starts from the beginning."""
        match = _CURSOR.fullmatch(text or "")
        return cls(*map(int, match.groups())) if match else None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A campaign or run at one instant, as all its viewers see it."""

    event: int  # the newest run event
    state: str
    is_over: bool
    runs: Sequence[tuple[int, str]]  # ids and states, in order of execution
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """What a stream sends next, and where its viewer then stands; of this version of its topic."""

    events: bytes
    cursor: Cursor
    state: str
    is_over: bool
    version: int


def encode(kind: str, data: Mapping[str, Any], cursor: Cursor | None = None) -> bytes:
    """An event in the HTML standard's event stream format; `kind`: second, state, beat, again or
    end."""
    head = f"id: {cursor}\n" if cursor else ""
    return f"{head}event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def build_update(
    cursor: Cursor,
    state: str,
    now: Snapshot,
    seconds: Callable[[int, int], Mapping[str, Any] | None],
    version: int,
) -> Update:
    """What has come since the cursor and the state that the page shows. `seconds(run, after)` as
    `seconds_after`."""
    events = b""
    for run in _runs_since(cursor, now.runs):
        after = cursor.second if run == cursor.run else BEFORE_ALL
        if data := seconds(run, after):
            cursor = cursor._replace(run=run, second=data["points"]["second"][-1])
            events += encode("second", data, cursor)
    if now.event > cursor.event or now.state != state:
        cursor = cursor._replace(event=max(now.event, cursor.event))
        events += encode("state", {"state": now.state}, cursor)
    if now.is_over:
        events += encode("end", {}, cursor)
    return Update(events, cursor, now.state, now.is_over, version)


def _runs_since(cursor: Cursor, runs: Sequence[tuple[int, str]]) -> list[int]:
    """From the viewer's run to the current one: the active one, else the last that started."""
    begun_pks = [pk for pk, state in runs if state != RunState.QUEUED]
    active = [pk for pk, state in runs if state in ACTIVE_STATES]
    if not begun_pks:
        return []
    until = begun_pks[: begun_pks.index((active or begun_pks)[-1]) + 1]
    first = until.index(cursor.run) if cursor.run in until else -1
    return until[first:][-_MOST_RUNS:]


# Seconds come each second: somewhat longer, so that their notices are there first.
POLL_S = 1.2
# A stream ends after a while and the page opens the next one, so that streams of departed viewers
# end and restarts of the server are not delayed.
LIFETIME_S = 100.0
BEAT_EVERY_S = 2.0
# With the wait for a beat, whoever loses the right to view hears nothing after 10 s.
ASK_EVERY_S = 6.0
# What a process needs for a viewer who fetches the page again, with some to spare.
_SPREAD_S_PER_VIEWER = 0.01
_MOST_SPREAD_S = 5.0
# Of many viewers who follow a run, so many fetch its tiles and tables again in a second.
_REFRESHES_PER_S = 10


class Hub:
    """All that a process shares between viewers."""

    def __init__(
        self,
        still_may: Callable[[Topic, set[Any]], set[Any]],
        seconds: Callable[[int, int], Mapping[str, Any] | None] = seconds_after,
        signal: Signal = SIGNAL,
        clock: Callable[[], float] = time.monotonic,
    ):
        """`still_may(topic, viewers)` returns those who may go on watching; `seconds` as
        `seconds_after`."""
        self._still_may, self._seconds = still_may, seconds
        self._signal, self._clock = signal, clock
        self._viewers: dict[object, tuple[Topic, Hashable]] = {}  # by stream
        self._refusals: Cache[set[Any]] = Cache(200)
        self._snapshots: Cache[Snapshot] = Cache(200)
        self._updates: Cache[Update] = Cache(100)
        self._pages: Cache[str] = Cache(50)

    def page(self, topic: Topic, key: Hashable, render: Callable[[], str]) -> str:
        """What all who share `key` see, rendered once for those who ask together."""
        return self._pages.get((topic, key), render, self._signal.version(topic))

    def snapshot(self, topic: Topic) -> Snapshot:
        """Raises ObjectDoesNotExist."""
        kind, pk = topic
        return self._snapshots.get(topic, partial(_READERS[kind], pk), self._signal.version(topic))

    def next_update(self, topic: Topic, last: Update) -> Update:
        """What all whom the last one left at the same place are sent next; without events when a
        beat is due. One of them listens and reads, the others wait for it. Raises
        ObjectDoesNotExist."""

        def listen() -> Update:
            version, until = last.version, self._clock() + BEAT_EVERY_S
            while True:
                self._signal.wait(topic, version, POLL_S)
                version = self._signal.version(topic)
                with connection_given_back():
                    now = self.snapshot(topic)
                    update = build_update(last.cursor, last.state, now, self._seconds, version)
                if update.events or self._clock() >= until:
                    return update

        return self._updates.get((topic, last.cursor, last.state), listen, last.version + 1)

    def wait_for_end(self, campaign_id: int, timeout_s: float) -> None:
        """Return when the campaign has ended or is on hold, or after `timeout_s`. Raises
        ObjectDoesNotExist."""
        topic, until = ("campaign", campaign_id), self._clock() + timeout_s
        while True:
            version = self._signal.version(topic)
            with connection_given_back():
                now = self.snapshot(topic)
            left_s = until - self._clock()
            if now.is_over or now.is_held or left_s <= 0:
                return
            self._signal.wait(topic, version, min(POLL_S, left_s))

    @property
    def pace(self) -> dict[str, float]:
        """Over which time this process's viewers spread what they all fetch at once, and how often
        each may fetch the page of a run under way again."""
        n = len(self._viewers)
        spread_s = min(_MOST_SPREAD_S, _SPREAD_S_PER_VIEWER * (n - 1))
        return {"spread_ms": round(1000 * spread_s), "refresh_s": n / _REFRESHES_PER_S}

    def stream(self, topic: Topic, cursor: Cursor, state: str, viewer: Hashable) -> Iterator[bytes]:
        """What has come since the cursor and the state that the page shows, then what comes."""
        began_s = beaten = sent_s = asked_s = self._clock()
        n_viewers, stream = 0, object()
        self._viewers[stream] = topic, viewer
        try:
            yield b"retry: 1000\n\n"
            update = Update(b"", cursor, state, False, self._signal.version(topic) - 1)
            while True:
                now = self._clock()
                if now // ASK_EVERY_S > asked_s // ASK_EVERY_S:
                    asked_s = now
                    if not self._may_go_on(topic, viewer, now):
                        return
                if update.events:
                    sent_s = now
                    yield update.events
                if update.is_over:
                    return
                if now - began_s >= LIFETIME_S:
                    break
                # A second shows as well that the stream lives.
                is_silent = now - sent_s >= BEAT_EVERY_S
                if now - beaten >= BEAT_EVERY_S and (is_silent or len(self._viewers) != n_viewers):
                    beaten, sent_s, n_viewers = now, now, len(self._viewers)
                    yield encode("beat", self.pace)
                update = self.next_update(topic, update)
            # The page opens the next stream after what it was sent, and fetches nothing.
            yield encode("again", {"after": str(update.cursor), "state": update.state})
        except ObjectDoesNotExist:
            return  # deleted meanwhile; the browser reconnects and gets a 404
        finally:
            del self._viewers[stream]

    def _may_go_on(self, topic: Topic, viewer: Hashable, now: float) -> bool:
        """Whether the viewer may go on, as of at most `ASK_EVERY_S` ago. Of hundreds of streams
        each would otherwise ask the database, and all of them together."""

        def ask() -> set[Hashable]:
            viewers = {each for own, each in list(self._viewers.values()) if own == topic}
            with connection_given_back():
                return viewers - self._still_may(topic, viewers)

        return viewer not in self._refusals.get(topic, ask, int(now // ASK_EVERY_S))


def who_may_watch(topic: Topic, viewers: set[Viewer | int]) -> set[Viewer | int]:
    """Of those signed in, and of share links by number."""
    kind, pk = topic
    rows = {"campaign": Campaign, "run": Run}[kind].objects.filter(pk=pk)
    links = {each for each in viewers if isinstance(each, int)}
    valid = {each.pk for each in open_links(ShareLink.objects.filter(pk__in=links))}
    return valid | who_still_see(rows, viewers - links)


HUB = Hub(still_may=who_may_watch)


def _read_campaign(campaign_id: int) -> Snapshot:
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
    event = newest_event(run__campaign=campaign_id)
    return Snapshot(event, state, campaign.state == "done", list(runs), campaign.is_held)


def _read_run(run_id: int) -> Snapshot:
    run = Run.objects.get(pk=run_id)
    return Snapshot(newest_event(run=run_id), run.state, run.is_done, [(run.pk, run.state)])


_READERS: dict[str, Callable[[int], Snapshot]] = {"campaign": _read_campaign, "run": _read_run}
