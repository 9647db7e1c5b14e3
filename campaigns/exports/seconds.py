"""A run's seconds as CSV: the charts' data, one row per second."""

import csv
from collections.abc import Iterable
from io import StringIO

from campaigns.domain.measured.series import Point

_COLUMNS = (
    ("second", "second (s)"),
    ("started", "started"),
    ("ok", "ok"),
    ("failed", "failed"),
    ("dropped", "dropped"),
    ("in_flight", "in flight at the end"),
    ("mean_ms", "average (ms)"),
    ("p50_ms", "p50 (ms)"),
    ("p95_ms", "p95 (ms)"),
    ("p99_ms", "p99 (ms)"),
    ("max_ms", "max (ms)"),
    ("lateness_p99_ms", "lateness p99 (ms)"),
    ("cpu_share", "CPU of the busiest injector process (share of a core)"),
    ("shards", "shards"),
    ("missing", "shards missing"),
    ("open_connections", "open connections at the end"),
    ("messages", "messages"),
)


def csv_of_seconds(points: Iterable[Point]) -> str:
    """One row per second (warm-up negative), one column per error kind that occurred.

    Empty cells: no value. Percentiles cover that second alone, however few requests it had.
    """
    points = list(points)
    kinds = sorted({kind for point in points for kind in point["errors"]})
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*(title for _, title in _COLUMNS), *(f"error {kind}" for kind in kinds)])
    for point in points:
        errors = (point["errors"].get(kind, 0) for kind in kinds)
        writer.writerow([*(point.get(key) for key, _ in _COLUMNS), *errors])
    return out.getvalue()
