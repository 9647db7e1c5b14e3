"""A finished run's points as they are stored: columns, an hour of points in each chunk.

A chunk is {key of Point: [a value for each point]} as JSON in a zlib stream. A reader of columns
makes no dictionary for each second, and a long run's reader holds an hour at once.
"""

import json
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from campaigns.domain.measured.series import Point

POINTS_OF_CHUNK = 3600
Columns = dict[str, list[Any]]


def columns_of(points: Sequence[Point]) -> Columns:
    """The columns of points that all have the same keys."""
    return {key: [point[key] for point in points] for key in (points[0] if points else ())}


def points_of_columns(columns: Columns) -> list[Point]:
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def chunks_of(points: Sequence[Point]) -> list[bytes]:
    """The chunks, oldest first."""
    starts = range(0, len(points), POINTS_OF_CHUNK)
    return [_packed(points[start : start + POINTS_OF_CHUNK]) for start in starts]


def points_of_chunks(chunks: Sequence[bytes]) -> list[Point]:
    return [point for columns in columns_of_chunks(chunks) for point in points_of_columns(columns)]


def columns_of_chunks(chunks: Sequence[bytes], *, as_written: bool = False) -> Iterator[Columns]:
    """The columns of each chunk, read when they are wanted. `as_written`: with numbers as text, for
    a file: to read them and to write the same again would take most of its time."""
    read = partial(json.loads, parse_int=str, parse_float=str) if as_written else json.loads
    return (read(zlib.decompress(chunk)) for chunk in chunks)


def _packed(points: Sequence[Point]) -> bytes:
    return zlib.compress(json.dumps(columns_of(points), separators=(",", ":")).encode())
