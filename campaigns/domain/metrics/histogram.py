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
from campaigns.domain.percentiles import jump_in, rank_interval

DIGITS = 3
HIGHEST_US = 3_600_000_000
# 3 digits need 2048 sub-buckets: values below 2048 µs have a bucket each.
SUB_BITS = {1: 5, 2: 8, 3: 11, 4: 15, 5: 18}
EXACT_BELOW_US = 1 << SUB_BITS[DIGITS]
BUCKET_SHARE = 2.0 ** (1 - SUB_BITS[DIGITS])  # the width of a bucket, as a share of the value
_V2_COOKIE = 0x1C849303 | 0x10
_V2_COMPRESSED_COOKIE = 0x1C849304 | 0x10
_VARINT_BYTES = 9
_MAX_PAYLOAD_BYTES = 2 * 1024 * 1024


def index(value_us: int, digits: int = DIGITS) -> int:
    """The bucket of a value in microseconds (a whole number from 0)."""
    bits = SUB_BITS[digits]
    shift = max(0, value_us.bit_length() - bits)
    return (shift << (bits - 1)) + (value_us >> shift)


def low(buckets: np.ndarray, digits: int = DIGITS) -> np.ndarray:
    """The smallest value of each bucket, µs; int64."""
    shifts = _shifts(buckets, digits)
    return (buckets - (shifts << (SUB_BITS[digits] - 1))) << shifts


def width(buckets: np.ndarray, digits: int = DIGITS) -> np.ndarray:
    """How many whole microseconds each bucket holds; int64."""
    return 1 << _shifts(buckets, digits)


def _shifts(buckets: np.ndarray, digits: int) -> np.ndarray:
    return np.maximum((buckets >> (SUB_BITS[digits] - 1)) - 1, 0)


N_BUCKETS = index(HIGHEST_US) + 1
_ALL = np.arange(N_BUCKETS, dtype=np.int64)
_MIDS = low(_ALL) + (width(_ALL) - 1) / 2


@dataclass(slots=True)
class Histogram:
    """Counts per bucket: `counts` is int64 of shape (n,), n <= N_BUCKETS, trailing zeros cut."""

    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def of(cls, values_us: Iterable[int] | np.ndarray) -> Self:
        """A histogram of whole microseconds, shape (k,); values above 1 h count as 1 h."""
        values = np.asarray(values_us, dtype=np.int64)
        return cls.of_rows(values.reshape(1, -1))[0] if values.size else cls()

    @classmethod
    def of_rows(cls, values_us: np.ndarray) -> list[Self]:
        """A histogram of each row of int64, shape (rows, k), where k is not 0."""
        return [cls(np.bincount(row)) for row in _buckets(np.clip(values_us, 0, HIGHEST_US))]

    @classmethod
    def at(cls, buckets: np.ndarray, counts: np.ndarray) -> Self:
        """A histogram of the buckets that hold anything, ascending, and their counts; both int64 of
        shape (k,)."""
        return cls(_counts_at(buckets, counts))

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return np.array_equal(np.trim_zeros(self.counts, "b"), np.trim_zeros(other.counts, "b"))

    def merged(self, other: "Histogram") -> "Histogram":
        """The histogram of both sets of values; exact, in any order."""
        longer, shorter = self.counts, other.counts
        if len(longer) < len(shorter):
            longer, shorter = shorter, longer
        total = longer.astype(np.int64, copy=True)
        total[: len(shorter)] += shorter
        return Histogram(total)

    def value_at_rank(self, rank: int) -> float:
        """The middle, µs, of the bucket that holds the rank-th smallest value (1 <= rank <= n)."""
        cumulative = np.cumsum(self.counts)
        return float(_MIDS[int(np.searchsorted(cumulative, rank))])

    def values_at_ranks(self, ranks: list[int]) -> list[float]:
        """As `value_at_rank`, for several ranks at the cost of one."""
        cumulative = np.cumsum(self.counts)
        return [float(value) for value in _MIDS[np.searchsorted(cumulative, ranks)]]

    def levels_between(self, low_rank: int, high_rank: int) -> np.ndarray:
        """The different values, µs and ascending, that the samples of these ranks have."""
        first, last = np.searchsorted(np.cumsum(self.counts), [low_rank, high_rank])
        return _MIDS[first + np.flatnonzero(self.counts[first : last + 1])]

    def jump_at(self, per_100k: int) -> tuple[float, float] | None:
        """The two sides, µs, of the jump that the percentile lies at; None without one, or where
        too few values tell."""
        ranks = rank_interval(self.n, per_100k)
        if None in ranks:
            return None
        jump = jump_in(self.levels_between(*ranks))
        return jump and tuple(map(float, jump))

    def encode(self) -> str:
        """HdrHistogram's V2 compressed payload in base64."""
        counts = np.trim_zeros(self.counts, "b")
        buckets = np.flatnonzero(counts)
        return payload_of(runs_of_buckets(buckets, counts[buckets]))

    @classmethod
    def decode(cls, text: str) -> Self:
        """The histogram of a V2 compressed base64 payload with our range and precision.

        Raises CorruptHistogram for anything else, and for a payload that would inflate past 2 MiB.
        """
        return cls.at(*buckets_of_runs(runs_of(text)))


