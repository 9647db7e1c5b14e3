"""A second as the database stores it: one value, a quarter of the size of its line.

Format 1 is a byte 1, then a raw DEFLATE stream (RFC 1951) with the dictionary `WORDS_1` of a head
in JSON, a line feed, and the counts of the histograms one after the other, each as in
HdrHistogram's V2 payload but without its 40 bytes of header, which are always the same. Equal
histograms are there once; timings of nothing are left out. The head is

    [counters, errors, statuses, in_flight, vitals, timings, sizes]

`timings` has [n, sum_us, sum_squares, min_us, max_us, place] by name, where `sizes[place]` is the
histogram's number of bytes. A payload that is not ours is kept as it came, as text instead of a
place. Format 1 never changes: stored rows have it, and a migration reads it.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from campaigns.domain.errors import CorruptHistogram
from campaigns.domain.measured.histogram import StoredHistogram, payload_of, runs_of
from campaigns.domain.measured.packed_words import WORDS_1
from campaigns.domain.measured.snapshot import Second, Timing

_FORMAT = b"\x01"
_MOMENTS = ("n", "sum_us", "sum_squares", "min_us", "max_us")
_RAW = -15
_MOST_MEMORY = 9


def pack(told: Mapping[str, Any]) -> bytes:
    """A second as its line tells it (`Second.to_json`), without `second`, `step` and examples."""
    timings, payloads = _parted(told["timings"])
    head = [
        *(_in_order(told[name]) for name in ("counters", "errors", "statuses")),
        told["in_flight"],
        told["vitals"] and _in_order(told["vitals"]),
        timings,
        [len(payload) for payload in payloads],
    ]
    # Filtered: fewer chance matches among counts, whose own code is shorter.
    deflater = zlib.compressobj(9, zlib.DEFLATED, _RAW, _MOST_MEMORY, zlib.Z_FILTERED, WORDS_1)
    text = deflater.compress(json.dumps(head, separators=(",", ":")).encode() + b"\n")
    # Words and counts have codes of their own.
    text += deflater.flush(zlib.Z_BLOCK)
    return _FORMAT + text + deflater.compress(b"".join(payloads)) + deflater.flush()


def second_of(second: int, step: int, packed: bytes) -> Second:
    """The second; its histograms are decoded when their counts are asked for."""
    (counters, errors, statuses, in_flight, vitals, timings, _), payloads = _read(packed)
    histograms = [StoredHistogram(payload) for payload in payloads]
    found = {
        name: Timing(*moments, _at(place, histograms) or StoredHistogram(place))
        for name, (*moments, place) in timings.items()
    }
    return Second(second, step, counters, errors, statuses, in_flight, found, vitals)


def told_of(second: int, step: int, packed: bytes) -> dict[str, Any]:
    """The second as its line told it, with HdrHistogram's payloads; see `Second.to_json`."""
    (counters, errors, statuses, in_flight, vitals, timings, _), payloads = _read(packed)
    texts = [payload_of(payload) for payload in payloads]
    return {
        "second": second,
        "step": step,
        "counters": counters,
        "errors": errors,
        "statuses": statuses,
        "in_flight": in_flight,
        "timings": {
            name: dict(zip(_MOMENTS, moments, strict=True))
            | {"histogram": _at(place, texts) or place}
            for name, (*moments, place) in timings.items()
        },
        "vitals": vitals,
    }


def _parted(timings: Mapping[str, Any]) -> tuple[dict[str, list[Any]], list[bytes]]:
    """The head's `timings`, and the counts that are there once."""
    places: dict[bytes, int] = {}
    parted = {}
    for name, timing in _in_order(timings).items():
        if timing["n"]:
            moments = [timing[moment] for moment in _MOMENTS]
            payload = str(timing.get("histogram", ""))
            try:
                runs = runs_of(payload)
                parted[name] = [*moments, places.setdefault(runs, len(places))]
            except CorruptHistogram:
                parted[name] = [*moments, payload]
    return parted, list(places)


def _in_order(values: Mapping[str, Any]) -> dict[str, Any]:
    """As PostgreSQL orders the keys of jsonb: what the seconds are read into has this order."""
    return {key: values[key] for key in sorted(values, key=lambda key: (len(key), key))}


def _read(packed: bytes) -> tuple[list[Any], list[bytes]]:
    """The head, and the counts of its histograms. Raises ValueError for another format."""
    if packed[:1] != _FORMAT:
        raise ValueError(f"A packed second of format {packed[:1]!r}; this release reads 1.")
    inflater = zlib.decompressobj(_RAW, WORDS_1)
    text, _, payloads = inflater.decompress(packed[1:]).partition(b"\n")
    head = json.loads(text)
    return head, list(_cut(payloads, head[-1]))


def _cut(payloads: bytes, sizes: list[int]) -> Iterator[bytes]:
    start = 0
    for size in sizes:
        yield payloads[start : start + size]
        start += size


def _at(place: int | str, values: list[Any]) -> Any:
    return None if isinstance(place, str) else values[place]
