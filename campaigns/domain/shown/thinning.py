"""A long run's points for charts: at most MOST_POINTS, with the extremes of all.

A screen is some hundred pixels wide, and a browser should not be sent half a day second by second.
"""

from collections.abc import Iterator, Sequence
from typing import Any

MOST_POINTS = 1000
# The last five minutes can be looked at alone.
LAST_S = 300
Columns = dict[str, list[Any]]

# What is kept of each stretch of seconds: (column, whether its maximum).
EXTREMES = (
    ("ok", False),
    ("completed", True),
    ("failed", True),
    ("p50_ms", False),
    ("p99_ms", True),
    ("failed_p95_ms", True),
    ("open", True),
)


def thinned(
    columns: Columns, first: int = 0, extremes: Sequence[tuple[str, bool]] = EXTREMES
) -> Columns:
    """The columns from point number `first` on, with `gap`: whether a second is missing between a
    point and the one before it. Over MOST_POINTS, the last five minutes and the extremes of even
    stretches of the rest."""
    kept = kept_numbers(columns, first, extremes)
    picked = {key: [values[index] for index in kept] for key, values in columns.items()}
    return {**picked, "gap": list(gaps(columns["second"], kept))}


def kept_numbers(
    columns: Columns, first: int = 0, extremes: Sequence[tuple[str, bool]] = EXTREMES
) -> list[int]:
    """The numbers of the points that `thinned` keeps; of columns, it needs those of `extremes`."""
    n_points = len(columns["second"])
    kept = list(range(first, n_points))
    if len(kept) > MOST_POINTS:
        kept = sorted({*_kept(columns, extremes, first, n_points - LAST_S), *kept[-LAST_S:]})
    return kept


def _kept(
    columns: Columns, extremes: Sequence[tuple[str, bool]], first: int, end: int
) -> Iterator[int]:
    """The numbers of the points that are an extreme of their stretch."""
    n_stretches = (MOST_POINTS - LAST_S) // len(extremes)
    size = -(-(end - first) // n_stretches)
    for start in range(first, end, size):
        stretch = range(start, min(start + size, end))
        for key, is_maximum in extremes:
            known = [index for index in stretch if columns[key][index] is not None]
            if known:
                yield (max if is_maximum else min)(known, key=columns[key].__getitem__)


def gaps(seconds: Sequence[int], kept: Sequence[int]) -> Iterator[bool]:
    """Whether a second is missing between each kept point and the point before it."""
    before = None if not kept or not kept[0] else kept[0] - 1
    for index in kept:
        is_first = before is None
        yield not is_first and seconds[index] - seconds[before] != index - before
        before = index