def _counts_at(buckets: np.ndarray, counts: np.ndarray) -> np.ndarray:
    dense = np.zeros(int(buckets[-1]) + 1 if len(buckets) else 0, dtype=np.int64)
    dense[buckets] = counts
    return dense


def payload_of(runs: bytes) -> str:
    """HdrHistogram's V2 compressed payload in base64, of its counts as `runs_of` gives them."""
    header = struct.pack(">iiiiqqd", _V2_COOKIE, len(runs), 0, DIGITS, 1, HIGHEST_US, 1.0)
    body = zlib.compress(header + runs, 6)
    payload = struct.pack(">ii", _V2_COMPRESSED_COOKIE, len(body)) + body
    return base64.b64encode(payload).decode("ascii")


def runs_of(text: str) -> bytes:
    """The counts within a payload as V2 has them: ZigZag LEB128, a run of k zeros as −k.

    Raises CorruptHistogram as `Histogram.decode`, but does not look at the counts.
    """
    try:
        payload = base64.b64decode(text, validate=True)
        cookie, length = struct.unpack_from(">ii", payload)
        inflater = zlib.decompressobj()
        raw = inflater.decompress(payload[8 : 8 + length], _MAX_PAYLOAD_BYTES)
        inner, size, offset, digits, lowest, _, ratio = struct.unpack_from(">iiiiqqd", raw)
    except (ValueError, struct.error, zlib.error) as error:
        raise CorruptHistogram(f"Not an HdrHistogram V2 payload: {error}.") from None
    if cookie != _V2_COMPRESSED_COOKIE or inner != _V2_COOKIE:
        raise CorruptHistogram("Not an HdrHistogram V2 payload: another version's cookie.")
    if (digits, lowest, offset, ratio) != (DIGITS, 1, 0, 1.0):
        raise CorruptHistogram("A histogram of another precision or unit than ours.")
    return raw[40 : 40 + size]


class StoredHistogram(Histogram):
    """A payload of ours, decoded when somebody first asks for the counts: of most stored timings
    only the moments are shown, and decoding is slow. Raises CorruptHistogram then."""

    __slots__ = ("_counts", "_payload")

    def __init__(self, payload: str) -> None:
        self._payload = payload
        self._counts: np.ndarray | None = None

    @property
    def counts(self) -> np.ndarray:
        if self._counts is None:
            self._counts = _counts_at(*buckets_of_runs(runs_of(self._payload)))
        return self._counts


class SummedHistogram(Histogram):
    """The histogram of several sets of values, added up when somebody first asks for the counts."""

    __slots__ = ("_parts", "_total")

    def __init__(self, parts: Iterable[Histogram]) -> None:
        self._parts = tuple(parts)
        self._total: np.ndarray | None = None

    @property
    def counts(self) -> np.ndarray:
        if self._total is None:
            counts = [part.counts for part in self._parts]
            total = np.zeros(max(map(len, counts), default=0), dtype=np.int64)
            for each in counts:
                total[: len(each)] += each
            self._total, self._parts = total, ()
        return self._total


def _buckets(values: np.ndarray) -> np.ndarray:
    """The bucket of each value; of any shape."""
    if values.max() < 2 << (SUB_BITS[DIGITS] - 1):
        return values
    # frexp gives the bit length exactly: values are far below 2^53.
    bit_length = np.frexp(values.astype(np.float64))[1]
    shift = np.maximum(0, bit_length - SUB_BITS[DIGITS]).astype(np.int64)
    return (shift << (SUB_BITS[DIGITS] - 1)) + (values >> shift)


