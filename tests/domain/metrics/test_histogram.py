"""Buckets, merging and the payload, against golden numbers and against HdrHistogram itself."""

import base64
import contextlib
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.errors import CorruptHistogram
from campaigns.domain.metrics.histogram import (
    HIGHEST_US,
    N_BUCKETS,
    Histogram,
    StoredHistogram,
    index,
    low,
    numbers_of_varints,
    varints_of,
    width,
)

values_us = st.lists(st.integers(0, HIGHEST_US), max_size=200)
# value, bucket, its lowest value, its width: with eight sub-bits, that is two digits.
TWO_DIGITS = [
    (127, 127, 127, 1), (255, 255, 255, 1), (256, 256, 256, 2), (511, 383, 510, 2),
    (512, 384, 512, 4), (1000, 506, 1000, 4), (4070, 766, 4064, 16), (5000, 796, 4992, 32),
    (100_000, 1347, 99_840, 512), (1_000_000, 1780, 999_424, 4096),
]  # fmt: skip


def test_golden_buckets_of_two_digits():
    for value, bucket, lowest, wide in TWO_DIGITS:
        assert index(value, digits=2) == bucket
        assert (low(bucket, digits=2), width(bucket, digits=2)) == (lowest, wide)


@given(st.integers(0, HIGHEST_US), st.sampled_from([1, 2, 3]))
def test_a_bucket_holds_its_value_within_its_precision(value, digits):
    bucket = index(value, digits)
    assert low(bucket, digits) <= value < low(bucket, digits) + width(bucket, digits)
    assert (width(bucket, digits) - 1) / 2 <= max(value, 1) * 10**-digits


@given(st.integers(0, N_BUCKETS - 2))
def test_buckets_lie_side_by_side(bucket):
    assert low(bucket) + width(bucket) == low(bucket + 1)


@given(values_us)
def test_it_counts_every_value_in_its_bucket(values):
    counts = Histogram.of(values).counts
    assert counts.sum() == len(values)
    assert all(counts[index(value)] > 0 for value in values)


def test_what_is_above_an_hour_counts_as_an_hour():
    assert Histogram.of([HIGHEST_US * 5]) == Histogram.of([HIGHEST_US])


@given(values_us, values_us, values_us)
def test_merging_is_exact_in_any_order(first, second, third):
    a, b, c = Histogram.of(first), Histogram.of(second), Histogram.of(third)
    assert a.merged(b) == b.merged(a) == Histogram.of(first + second)
    assert a.merged(b).merged(c) == a.merged(b.merged(c))
    assert a.merged(Histogram()) == a


@given(values_us.filter(bool), st.data())
def test_a_rank_is_read_within_a_bucket_of_the_truth(values, data):
    rank = data.draw(st.integers(1, len(values)))
    truth = sorted(values)[rank - 1]
    read = Histogram.of(values).value_at_rank(rank)
    assert abs(read - truth) <= width(index(truth))
    assert Histogram.of(values).values_at_ranks([rank]) == [read]


@given(st.lists(st.tuples(st.integers(0, N_BUCKETS - 1), st.integers(1, 2**62 - 1)), max_size=30))
def test_it_reads_what_it_wrote_however_large_the_counts(pairs):
    counts = np.zeros(N_BUCKETS, dtype=np.int64)
    for bucket, count in pairs:
        counts[bucket] = count
    assert Histogram.decode(Histogram(counts).encode()) == Histogram(counts)


@pytest.mark.parametrize("seed", range(5))
def test_hdrhistogram_reads_ours_and_we_read_its(seed):
    hdrh = pytest.importorskip("hdrh.histogram", reason="no wheel of the oracle for this machine")
    values = np.random.default_rng(seed).lognormal(8, 2, 5000).astype(np.int64).clip(1, HIGHEST_US)
    theirs = hdrh.HdrHistogram(1, HIGHEST_US, 3)
    for value in values.tolist():
        theirs.record_value(value)
    ours = Histogram.of(values)
    assert Histogram.decode(theirs.encode().decode()) == ours
    read = hdrh.HdrHistogram.decode(ours.encode())
    assert read.get_total_count() == 5000
    for q in (50, 90, 99, 99.9):
        assert read.get_value_at_percentile(q) == theirs.get_value_at_percentile(q)


def payload(counts: bytes, *, digits=3, cookie=0x1C849313, outer=0x1C849314) -> str:
    inner = struct.pack(">iiiiqqd", cookie, len(counts), 0, digits, 1, HIGHEST_US, 1.0) + counts
    body = zlib.compress(inner)
    return base64.b64encode(struct.pack(">ii", outer, len(body)) + body).decode()


def test_it_refuses_what_is_no_payload_of_ours():
    for text, words in [
        ("", "Not an HdrHistogram"),
        ("%%%", "Not an HdrHistogram"),
        ("AAAA", "Not an HdrHistogram"),
        (payload(b"")[:-8], "Not an HdrHistogram"),
        (payload(b"", cookie=1), "another version"),
        (payload(b"", outer=1), "another version"),
        (payload(b"", digits=2), "another precision"),
        (payload(b"\x82"), "middle of a count"),
        (payload(b"\x02\x80"), "middle of a count"),
        (payload(b"\xff" * 8), "middle of a count"),
        (payload(b"\xff\xff\xff\xff\x0f"), "more buckets"),
        (payload(b"\xff" * 9), "more buckets"),
        (payload(b"\x02" * (N_BUCKETS + 1)), "more buckets"),
    ]:
        with pytest.raises(CorruptHistogram, match=words):
            Histogram.decode(text)


def test_a_payload_that_inflates_without_end_is_refused():
    text = payload(b"\x02" * 100_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(CorruptHistogram):
            Histogram.decode(text)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 100_000_000


@given(st.binary(max_size=300))
def test_no_bytes_crash_it(data):
    with contextlib.suppress(CorruptHistogram):
        assert Histogram.decode(payload(data)).counts.size <= N_BUCKETS


def test_a_ninth_byte_ends_a_number_whatever_it_holds():
    numbers = np.array([2**62 - 2, 3, 2**62], dtype=np.int64)
    assert numbers_of_varints(varints_of(numbers)).tolist() == numbers.tolist()


def test_a_stored_one_is_decoded_when_its_counts_are_asked_for():
    histogram = Histogram.of([3, 5, 70_000])
    lazy = StoredHistogram(histogram.encode())
    assert lazy == histogram
    assert lazy.merged(histogram) == histogram.merged(histogram)
    junk = StoredHistogram("junk")
    with pytest.raises(CorruptHistogram):
        _ = junk.n
