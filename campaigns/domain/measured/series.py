"""A run second by second: what charts draw, and what a summary keeps of each second."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, TypedDict

from campaigns.domain.measured.figures import percentiles_us
from campaigns.domain.measured.reply_sizes import BodyWatch
from campaigns.domain.measured.snapshot import Second, Timing
from campaigns.domain.percentiles import P50, P95, P99


class Point(TypedDict):
    """One second of a run, merged over its shards and steps. JSON as it stands.

    `missing`: shards that should have delivered this second and did not. Percentiles are of this
    second alone, however few requests it had. `open_connections` is counted at its end.
    `body_change` is that of `reply_sizes.BodyWatch` against the measured points before this one.
    Points that were stored earlier may lack the last three.
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


def points_of(
    seconds: Iterable[tuple[int, Second]], expected: dict[int, int | None]
) -> Iterator[Point]:
    """A point for each second of (shard, second) pairs that are ordered by second.

    `expected` has each shard's last second, None while it has not ended as planned: a shard that
    has ended is not missed afterwards.
    """
    bodies = BodyWatch()
    for number, group in groupby(seconds, key=lambda pair: pair[1].second):
        parts = list(group)
        change = bodies.change(part for _, part in parts) if number >= 0 else None
        yield point_of(number, parts, expected, change)


def point_of(
    number: int,
    parts: list[tuple[int, Second]],
    expected: dict[int, int | None],
    body_change: float | None,
) -> Point:
    """The point of one second from what each shard saw at each step."""
    delivered = {shard for shard, _ in parts}
    due = {shard for shard, last in expected.items() if last is None or last >= number}
    response = _merged(part.timings.get("response") for _, part in parts)
    percentiles = percentiles_us(response, (P50, P95, P99))
    counts = {
        name: sum(part.counters.get(name, 0) for _, part in parts)
        for name in ("started", "ok", "failed", "dropped")
    }
    return Point(
        second=number,
        **counts,
        in_flight=sum(part.in_flight for _, part in parts),
        errors=_added(part.errors for _, part in parts),
        mean_ms=_ms(response.mean_us),
        p50_ms=_ms(percentiles.get(P50)),
        p95_ms=_ms(percentiles.get(P95)),
        p99_ms=_ms(percentiles.get(P99)),
        max_ms=_ms(response.max_us),
        lateness_p99_ms=_ms(_worst_vital(parts, "lateness_p99_us")),
        cpu_share=_worst_vital(parts, "cpu_share"),
        shards=len(delivered),
        missing=len(due - delivered),
        open_connections=_added_vital(parts, "open_connections"),
        messages=_messages(parts),
        body_change=body_change,
    )


def most_in_flight(series: Iterable[Point]) -> int | None:
    """Of the ends of the measured seconds; in between there may have been more.

    The last one is when all is over, so it says nothing; None where there is no other.
    """
    seen = [point["in_flight"] for point in series if point["second"] >= 0]
    return max(seen[:-1], default=None)


def _merged(timings: Iterable[Timing | None]) -> Timing:
    whole = Timing()
    for timing in timings:
        if timing is not None:
            whole = whole.merged(timing)
    return whole


def _added(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for kind, count in each.items():
            total[kind] = total.get(kind, 0) + count
    return total


def _worst_vital(parts: list[tuple[int, Second]], name: str) -> float | None:
    values = [part.vitals[name] for _, part in parts if part.vitals and name in part.vitals]
    return max((value for value in values if value is not None), default=None)


def _added_vital(parts: list[tuple[int, Second]], name: str) -> int | None:
    """Over the shards; None where none of them told."""
    values = [part.vitals[name] for _, part in parts if part.vitals and name in part.vitals]
    return int(sum(values)) if values else None


def _messages(parts: list[tuple[int, Second]]) -> int:
    """Of WebSockets, in the busier direction: an echo is not counted twice."""
    return max(
        sum(part.counters.get(name, 0) for _, part in parts)
        for name in ("messages_sent", "messages_received")
    )


def _ms(value_us: float | None) -> float | None:
    return None if value_us is None else round(value_us / 1000, 3)


VITALS = (
    "cpu_share",
    "other_cpu_share",
    "steal_share",
    "run_delay_share",
    "hub_lag_max_us",
    "lateness_p99_us",
    "own_delay_p99_us",
    "gc_pause_max_us",
    "gc_share",
    "open_connections",
    "open_files",
    "open_files_share",
    "ports_share",
    "swapped_pages",
    "clock_step_us",
    "link_share",
    "packets_lost_share",
    "rss_bytes",
)
_WINDOW = 5


def vitals_of(samples: list[tuple[int, dict[str, Any]]], shard: int) -> dict[str, Any]:
    """One shard's vitals over the measured seconds, from (second, vitals) in order.

    {"shard", "seconds", "worst", "at": its second, "mean", "cpu_5s", "cpu_5s_at"}.
    """
    worst: dict[str, float] = {}
    at: dict[str, int] = {}
    mean: dict[str, float] = {}
    for name in VITALS:
        seen = [(each[name], second) for second, each in samples if each.get(name) is not None]
        if seen:
            worst[name], at[name] = max(seen, key=itemgetter(0))
            mean[name] = sum(value for value, _ in seen) / len(seen)
    cpu_5s, cpu_5s_at = _busiest_window(samples)
    return {
        "shard": shard,
        "seconds": len(samples),
        "worst": worst,
        "at": at,
        "mean": mean,
        "cpu_5s": cpu_5s,
        "cpu_5s_at": cpu_5s_at,
    }


def _busiest_window(samples: list[tuple[int, dict[str, Any]]]) -> tuple[float | None, int | None]:
    """The highest mean CPU share of five seconds in a row, and the first of them."""
    shares = [(second, each["cpu_share"]) for second, each in samples if "cpu_share" in each]
    windows = [shares[start : start + _WINDOW] for start in range(len(shares) - _WINDOW + 1)]
    return max(
        ((sum(share for _, share in each) / _WINDOW, each[0][0]) for each in windows),
        default=(None, None),
    )
