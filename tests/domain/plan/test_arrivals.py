"""When requests are due, also at random: exact in number, the same for a seed, shared by shards."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.plan.arrivals import (
    LoadSlice,
    connections_of,
    is_scheduled,
    ramp_offsets_ns,
    requests_of,
    schedule,
    split,
)
from campaigns.domain.plan.load import Distribution, Load, Model
from tests.domain.plan.reading import dues

MS = 1_000_000


def over(requests, over_s):
    return Load(Model.OVER, requests=requests, over_s=over_s)


def test_arrivals_are_due_at_even_distances_from_zero():
    for load, expected_ms in [
        (over(10, 100), [number * 10_000 for number in range(10)]),
        (over(100, 10), [number * 100 for number in range(100)]),
        (Load(Model.OPEN, rate_per_s=4, duration_s=1), [0, 250, 500, 750]),
        (Load(Model.OPEN, rate_per_s=4, requests=2), [0, 250]),
        (over(1, 60), [0]),
    ]:
        assert dues(load) == [each * MS for each in expected_ms]


def test_rounding_never_adds_up():
    assert dues(over(3, 1)) == [0, 333_333_333, 666_666_666]
    assert dues(over(700_000, 7))[-1] == 7 * 10**9 - 10_000
    # A period of 14,285.7 ns, cut to whole ns each time, would be 50 µs early here.
    assert dues(over(70_000, 1))[-1] == 999_985_714


def test_an_open_load_has_an_exact_number_of_arrivals():
    for rate, duration, count in [(37.5, 10, 375), (0.1, 100, 10), (1 / 3, 9, 3), (100, 0.005, 1)]:
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


def test_connection_i_of_n_begins_at_i_times_ramp_over_n():
    for connections, ramp_up_s, expected_ns in [
        (4, 2, [0, 500 * MS, 1000 * MS, 1500 * MS]),
        (3, 1, [0, 333_333_333, 666_666_666]),
        (7, 0.1, [i * 100 * MS // 7 for i in range(7)]),
        (2, 0, [0, 0]),
    ]:
        load = Load(Model.CLOSED, connections=connections, duration_s=9, ramp_up_s=ramp_up_s)
        assert ramp_offsets_ns(load, LoadSlice()) == expected_ns


def test_each_further_injector_begins_an_offset_later():
    load = Load(Model.CLOSED, connections=3, requests=9, start_offset_s=1.1)
    offsets = [ramp_offsets_ns(load, LoadSlice(index, 3)) for index in range(3)]
    assert offsets == [[0], [1100 * MS], [2200 * MS]]


NS = 1_000_000_000
EXPONENTIAL = Load(Model.OPEN, rate_per_s=37.5, duration_s=40, distribution="exponential")
UNIFORM = Load(
    Model.OPEN, requests=2000, distribution=Distribution.UNIFORM, uniform_min_s=1, uniform_max_s=3
)
BOTH = pytest.mark.parametrize("load", [EXPONENTIAL, UNIFORM], ids=["exponential", "uniform"])


def gaps_s(load, seed):
    offsets = dues(load, seed=seed)
    return [(b - a) / NS for a, b in pairwise(offsets)]


def furthest_from(values, distribution):
    """The Kolmogorov-Smirnov distance of values from a distribution function."""
    in_order, n = sorted(values), len(values)
    return max(
        max(abs(distribution(x) - i / n), abs(distribution(x) - (i + 1) / n))
        for i, x in enumerate(in_order)
    )


# The critical value of Kolmogorov and Smirnov at 0.1 %: 1.95 / √n.
def test_gaps_of_random_arrivals_are_exponential():
    for seed in [1, 2, 3]:
        gaps = gaps_s(EXPONENTIAL, seed)
        distance = furthest_from(gaps, lambda s: 1 - math.exp(-37.5 * s))
        assert distance < 1.95 / math.sqrt(len(gaps))


def test_gaps_between_two_bounds_are_uniform():
    for seed in [1, 2, 3]:
        gaps = gaps_s(UNIFORM, seed)
        assert min(gaps) >= 1 - 2e-9
        assert max(gaps) < 3 + 2e-9
        assert furthest_from(gaps, lambda s: (s - 1) / 2) < 1.95 / math.sqrt(len(gaps))
        assert sum(gaps) / len(gaps) == pytest.approx(2, abs=0.06)


def test_random_arrivals_are_exact_in_number_and_lie_in_the_time():
    for rate, duration_s, count in [(37.5, 10, 375), (3, 1.1, 4), (0.1, 5, 1)]:
        load = Load(
            Model.OPEN,
            rate_per_s=rate,
            duration_s=duration_s,
            distribution=Distribution.EXPONENTIAL,
        )
        for seed in range(50):
            offsets = dues(load, seed=seed)
            assert len(offsets) == count == len(schedule(load, seed=seed))
            assert offsets == sorted(offsets)
            assert offsets[0] >= 0
            assert offsets[-1] < duration_s * NS


@BOTH
def test_the_seed_decides_and_nothing_else(load):
    assert dues(load, seed=5) == dues(load, seed=5)
    assert dues(load, seed=5) != dues(load, seed=6)
    assert dues(load, seed=-1)


@BOTH
@pytest.mark.parametrize("count", [2, 3, 7])
def test_shards_share_one_stream_whose_union_is_the_schedule(load, count):
    whole = list(schedule(load, 3, LoadSlice(), 11))
    parts = [list(schedule(load, 3, LoadSlice(i, count), 11)) for i in range(count)]
    assert sorted(pair for part in parts for pair in part) == whole
    assert all(number % count == i for i, part in enumerate(parts) for number, _ in part)
    assert all(
        len(schedule(load, 3, LoadSlice(i, count), 11)) == len(parts[i]) for i in range(count)
    )


@BOTH
def test_a_warm_up_comes_before_zero_and_shifts_nothing(load):
    whole = list(schedule(load, 4, LoadSlice(), 7))
    assert [due for number, due in whole if number >= 0] == dues(load, seed=7)
    warm = [due for number, due in whole if number < 0]
    assert warm == sorted(warm)
    assert warm[0] >= -4 * NS
    assert warm[-1] <= 0
    assert [number for number, _ in whole] == list(range(-len(warm), len(whole) - len(warm)))


def test_many_arrivals_are_drawn_in_pieces_without_a_seam():
    load = Load(Model.OPEN, rate_per_s=1000, requests=10_000, distribution="exponential")
    offsets = dues(load, seed=3)
    assert len(offsets) == 10_000
    assert offsets == sorted(offsets)
    assert offsets[-1] < 10 * NS
