"""A second as the database stores it: one value, a fifth of the size of its line.

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
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from campaigns.domain.errors import CorruptHistogram
from campaigns.domain.metrics.histogram import (
    EXACT_BELOW_US,
    Histogram,
    StoredHistogram,
    buckets_of_runs,
    numbers_of_varints,
    runs_of,
    varints_of,
)
from campaigns.domain.metrics.snapshot import MOMENTS, Second, Timing

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
    timings, parts = _parted(line["timings"])
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
    split = apart.compress(parts[0]) + apart.flush(zlib.Z_BLOCK)
    return min(together, split + apart.compress(parts[1]) + apart.flush(), key=len)


def second_of(second: int, step: int, packed: bytes) -> Second:
    """The second; histograms that are not ours are decoded when their counts are asked for."""
    (counters, errors, statuses, in_flight, vitals, timings, details), buckets = _read(packed)
    histograms = [Histogram.at(*each) for each in buckets]
    timed = {
        name: Timing(*moments, _at(place, histograms) or StoredHistogram(place))
        for name, (*moments, place) in _timings_with_moments(timings, buckets)
    }
    counts = (counters, errors, statuses)
    return Second(second, step, *counts, in_flight, timed, vitals, details=details)


def line_of(second: int, step: int, packed: bytes) -> dict[str, Any]:
    """The second as in its line, with HdrHistogram's payloads; see `Second.to_json`."""
    (counters, errors, statuses, in_flight, vitals, timings, details), buckets = _read(packed)
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


def _parted(timings: Mapping[str, Any]) -> tuple[dict[str, list[Any]], list[_Buckets]]:
    """The head's `timings`, and the histograms that are there once."""
    places: dict[str, int] = {}
    buckets: list[_Buckets] = []
    parted = {}
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
            parted[name] = [*moments, payload]
            continue
        place = places[payload]
        follow = _moments_of(*buckets[place]) == moments
        parted[name] = [place] if follow else [*moments, place]
    return parted, buckets


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
    for name, parted in timings.items():
        if len(parted) == 1:
            yield name, [*_moments_of(*histograms[parted[0]]), parted[0]]
        else:
            yield name, parted


def _in_order(values: Mapping[str, Any]) -> dict[str, Any]:
    """As PostgreSQL orders the keys of jsonb: what the seconds are read into has this order."""
    return {key: values[key] for key in sorted(values, key=lambda key: (len(key), key))}


def _read(packed: bytes) -> tuple[list[Any], list[_Buckets]]:
    """The head, with details instead of sizes, and its histograms. Raises ValueError for another
    format."""
    if not packed or packed[0] not in (_FORMAT, _WITH_DETAILS):
        formats = f"{_FORMAT} and {_WITH_DETAILS}"
        raise ValueError(f"A packed second of format {packed[:1]!r}; this release reads {formats}.")
    text, _, rest = zlib.decompressobj(_RAW, WORDS).decompress(packed[1:]).partition(b"\n")
    head = json.loads(text)
    details = head.pop() if packed[0] == _WITH_DETAILS else {}
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
