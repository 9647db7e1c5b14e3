"""A run's seconds as CSV: the charts' data, one row per second."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

from campaigns.domain.measured.series_chunks import Columns
from campaigns.exports.tables import csv_of_lines

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


def csv_of_seconds(parts: Iterable[Columns], kinds: Sequence[str]) -> Iterator[str]:
    """The head, then a text for each part: one row per second (warm-up negative), one column for
    each of these kinds of errors. Columns stay columns until their rows are written: a row that is
    made value by value takes several times as long. Numbers may be text already, which needs no
    escaping.

    Empty cells: no value. Percentiles cover that second alone, however few requests it had.
    """
    yield csv_of_lines([[*(title for _, title in _COLUMNS), *(f"error {kind}" for kind in kinds)]])
    for columns in parts:
        errors = ([each.get(kind, 0) for each in columns["errors"]] for kind in kinds)
        shown = (columns.get(key, repeat("")) for key, _ in _COLUMNS)
        rows = zip(*shown, *errors, strict=False)
        lines = [",".join(["" if each is None else str(each) for each in row]) for row in rows]
        yield "".join(f"{line}\r\n" for line in lines)
