"""A run second by second, for charts and summaries; and its points as they are stored once it is
over: columns, an hour of points in each chunk.

A chunk is {key of Point: [a value for each point]} as JSON in a zlib stream. A reader of columns
makes no dictionary for each second, and a long run's reader holds an hour at once.
"""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypedDict

from campaigns.domain.metrics.figures import percentiles_us
from campaigns.domain.metrics.snapshot import Second, Timing
from campaigns.domain.percentiles import P50, P95, P99


class Point(TypedDict):
    """One second of a run, merged over its shards and steps. JSON-compatible.

    `missing`: shards that should have delivered this second but did not. Percentiles cover this
    second alone, however few requests it had. `open_connections` is counted at its end. `replies`
    counts replies with any status, `sessions` the ok sessions that ended. `body_change` is from
    `reply_sizes.BodyWatch`, against the measured points before this one. Older stored points may
    lack the last seven. `failed_p50_ms` and `failed_p95_ms` are of failed replies.
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
    open_connections: int | None
    messages: int
    body_change: float | None
    replies: int
    sessions: int
    failed_p50_ms: float | None
    failed_p95_ms: float | None


def point_of(
    number: int,
    parts: list[tuple[int, Second]],
    last_seconds: Mapping[int, int | None],
    body_change: float | None,
) -> Point:
    """The point of one second from each shard's rows.

    `last_seconds` has each shard's last second, None while it has not ended as planned: later
    seconds of an ended shard are not missing.
    """
    delivered = {shard for shard, _ in parts}
    due = {shard for shard, last in last_seconds.items() if last is None or last >= number}
    response, failed_reply = (
        Timing.together(part.timings[name] for _, part in parts if name in part.timings)
        for name in ("response", "failed_reply")
    )
    percentiles = percentiles_us(response, (P50, P95, P99))
    of_failed = percentiles_us(failed_reply, (P50, P95))
    vitals = [part.vitals for _, part in parts if part.vitals]
    opened = [each["open_connections"] for each in vitals if "open_connections" in each]
    counts = {
        name: sum(part.counters.get(name, 0) for _, part in parts)
        for name in ("started", "ok", "failed", "dropped")
    }
    return Point(
        second=number,
        **counts,
        in_flight=sum(part.in_flight for _, part in parts),
        errors=dict(sum((Counter(part.errors) for _, part in parts), Counter())),
        mean_ms=_ms(response.mean_us),
        p50_ms=_ms(percentiles.get(P50)),
        p95_ms=_ms(percentiles.get(P95)),
        p99_ms=_ms(percentiles.get(P99)),
        max_ms=_ms(response.max_us),
        lateness_p99_ms=_ms(_worst_vital(parts, "lateness_p99_us")),
        cpu_share=_worst_vital(parts, "cpu_share"),
        shards=len(delivered),
        missing=len(due - delivered),
        open_connections=int(sum(opened)) if opened else None,
        messages=_messages(parts),
        body_change=body_change,
        replies=sum(sum(part.statuses.values()) for _, part in parts),
        sessions=sum(part.counters.get("sessions_ok", 0) for _, part in parts),
        failed_p50_ms=_ms(of_failed.get(P50)),
        failed_p95_ms=_ms(of_failed.get(P95)),
    )


def most_in_flight(series: Iterable[Point]) -> int | None:
    """The maximum at the ends of the measured seconds; in between there may have been more.

    Ignores the last second, at whose end all is over; None if there is no other.
    """
    levels = [point["in_flight"] for point in series if point["second"] >= 0]
    return max(levels[:-1], default=None)


def _worst_vital(parts: list[tuple[int, Second]], name: str) -> float | None:
    values = [part.vitals[name] for _, part in parts if part.vitals and name in part.vitals]
    return max((value for value in values if value is not None), default=None)


def _messages(parts: list[tuple[int, Second]]) -> int:
    """WebSocket messages in the busier direction, so that an echo is not counted twice."""
    return max(
        sum(part.counters.get(name, 0) for _, part in parts)
        for name in ("messages_sent", "messages_received")
    )


def _ms(value_us: float | None) -> float | None:
    return None if value_us is None else round(value_us / 1000, 3)


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
    return [
        zlib.compress(
            json.dumps(
                columns_of(points[start : start + POINTS_OF_CHUNK]), separators=(",", ":")
            ).encode()
        )
        for start in starts
    ]


def points_of_chunks(chunks: Sequence[bytes]) -> list[Point]:
    return [point for columns in columns_of_chunks(chunks) for point in points_of_columns(columns)]


def columns_of_chunks(chunks: Sequence[bytes], *, as_written: bool = False) -> Iterator[Columns]:
    """The columns of each chunk, read when they are wanted. `as_written`: with numbers as text, for
    a file: to read them and to write the same again would take most of its time."""
    read = partial(json.loads, parse_int=str, parse_float=str) if as_written else json.loads
    return (read(zlib.decompress(chunk)) for chunk in chunks)
