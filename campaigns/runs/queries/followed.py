"""What this process knows of the runs that pages and streams show. Of an active one each second is
read and decoded once and added to what is known, however many ask. Checks no permissions."""

import threading
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, NamedTuple

from campaigns.campaigns.queries.campaigns import run_key
from campaigns.core.cache import Cache
from campaigns.core.database import held
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
from campaigns.live.notify import SIGNAL
from campaigns.models import Run
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
                measured = None if run.is_done else measurement_so_far(run, measurement)
                self.points = measured.series if measured else points_of(run)
                self.measured, self._version = measured, version
            yield


# A measurement holds its steps' histograms and a point per second: several MB.
_FOLLOWED: Cache[FollowedRun] = Cache(20)
_REPORTS: Cache[RunReport] = Cache(32)
_ENDED: Cache[EndedRun] = Cache(32)


@contextmanager
def _follow(run_id: int) -> Iterator[FollowedRun]:
    followed = _FOLLOWED.get(run_id, FollowedRun)
    with followed.at_version(SIGNAL.version(("run", run_id)), run_id):
        yield followed


def points_so_far(run_id: int) -> list[Point]:
    """Oldest first. Raises ObjectDoesNotExist."""
    with _follow(run_id) as followed:
        return list(followed.points)


def seconds_after(run_id: int, after: int) -> dict[str, Any] | None:
    """{"run", "points": the columns of the seconds after `after`, thinned, "all", "now": the texts
    of the last one, "progress"}; None if no second is new. With `all` the points are the whole
    run's: every five minutes of a long run, so that a page's points do not pile up."""
    with _follow(run_id) as followed:
        points, measured = followed.points, followed.measured
        first, n_points = bisect_right(points, after, key=itemgetter("second")), len(points)
        if first == n_points:
            return None
        is_due = n_points > MOST_POINTS and first // LAST_S < n_points // LAST_S
        return {
            "run": run_id,
            "points": thinned_columns(points, 0 if is_due else first),
            "all": is_due or not first,
            "now": now_texts(points),
            "progress": progress_of(measured).to_json() if measured else None,
        }


def report_of(run: Run) -> RunReport:
    """Of an active run up to the last complete second."""
    if run.is_done:
        return ended_run(run).report
    with _follow(run.pk) as followed:
        measured = followed.measured
        key = (*run_key(run), run.shows_machine, measured and measured.last_second)
        return _REPORTS.get(key, lambda: run_report(run, measured))


def ended_run(run: Run) -> EndedRun:
    def read() -> EndedRun:
        stored = measurement_of(run)
        points = stored.series
        return EndedRun(run_report(run, stored), thinned_columns(points), noted_points(points))

    return _ENDED.get((*run_key(run), run.shows_machine), read)
