"""A run second by second: points for charts and summaries; whether a page changed from one second
to the next; and what the database stores.

Of a run that is over these are columns of points, an hour in each chunk.

A chunk is {key of Point: [a value for each point]} as JSON in a zlib stream. A reader of columns
makes no dictionary for each second, and a long run's reader holds an hour at once.

A second is one value, a fifth of the size of its line.

It is the number of the format in a byte, then a raw DEFLATE stream (RFC 1951) with the dictionary
`WORDS`: a head in JSON, a line feed, and whole numbers as LEB128. These are of each histogram in
turn how many empty buckets lie before each bucket that holds anything, then of each in turn how
much these hold. Equal histograms are there once; timings of nothing are left out. The head is

    [counters, errors, statuses, in_flight, vitals, timings, sizes]

In format 3 the details of failures come after these, in format 2 there are none.
`timings` has [n, sum_us, sum_squares, min_us, max_us, place] by name, where `sizes[place]` is how
many buckets of the histogram hold anything, or [place], where the five follow from the histogram:
all its durations lie in buckets of one microsecond. A payload that is not ours is kept as it came,
as text instead of a place.

A format never changes: stored rows have it.
"""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any, Self, TypedDict

import numpy as np

from campaigns.domain.errors import CorruptHistogram
from campaigns.domain.metrics.figures import percentiles_us
from campaigns.domain.metrics.histogram import (
    EXACT_BELOW_US,
    Histogram,
    StoredHistogram,
    buckets_of_runs,
    numbers_of_varints,
    runs_of,
    varints_of,
)
from campaigns.domain.metrics.snapshot import MOMENTS, Second, Timing, Total
from campaigns.domain.percentiles import P50, P95, P99


class Point(TypedDict):
    """One second of a run, merged over its shards and steps. JSON-compatible.

    `missing`: shards that should have delivered this second but did not. Percentiles cover this
    second alone, however few requests it had. `open_connections` is counted at its end. `replies`
    counts replies with any status, `sessions` the ok sessions that ended. `body_change` is from
    `BodyWatch`, against the measured points before this one. Older stored points may
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
    shards = {shard for shard, _ in parts}
    due = {shard for shard, last in last_seconds.items() if last is None or last >= number}
    response, failed_reply = (
        Timing.together(part.timings[name] for _, part in parts if name in part.timings)
        for name in ("response", "failed_reply")
    )
    percentiles = percentiles_us(response, (P50, P95, P99))
    failed_percentiles = percentiles_us(failed_reply, (P50, P95))
    vitals = [part.vitals for _, part in parts if part.vitals]
    connections = [each["open_connections"] for each in vitals if "open_connections" in each]
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
        shards=len(shards),
        missing=len(due - shards),
        open_connections=int(sum(connections)) if connections else None,
        # WebSocket messages in the busier direction, so that an echo is not counted twice.
        messages=max(
            sum(part.counters.get(name, 0) for _, part in parts)
            for name in ("messages_sent", "messages_received")
        ),
        body_change=body_change,
        replies=sum(sum(part.statuses.values()) for _, part in parts),
        sessions=sum(part.counters.get("sessions_ok", 0) for _, part in parts),
        failed_p50_ms=_ms(failed_percentiles.get(P50)),
        failed_p95_ms=_ms(failed_percentiles.get(P95)),
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
    load = partial(json.loads, parse_int=str, parse_float=str) if as_written else json.loads
    return (load(zlib.decompress(chunk)) for chunk in chunks)


# Natural variation is not a change: this many standard errors count as chance, and
# fewer replies than this are not compared.
_CHANCE = 5
_FEW = 30
# Squares are exact to only 15 digits: a deviation below this share of the mean counts as 0.
_ALIKE = 1e-6


@dataclass(frozen=True, slots=True)
class ReplySizes:
    """Mean bytes of an ok reply's parts, and the standard deviation of its body."""

    head: float
    body: float
    framing: float
    body_sd: float

    @property
    def whole(self) -> float:
        return self.head + self.body + self.framing

    @property
    def varies(self) -> bool:
        return self.body_sd > _ALIKE * self.body


