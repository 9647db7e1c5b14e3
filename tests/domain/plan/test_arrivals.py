"""When requests are due and which shard sends which."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.plan.arrivals import (
    connections_of,
    is_scheduled,
    ramp_offsets_ns,
    requests_of,
    schedule,
)
from campaigns.domain.plan.load import Load, Model
from campaigns.domain.plan.shards import LoadSlice, split
from tests.domain.plan.reading import dues

MS = 1_000_000


def over(requests, over_s):
    return Load(Model.OVER, requests=requests, over_s=over_s)


@pytest.mark.parametrize(
    ("load", "expected_ms"),
    [
        (over(10, 100), [number * 10_000 for number in range(10)]),
        (over(100, 10), [number * 100 for number in range(100)]),
        (Load(Model.OPEN, rate_per_s=4, duration_s=1), [0, 250, 500, 750]),
        (Load(Model.OPEN, rate_per_s=4, requests=2), [0, 250]),
        (over(1, 60), [0]),
    ],
)
def test_arrivals_are_due_at_even_distances_from_zero(load, expected_ms):
    assert dues(load) == [each * MS for each in expected_ms]


def test_rounding_never_adds_up():
    assert dues(over(3, 1)) == [0, 333_333_333, 666_666_666]
    assert dues(over(700_000, 7))[-1] == 7 * 10**9 - 10_000
    # A period of 14,285.7 ns, cut to whole ns each time, would be 50 µs early here.
    assert dues(over(70_000, 1))[-1] == 999_985_714


@pytest.mark.parametrize(
    ("rate", "duration", "count"), [(37.5, 10, 375), (0.1, 100, 10), (1 / 3, 9, 3), (100, 0.005, 1)]
)
def test_an_open_load_has_an_exact_number_of_arrivals(rate, duration, count):
    assert len(schedule(Load(Model.OPEN, rate_per_s=rate, duration_s=duration))) == count


def test_the_warm_up_arrives_before_zero_at_the_same_rate():
    plan = schedule(Load(Model.OPEN, rate_per_s=4, requests=2), warm_up_s=1)
    assert list(plan) == [
        (-4, -1000 * MS), (-3, -750 * MS), (-2, -500 * MS), (-1, -250 * MS), (0, 0), (1, 250 * MS),
    ]  # fmt: skip


@given(
    requests=st.integers(1, 200),
    over_s=st.floats(0.001, 50, allow_nan=False),
    warm_up_s=st.integers(0, 3),
    count=st.integers(1, 7),
)
def test_the_shards_together_are_the_whole_schedule(requests, over_s, warm_up_s, count):
    load = over(requests, round(over_s, 3))
    whole = list(schedule(load, warm_up_s)) if requests / over_s < 500 else []
    if whole:
        parts = [list(schedule(load, warm_up_s, LoadSlice(i, count))) for i in range(count)]
        assert sorted(pair for part in parts for pair in part) == whole
        assert all(number % count == i for i, part in enumerate(parts) for number, _ in part)
        assert min(due for _, due in whole) >= -warm_up_s * 10**9


def test_parts_follow_the_largest_remainder():
    assert [split(1000, LoadSlice(index, 3)) for index in range(3)] == [334, 333, 333]


def test_a_sequential_load_is_one_connection_of_one_shard():
    load = Load(Model.SEQUENTIAL, requests=7)
    shards = [LoadSlice(index, 3) for index in range(3)]
    assert [connections_of(load, shard) for shard in shards] == [1, 0, 0]
    assert [requests_of(load, shard) for shard in shards] == [7, 0, 0]
    assert not is_scheduled(load)


@pytest.mark.parametrize(
    ("connections", "ramp_up_s", "expected_ns"),
    [
        (4, 2, [0, 500 * MS, 1000 * MS, 1500 * MS]),
        (3, 1, [0, 333_333_333, 666_666_666]),
        (7, 0.1, [i * 100 * MS // 7 for i in range(7)]),
        (2, 0, [0, 0]),
    ],
)
def test_connection_i_of_n_begins_at_i_times_ramp_over_n(connections, ramp_up_s, expected_ns):
    load = Load(Model.CLOSED, connections=connections, duration_s=9, ramp_up_s=ramp_up_s)
    assert ramp_offsets_ns(load, LoadSlice()) == expected_ns


def test_each_further_injector_begins_an_offset_later():
    load = Load(Model.CLOSED, connections=3, requests=9, start_offset_s=1.1)
    offsets = [ramp_offsets_ns(load, LoadSlice(index, 3)) for index in range(3)]
    assert offsets == [[0], [1100 * MS], [2200 * MS]]
