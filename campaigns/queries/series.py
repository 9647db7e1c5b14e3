"""A run second by second, as charts and live pages draw it."""

from datetime import datetime
from typing import TypedDict

from campaigns.models import Run


class Point(TypedDict):
    """One second of a run, merged over its shards and steps. JSON as it stands.

    `missing`: shards that should have delivered this second and did not.
    """

    second: int
    started: int
    ok: int
    failed: int
    dropped: int
    in_flight: int
    errors: dict[str, int]
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    lateness_p99_ms: float | None
    cpu_share: float | None
    shards: int
    missing: int


def run_points(run: Run, after: int | None = None, now: datetime | None = None) -> list[Point]:
    """The seconds after `after` in order; of a running run only those that are complete."""
    raise NotImplementedError