def reply_sizes(total: Total) -> ReplySizes | None:
    """None if there are no ok replies, or their parts were not counted separately."""
    n = total.count("ok")
    if not n or not total.count("head_received"):
        return None
    parts = (total.count(f"{part}_received") / n for part in ("head", "body", "framing"))
    bodies = _Bodies(n, total.count("body_received"), total.count("body_squares"))
    return ReplySizes(*parts, bodies.sd)


@dataclass(slots=True)
class _Bodies:
    n: int = 0
    sum_bytes: int = 0
    sum_squares: int = 0

    @property
    def mean(self) -> float:
        return self.sum_bytes / self.n

    @property
    def sd(self) -> float:
        return sqrt(max(0, self.n * self.sum_squares - self.sum_bytes**2)) / self.n

    def add(self, other: "_Bodies") -> None:
        self.n += other.n
        self.sum_bytes += other.sum_bytes
        self.sum_squares += other.sum_squares


class BodyWatch:
    """Compares the mean body of each step's ok replies with that of all before them.

    Constant sizes are compared second by second; varying ones once there are enough replies to
    distinguish a change from chance.
    """

    def __init__(self) -> None:
        self._before: dict[int, _Bodies] = {}
        self._latest: dict[int, _Bodies] = {}

    def state(self) -> list[list[list[int]]]:
        """[before, latest] as JSON, each a list of [step, n, sum of bytes, sum of squares]."""
        return [
            [[step, each.n, each.sum_bytes, each.sum_squares] for step, each in of.items()]
            for of in (self._before, self._latest)
        ]

    @classmethod
    def of_state(cls, state: list[list[list[int]]]) -> Self:
        watch = cls()
        watch._before, watch._latest = (
            {step: _Bodies(*sums) for step, *sums in of} for of in state
        )
        return watch

    def change(self, seconds: Iterable[Second]) -> float | None:
        """The relative change of one second's bodies, at the step where it is largest; 0 if chance
        explains it, None if nothing was compared. Call in order of seconds."""
        bodies_by_step: dict[int, _Bodies] = {}
        for second in seconds:
            count = second.counters.get
            if count("ok") and count("head_received"):
                counts = _Bodies(count("ok"), count("body_received", 0), count("body_squares", 0))
                bodies_by_step.setdefault(second.step, _Bodies()).add(counts)
        changes = []
        for step, bodies in bodies_by_step.items():
            before = self._before.setdefault(step, _Bodies())
            latest = self._latest.setdefault(step, _Bodies())
            latest.add(bodies)
            if before.n and (change := _change(before, latest)) is not None:
                changes.append(change)
            elif before.n >= _FEW:
                continue
            before.add(self._latest.pop(step))
        return max(changes, default=None)


def _change(before: _Bodies, latest: _Bodies) -> float | None:
    """None if there are too few replies."""
    off = abs(latest.mean - before.mean)
    spread = max(before.sd, latest.sd)
    if spread > _ALIKE * before.mean:
        if min(before.n, latest.n) < _FEW:
            return None
        if off <= _CHANCE * spread * sqrt(1 / before.n + 1 / latest.n):
            return 0.0
    return off / max(before.mean, 1.0)


