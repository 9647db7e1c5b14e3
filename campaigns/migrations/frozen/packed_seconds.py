"""For 0043: packed seconds of formats 1 and 2, as the lines told them; see
campaigns/domain/measured/packed_second.py for both."""

import json
import zlib
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from campaigns.migrations.frozen.packed_words import WORDS_1, WORDS_2
from campaigns.migrations.frozen.payloads import (
    Filled,
    payload_of,
    payload_of_counts,
    read_varints,
)

_WORDS = {1: WORDS_1, 2: WORDS_2}
_MOMENTS = ("n", "sum_us", "sum_squares", "min_us", "max_us")
_RAW = -15


def unpacked(packed: bytes) -> dict[str, Any]:
    """counters, errors, statuses, in_flight, timings with HdrHistogram's payloads, and vitals."""
    inflated = zlib.decompressobj(_RAW, _WORDS[packed[0]]).decompress(packed[1:])
    text, _, rest = inflated.partition(b"\n")
    counters, errors, statuses, in_flight, vitals, timings, sizes = json.loads(text)
    if packed[0] == 1:
        filled, payloads = [], [payload_of_counts(each) for each in _cut(rest, sizes)]
    else:
        filled = list(_filled(rest, sizes))
        payloads = [payload_of(each) for each in filled]
    return {
        "counters": counters,
        "errors": errors,
        "statuses": statuses,
        "in_flight": in_flight,
        "timings": {name: _timing(each, filled, payloads) for name, each in timings.items()},
        "vitals": vitals,
    }


def _filled(rest: bytes, sizes: list[int]) -> Iterator[Filled]:
    numbers = read_varints(rest)
    half = len(numbers) // 2
    parts = zip(_cut(numbers[:half], sizes), _cut(numbers[half:], sizes), strict=True)
    for gaps, counts in parts:
        buckets = (at - 1 for at in accumulate(gap + 1 for gap in gaps))
        yield list(zip(buckets, counts, strict=True))


def _cut(values: Any, sizes: list[int]) -> Iterator[Any]:
    start = 0
    for size in sizes:
        yield values[start : start + size]
        start += size


def _timing(stored: list[Any], filled: list[Filled], payloads: list[str]) -> dict[str, Any]:
    """`stored`: the moments and a place, or the place alone where they follow from its histogram;
    instead of the place a payload that is not ours."""
    *moments, place = stored
    moments = moments or _moments_of(filled[place])
    payload = place if isinstance(place, str) else payloads[place]
    return dict(zip(_MOMENTS, moments, strict=True)) | {"histogram": payload}


def _moments_of(filled: Filled) -> list[int]:
    """All durations lie in buckets of one microsecond."""
    return [
        sum(count for _, count in filled),
        sum(count * us for us, count in filled),
        sum(count * us * us for us, count in filled),
        filled[0][0],
        filled[-1][0],
    ]