def runs_of_buckets(buckets: np.ndarray, counts: np.ndarray) -> bytes:
    """ZigZag LEB128 of the counts; a run of k zeros is written as −k, as HdrHistogram does. Takes
    the buckets that hold anything, ascending, and their counts; both int64 of shape (k,)."""
    gaps = np.diff(buckets, prepend=-1) - 1
    numbers = np.empty((len(buckets), 2), dtype=np.int64)
    # A single zero is written as the count 0.
    numbers[:, 0] = np.where(gaps > 1, 2 * gaps - 1, 0)
    numbers[:, 1] = 2 * counts
    is_written = np.ones_like(numbers, dtype=bool)
    is_written[:, 0] = gaps > 0
    return varints_of(numbers[is_written])


def varints_of(numbers: np.ndarray) -> bytes:
    """LEB128 of numbers from 0, shape (k,), with at most nine bytes, the ninth of eight bits."""
    longest = max(1, -(-int(numbers.max(initial=0)).bit_length() // 7))
    length = min(longest, _VARINT_BYTES)
    places = np.arange(length)
    digits = numbers[:, None] >> (7 * places)
    # There is a byte for each place up to the last that holds anything.
    is_written = (digits > 0) | (places == 0)
    has_next = np.zeros_like(is_written)
    has_next[:, :-1] = is_written[:, 1:]
    septets = np.where(places < _VARINT_BYTES - 1, digits & 0x7F, digits & 0xFF)
    return (septets | (has_next << 7)).astype(np.uint8)[is_written].tobytes()


def buckets_of_runs(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """What `runs_of_buckets` wrote. Raises CorruptHistogram for more buckets than there are."""
    numbers = numbers_of_varints(data)
    values = (numbers >> np.uint64(1)).view(np.int64)
    is_run = (numbers & np.uint64(1)).astype(bool)
    steps = np.where(is_run, values + 1, 1)
    # Below 1: the one number whose negative does not fit into 64 bits.
    if ((steps > N_BUCKETS) | (steps < 1)).any() or steps.sum() > N_BUCKETS:
        raise CorruptHistogram("The payload has more buckets than 1 µs to 1 h need.")
    holds = ~is_run & (values > 0)
    return (np.cumsum(steps) - 1)[holds], values[holds]


def numbers_of_varints(text: bytes) -> np.ndarray:
    """The uint64 numbers of LEB128 bytes; raises CorruptHistogram if the last one is cut off."""
    data = np.frombuffer(text, dtype=np.uint8)
    if data.size == 0:
        return np.zeros(0, dtype=np.uint64)
    lasts = _varint_lasts(data)
    firsts = _firsts(lasts)
    numbers = (data[firsts] & 0x7F).astype(np.uint64)
    more = lasts - firsts
    # Nearly all numbers are of one byte, so byte by byte is faster than number by number.
    for place in range(1, int(more.max()) + 1):
        longer = np.flatnonzero(more >= place)
        septets = data[firsts[longer] + place] & (0x7F if place < _VARINT_BYTES - 1 else 0xFF)
        numbers[longer] |= septets.astype(np.uint64) << np.uint64(7 * place)
    return numbers


def _varint_lasts(data: np.ndarray) -> np.ndarray:
    """The index of each number's last byte: one below 0x80, or the ninth."""
    lasts = np.flatnonzero(data < 0x80)
    is_whole = len(lasts) and lasts[-1] == len(data) - 1
    if is_whole and (lasts - _firsts(lasts)).max() < _VARINT_BYTES:
        return lasts
    return _varint_lasts_of_long_ones(data)


def _firsts(lasts: np.ndarray) -> np.ndarray:
    firsts = np.zeros_like(lasts)
    firsts[1:] = lasts[:-1] + 1
    return firsts


def _varint_lasts_of_long_ones(data: np.ndarray) -> np.ndarray:
    """As `_varint_lasts`, byte by byte: a ninth byte may look as if another one followed."""
    lasts, length = [], 0
    for at, byte in enumerate(data.tolist()):
        length += 1
        if byte < 0x80 or length == _VARINT_BYTES:
            lasts.append(at)
            length = 0
    if length:
        raise CorruptHistogram("The payload ends in the middle of a count.")
    return np.array(lasts, dtype=np.int64)