WORDS = (
    b'"aborted_by_stop":1,"address_refused":1,"body_cap":1,"body_mismatch":1,"body_timeout":1'
    b',"client_fd_exhausted":1,"client_file_table":1,"client_other":1,"client_ports":1'
    b',"connect_refused":1,"connect_timeout":1,"connect_unreachable":1,"dns_failed":1'
    b',"eof_before_reply":1,"eof_mid_body":1,"first_byte_timeout":1,"h2_goaway":1'
    b',"h2_not_spoken":1,"h2_protocol":1,"h2_stream_reset":1,"header_cap":1,"http_parse":1'
    b',"reset":1,"status_unexpected":1,"tls_handshake":1,"tls_timeout":1,"tls_verify":1'
    b',"write_error":1,"write_timeout":1,"ws_close_timeout":1,"ws_protocol":1'
    b',"ws_upgrade_rejected":1"failed":,"dropped":,"queued":,"carried":,"framing_received":'
    b',"segments_resent":,"tls_full":,"tls_resumed":,"tls_ragged_eof":,"replayed":'
    b',"socket_timeouts":,"messages_sent":,"messages_received":,"window_throttled":'
    b',"extract_missed":,"window_resumed":,"in_doubt":,"calls_skipped":,"calls_retried":'
    b',"sessions_started":,"sessions_ok":,"sessions_failed":,"sessions_dropped":'
    b',"sessions_carried":],"slot_wait":[],"dns":[],"connect":[],"tls":[],"handshake":[]'
    b',"exchange":[],"close":[],"connect_tls":[],"message":[],"failed":[],"failed_reply":[]'
    b',"session":[],"session_failed":[{"ok":1000,"started":1000,"wire_sent":0'
    b',"bytes_sent":116000,"body_squares":1681000,"body_received":41000,"head_received":89000'
    b',"segments_sent":0,"wire_received":0,"bytes_received":4000000'
    b',"connections_opened":0},{},{"200":1000},0,{"gc_share":0.0,"cpu_share":0.2'
    b',"rss_bytes":53000000,"open_files":31,"other_cores":0.02,"ports_share":0.0'
    b',"steal_share":0.0,"clock_step_us":0,"swapped_pages":0,"hub_lag_max_us":900'
    b',"gc_pause_max_us":0,"lateness_p99_us":90,"other_cpu_share":0.01,"run_delay_share":0.001'
    b',"throttled_share":0.0,"open_connections":10,"open_files_share":0.0015'
    b',"own_delay_p99_us":90,"packets_lost_share":0.0'
    b'},{"hub_lag":[10],"sampled":[1000,20000,60,90,6],"undelayed":[1000,20000,60,90,7]'
    b',"processing":[1000,20000,60,90,5],"response":[1000,20000,60,90,0],"lateness":[8]'
    b',"own_delay":[9],"service":[1000,20000,60,90,1],"receive":[4],"wait":[1000,20000,60,90,3]'
    b',"send":[2],"wait":[3],"response":[0],"service":[1]}]'
)


_FORMAT, _WITH_DETAILS = 2, 3
_RAW = -15
_MOST_MEMORY = 9

_Buckets = tuple[np.ndarray, np.ndarray]  # those that hold anything, and their counts


def pack(line: Mapping[str, Any]) -> bytes:
    """A second as its line tells it (`Second.to_json`), without `second`, `step` and examples."""
    timings, parts = _timings_and_buckets(line["timings"])
    head = [
        *(_in_order(line[name]) for name in ("counters", "errors", "statuses")),
        line["in_flight"],
        line["vitals"] and _in_order(line["vitals"]),
        timings,
        [len(buckets) for buckets, _ in parts],
    ]
    details = line.get("details")
    if details:
        head.append(details)
    # Filtered: fewer chance matches among counts, whose own code is shorter.
    deflater = zlib.compressobj(9, zlib.DEFLATED, _RAW, _MOST_MEMORY, zlib.Z_FILTERED, WORDS)
    text = deflater.compress(json.dumps(head, separators=(",", ":")).encode() + b"\n")
    # Words and numbers have codes of their own.
    text += deflater.flush(zlib.Z_BLOCK)
    gaps = [np.diff(buckets, prepend=-1) - 1 for buckets, _ in parts]
    number = _WITH_DETAILS if details else _FORMAT
    return bytes([number]) + text + _shortest(deflater, gaps, [counts for _, counts in parts])


def _shortest(deflater: Any, gaps: list[np.ndarray], counts: list[np.ndarray]) -> bytes:
    """The rest of the stream. A code of its own for the counts pays only where they are many."""
    if not gaps:
        return deflater.flush()
    parts = [varints_of(np.concatenate(each)) for each in (gaps, counts)]
    apart = deflater.copy()
    together = deflater.compress(b"".join(parts)) + deflater.flush()
    apart_text = apart.compress(parts[0]) + apart.flush(zlib.Z_BLOCK)
    return min(together, apart_text + apart.compress(parts[1]) + apart.flush(), key=len)


def second_of(second: int, step: int, payload: bytes) -> Second:
    """The second; histograms that are not ours are decoded when their counts are asked for."""
    (counters, errors, statuses, in_flight, vitals, timings, details), buckets = _read(payload)
    histograms = [Histogram.at(*each) for each in buckets]
    timing_by_name = {
        name: Timing(*moments, _at(place, histograms) or StoredHistogram(place))
        for name, (*moments, place) in _timings_with_moments(timings, buckets)
    }
    counts = (counters, errors, statuses)
    return Second(second, step, *counts, in_flight, timing_by_name, vitals, details=details)


