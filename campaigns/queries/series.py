"""A run second by second, as charts and live pages draw it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import floor

from django.utils import timezone

from campaigns.domain.lifecycle import LIVE_SHARD_STATES, ShardState
from campaigns.domain.measured.series import Point, points_of
from campaigns.domain.measured.snapshot import Second, Timing
from campaigns.models import Run, RunSummary, ShardSecond

__all__ = ["Point", "latest_summary", "run_points", "run_seconds"]

WAIT_FOR_SHARDS_S = 3.0  # a second this old is shown even if a shard still owes it


def latest_summary(run: Run) -> RunSummary | None:
    return run.summaries.order_by("-revision").first()


def run_points(run: Run, after: int | None = None, now: datetime | None = None) -> list[Point]:
    """The seconds after `after`, in order.

    A finished run has them in its summary. Of a running one only those that every live shard has
    delivered, or that ended three seconds before `now`: a point never changes once it was shown.
    """
    summary = latest_summary(run) if run.is_done else None
    if summary is not None:
        return [point for point in summary.series if after is None or point["second"] > after]
    shards = list(run.shards.all())
    rows = run.seconds.order_by("second", "shard", "step")
    if after is not None:
        rows = rows.filter(second__gt=after)
    if not run.is_done:
        rows = rows.filter(second__lte=_last_complete_second(run, shards, now or timezone.now()))
    pairs = ((row.shard, _second_for_charts(row)) for row in rows.iterator(chunk_size=500))
    return list(points_of(pairs, expected_seconds(shards)))


def run_seconds(run: Run) -> Iterator[tuple[int, Second]]:
    """(shard, what it saw) of every stored second and step, in order, wholly decoded."""
    for row in run.seconds.order_by("second", "shard", "step").iterator(chunk_size=500):
        yield row.shard, row.value()


def expected_seconds(shards) -> dict[int, int | None]:
    """Each shard's last second if it ended as planned; None if it owes more, or was lost."""
    return {
        shard.number: shard.last_second if shard.state == ShardState.DONE else None
        for shard in shards
    }


def _last_complete_second(run: Run, shards, now: datetime) -> int:
    live = [shard for shard in shards if shard.state in LIVE_SHARD_STATES]
    # A second's steps come one by one, the last of them before the next second's first.
    owed = 1 if len(run.frozen.plan.steps) > 1 else 0
    delivered = [-(10**9) if s.last_second is None else s.last_second - owed for s in live]
    complete = min(delivered, default=10**9)
    if run.t0 is None:
        return complete
    measuring_since = run.t0 + timedelta(seconds=run.frozen.plan.warm_up_s)
    age_s = (now - measuring_since).total_seconds()
    return max(complete, floor(age_s - WAIT_FOR_SHARDS_S) - 1)


def _second_for_charts(row: ShardSecond) -> Second:
    """The row with its response times only: decoding every part would be wasted here."""
    response = row.timings.get("response")
    return Second(
        second=row.second,
        step=row.step,
        counters=row.counters,
        errors=row.errors,
        statuses=row.statuses,
        in_flight=row.in_flight,
        timings={"response": Timing.from_json(response)} if response else {},
        vitals=row.vitals,
    )
