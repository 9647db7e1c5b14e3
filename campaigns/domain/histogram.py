"""Latencies counted in buckets laid out as in HdrHistogram: 1 µs to 1 h, 3 significant digits.

The layout (`index`, `low`, `width`) takes the precision as its number of sub-bucket bits, so that
the two-digit goldens test it as well. Merging adds counts and is exact; percentiles are
nearest-rank on the counts. Stored as HdrHistogram's V2 compressed payload, which any HdrHistogram
tool reads. Reference: HdrHistogram's AbstractHistogram (public domain) for the layout and payload.
"""

import base64
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from campaigns.domain.errors import CorruptHistogram

DIGITS = 3
HIGHEST_US = 3_600_000_000
# 3 digits need 2048 sub-buckets: values below 2048 µs have a bucket each.
SUB_BITS = {1: 5, 2: 8, 3: 11, 4: 15, 5: 18}
_V2_COOKIE = 0x1C849303 | 0x10
_V2_COMPRESSED_COOKIE = 0x1C849304 | 0x10
_MAX_PAYLOAD_BYTES = 2 * 1024 * 1024


def index(value_us: int, digits: int = DIGITS) -> int:
    """The bucket of a value in microseconds (a whole number from 0)."""
    bits = SUB_BITS[digits]
    shift = max(0, value_us.bit_length() - bits)
    return (shift << (bits - 1)) + (value_us >> shift)


def low(bucket: int, digits: int = DIGITS) -> int:
    """The smallest value of a bucket, µs."""
    half = SUB_BITS[digits] - 1
    if bucket < 2 << half:
        return bucket
    shift = (bucket >> half) - 1
    return (bucket - (shift << half)) << shift


def width(bucket: int, digits: int = DIGITS) -> int:
    """How many whole microseconds a bucket holds."""
    half = SUB_BITS[digits] - 1
    return 1 if bucket < 2 << half else 1 << ((bucket >> half) - 1)


N_BUCKETS = index(HIGHEST_US) + 1
_LOWS = np.array([low(bucket) for bucket in range(N_BUCKETS)], dtype=np.int64)
_MIDS = _LOWS + (np.array([width(bucket) for bucket in range(N_BUCKETS)]) - 1) / 2


@dataclass(slots=True)
class Histogram:
    """Counts per bucket: `counts` is int64 of shape (n,), n <= N_BUCKETS, trailing zeros cut."""

    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def of(cls, values_us: Iterable[int] | np.ndarray) -> Self:
        """A histogram of whole microseconds, shape (k,); values above 1 h count as 1 h."""
        values = np.asarray(values_us, dtype=np.int64)
        if values.size == 0:
            return cls()
        values = np.clip(values, 0, HIGHEST_US)
        if values.max() < 2 << (SUB_BITS[DIGITS] - 1):
            return cls(np.bincount(values))
        half = SUB_BITS[DIGITS] - 1
        # frexp gives the bit length exactly: values are far below 2^53.
        bit_length = np.frexp(values.astype(np.float64))[1]
        shift = np.maximum(0, bit_length - SUB_BITS[DIGITS]).astype(np.int64)
        return cls(np.bincount((shift << half) + (values >> shift)))

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return np.array_equal(np.trim_zeros(self.counts, "b"), np.trim_zeros(other.counts, "b"))

    def merged(self, other: Self) -> Self:
        """The histogram of both sets of values; exact, in any order."""
        longer, shorter = self.counts, other.counts
        if len(longer) < len(shorter):
            longer, shorter = shorter, longer
        total = longer.astype(np.int64, copy=True)
        total[: len(shorter)] += shorter
        return type(self)(total)

    def value_at_rank(self, rank: int) -> float:
        """The middle, µs, of the bucket that holds the rank-th smallest value (1 <= rank <= n)."""
        cumulative = np.cumsum(self.counts)
        return float(_MIDS[int(np.searchsorted(cumulative, rank))])

    def values_at_ranks(self, ranks: list[int]) -> list[float]:
        """As `value_at_rank`, for several ranks at the cost of one."""
        cumulative = np.cumsum(self.counts)
        return [float(value) for value in _MIDS[np.searchsorted(cumulative, ranks)]]

    def n_at_most(self, value_us: int) -> int:
        """How many values lie in the bucket of `value_us` or below it."""
        return int(self.counts[: index(min(value_us, HIGHEST_US)) + 1].sum())

    def encode(self) -> str:
        """HdrHistogram's V2 compressed payload in base64."""
        counts = _zigzag_runs(np.trim_zeros(self.counts, "b"))
        header = struct.pack(">iiiiqqd", _V2_COOKIE, len(counts), 0, DIGITS, 1, HIGHEST_US, 1.0)
        packed = zlib.compress(header + counts, 6)
        framed = struct.pack(">ii", _V2_COMPRESSED_COOKIE, len(packed)) + packed
        return base64.b64encode(framed).decode("ascii")

    @classmethod
    def decode(cls, text: str) -> Self:
        """The histogram of a V2 compressed base64 payload with our range and precision.

        Raises CorruptHistogram for anything else, and for a payload that would inflate past 2 MiB.
        """
        try:
            framed = base64.b64decode(text, validate=True)
            cookie, length = struct.unpack_from(">ii", framed)
            inflater = zlib.decompressobj()
            raw = inflater.decompress(framed[8 : 8 + length], _MAX_PAYLOAD_BYTES)
            inner, size, offset, digits, lowest, _, ratio = struct.unpack_from(">iiiiqqd", raw)
        except (ValueError, struct.error, zlib.error) as error:
            raise CorruptHistogram(f"Not an HdrHistogram V2 payload: {error}.") from None
        if cookie != _V2_COMPRESSED_COOKIE or inner != _V2_COOKIE:
            raise CorruptHistogram("Not an HdrHistogram V2 payload: another version's cookie.")
        if (digits, lowest, offset, ratio) != (DIGITS, 1, 0, 1.0):
            raise CorruptHistogram("A histogram of another precision or unit than ours.")
        return cls(_read_zigzag_runs(raw[40 : 40 + size]))


def _zigzag_runs(counts: np.ndarray) -> bytes:
    """ZigZag LEB128 of the counts; a run of k zeros is written as −k, as HdrHistogram does."""
    out = bytearray()
    previous = -1
    for bucket in np.flatnonzero(counts).tolist():
        gap = bucket - previous - 1
        if gap:
            _append_varint(out, 2 * gap - 1 if gap > 1 else 0)
        _append_varint(out, 2 * int(counts[bucket]))
        previous = bucket
    return bytes(out)


def _append_varint(out: bytearray, number: int) -> None:
    """LEB128 with at most nine bytes, the ninth holding eight bits."""
    for _ in range(8):
        if number < 0x80:
            out.append(number)
            return
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number & 0xFF)


def _read_zigzag_runs(data: bytes) -> np.ndarray:
    counts = np.zeros(N_BUCKETS, dtype=np.int64)
    bucket = position = 0
    while position < len(data):
        number = shift = 0
        for nth in range(9):
            if position >= len(data):
                raise CorruptHistogram("The payload ends in the middle of a count.")
            byte = data[position]
            position += 1
            number |= (byte if nth == 8 else byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        value = (number >> 1) ^ -(number & 1)
        if bucket + max(-value, 1) > N_BUCKETS:
            raise CorruptHistogram("The payload has more buckets than 1 µs to 1 h need.")
        if value < 0:
            bucket += -value
        else:
            counts[bucket] = value
            bucket += 1
    return np.trim_zeros(counts, "b")