def line_of(second: int, step: int, payload: bytes) -> dict[str, Any]:
    """The second as in its line, with HdrHistogram's payloads; see `Second.to_json`."""
    (counters, errors, statuses, in_flight, vitals, timings, details), buckets = _read(payload)
    texts = [Histogram.at(*each).encode() for each in buckets]
    return {
        "second": second,
        "step": step,
        "counters": counters,
        "errors": errors,
        "statuses": statuses,
        "in_flight": in_flight,
        "timings": {
            name: dict(zip(MOMENTS, moments, strict=True))
            | {"histogram": _at(place, texts) or place}
            for name, (*moments, place) in _timings_with_moments(timings, buckets)
        },
        "vitals": vitals,
        **({"details": details} if details else {}),
    }


def _timings_and_buckets(
    timings: Mapping[str, Any],
) -> tuple[dict[str, list[Any]], list[_Buckets]]:
    """The head's `timings`, and the histograms that are there once."""
    places: dict[str, int] = {}
    buckets: list[_Buckets] = []
    rows = {}
    for name, timing in _in_order(timings).items():
        if not timing["n"]:
            continue
        moments = [timing[moment] for moment in MOMENTS]
        payload = str(timing.get("histogram", ""))
        try:
            if payload not in places:
                buckets.append(buckets_of_runs(runs_of(payload)))
                places[payload] = len(buckets) - 1
        except CorruptHistogram:
            rows[name] = [*moments, payload]
            continue
        place = places[payload]
        follow = _moments_of(*buckets[place]) == moments
        rows[name] = [place] if follow else [*moments, place]
    return rows, buckets


def _moments_of(buckets: np.ndarray, counts: np.ndarray) -> list[int] | None:
    """What these durations add up to; None where a bucket holds several microseconds."""
    if not len(buckets) or buckets[-1] >= EXACT_BELOW_US:
        return None
    sums = (counts, counts * buckets, counts * buckets * buckets)
    return [*(int(each.sum()) for each in sums), int(buckets[0]), int(buckets[-1])]


def _timings_with_moments(
    timings: Mapping[str, Any], histograms: list[Any]
) -> Iterator[tuple[str, list[Any]]]:
    """Each timing's name, with its moments and its place."""
    for name, row in timings.items():
        if len(row) == 1:
            yield name, [*_moments_of(*histograms[row[0]]), row[0]]
        else:
            yield name, row


def _in_order(values: Mapping[str, Any]) -> dict[str, Any]:
    """As PostgreSQL orders the keys of jsonb: what the seconds are read into has this order."""
    return {key: values[key] for key in sorted(values, key=lambda key: (len(key), key))}


def _read(payload: bytes) -> tuple[list[Any], list[_Buckets]]:
    """The head, with details instead of sizes, and its histograms. Raises ValueError for another
    format."""
    if not payload or payload[0] not in (_FORMAT, _WITH_DETAILS):
        formats = f"{_FORMAT} and {_WITH_DETAILS}"
        raise ValueError(
            f"A packed second of format {payload[:1]!r}; this release reads {formats}."
        )
    text, _, rest = zlib.decompressobj(_RAW, WORDS).decompress(payload[1:]).partition(b"\n")
    head = json.loads(text)
    details = head.pop() if payload[0] == _WITH_DETAILS else {}
    sizes = head.pop()
    numbers = numbers_of_varints(rest).view(np.int64)
    half = len(numbers) // 2
    parts = (_cut(numbers[:half], sizes), _cut(numbers[half:], sizes))
    return [*head, details], [
        (np.cumsum(gaps + 1) - 1, counts) for gaps, counts in zip(*parts, strict=True)
    ]


def _cut(values: Any, sizes: list[int]) -> Iterator[Any]:
    start = 0
    for size in sizes:
        yield values[start : start + size]
        start += size


def _at(place: int | str, values: list[Any]) -> Any:
    return None if isinstance(place, str) else values[place]
