"""Timings and seconds: exact moments, merging, and their stored form."""

import json
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.metrics.histogram import Histogram
from campaigns.domain.metrics.snapshot import Second, Timing, Total, total_of

values_us = st.lists(st.integers(0, 10_000_000), max_size=100)


def moments(timing):
    return timing.n, timing.sum_us, timing.sum_squares, timing.min_us, timing.max_us


@given(values_us, values_us)
def test_merging_is_exact(first, second):
    both = Timing.of(first).merged(Timing.of(second))
    assert moments(both) == moments(Timing.of(first + second))
    assert both.histogram == Timing.of(first + second).histogram


@given(st.dictionaries(st.sampled_from("abcde"), values_us))
def test_timings_made_together_are_those_made_one_by_one(sets):
    arrays = {name: np.array(values, dtype=np.int64) for name, values in sets.items()}
    together = Timing.of_each(arrays)
    assert list(together) == [name for name, values in sets.items() if values]
    for name, timing in together.items():
        alone = Timing.of(sets[name])
        assert (moments(timing), timing.histogram) == (moments(alone), alone.histogram)


@given(values_us)
def test_a_timing_is_stored_and_read_without_loss(values):
    row = json.loads(json.dumps(Timing.of(values).to_json()))
    read = Timing.from_json(row)
    assert moments(read) == moments(Timing.of(values))
    assert read.histogram == Timing.of(values).histogram


def test_the_standard_deviation_is_that_of_a_sample():
    for values, sd in [([], None), ([5], None), ([60, 64], sqrt(8)), ([5, 5, 5], 0)]:
        assert Timing.of(values).sd_us == (None if sd is None else pytest.approx(sd))


def test_percentiles_are_nearest_ranks_within_the_exact_bounds():
    for values, per_100k, us in [
        ([], 50_000, None),
        ([7], 50_000, 7),
        ([1, 2, 3, 4], 50_000, 2),
        ([1, 2, 3, 4], 75_000, 3),
        ([1, 2, 3, 4], 75_001, 4),
        (range(1, 101), 99_000, 99),
        (range(1, 101), 100_000, 100),
        ([10_001, 10_001, 10_001], 50_000, 10_001),
    ]:
        assert Timing.of(list(values)).percentile_us(per_100k) == us


def make_second(number=3, **counters):
    return Second(
        second=number,
        step=0,
        counters={"started": 2, "ok": 2, **counters},
        errors={"reset": 1},
        statuses={"200": 2},
        in_flight=4,
        timings={"response": Timing.of([1500, 2500])},
        vitals={"cpu_share": 0.5},
    )


def test_a_total_is_the_sum_of_its_seconds():
    total = total_of([make_second(1), make_second(2, failed=1), total_of([make_second(3)])])
    assert total.counters == {"started": 6, "ok": 6, "failed": 1}
    assert (total.errors, total.statuses) == ({"reset": 3}, {"200": 6})
    assert total.timing("response").n == 6
    assert total.timing("tls").n == 0
    assert total.count("dropped") == 0
    assert Total.from_json(total.to_json()).to_json() == total.to_json()


def test_timings_together_are_those_merged_one_after_another():
    parts = [Timing.of(values) for values in ([10, 20, 30], [5_000_000], [], [40, 7])]
    one_by_one = Timing()
    for part in parts:
        one_by_one = one_by_one.merged(part)
    together = Timing.together(parts)
    assert together == one_by_one
    assert together.percentile_us(50_000) == one_by_one.percentile_us(50_000) == 20
    assert Timing.together([]) == Timing()


def test_timings_together_read_no_histogram_until_somebody_asks_for_a_percentile():
    class Unread(Histogram):
        @property
        def counts(self):
            raise AssertionError("nobody asked")

    unread = Timing(2, 30, 500, 10, 20, object.__new__(Unread))
    assert Timing.together([unread, unread]).mean_us == 15
