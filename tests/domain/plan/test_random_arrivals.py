"""Random arrivals: exact in number, the same for the same seed, shared without rest by shards."""

import math
from itertools import pairwise

import pytest

from campaigns.domain.plan.arrivals import schedule
from campaigns.domain.plan.load import Distribution, Load, Model
from campaigns.domain.plan.shards import LoadSlice
from tests.domain.plan.reading import dues

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
    ordered, n = sorted(values), len(values)
    return max(
        max(abs(distribution(x) - i / n), abs(distribution(x) - (i + 1) / n))
        for i, x in enumerate(ordered)
    )


# The critical value of Kolmogorov and Smirnov at 0.1 %: 1.95 / √n.
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_gaps_of_random_arrivals_are_exponential(seed):
    gaps = gaps_s(EXPONENTIAL, seed)
    distance = furthest_from(gaps, lambda s: 1 - math.exp(-37.5 * s))
    assert distance < 1.95 / math.sqrt(len(gaps))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_gaps_between_two_bounds_are_uniform(seed):
    gaps = gaps_s(UNIFORM, seed)
    assert min(gaps) >= 1 - 2e-9
    assert max(gaps) < 3 + 2e-9
    assert furthest_from(gaps, lambda s: (s - 1) / 2) < 1.95 / math.sqrt(len(gaps))
    assert sum(gaps) / len(gaps) == pytest.approx(2, abs=0.06)


@pytest.mark.parametrize(
    ("rate", "duration_s", "count"), [(37.5, 10, 375), (3, 1.1, 4), (0.1, 5, 1)]
)
def test_random_arrivals_are_exact_in_number_and_lie_in_the_time(rate, duration_s, count):
    load = Load(
        Model.OPEN, rate_per_s=rate, duration_s=duration_s, distribution=Distribution.EXPONENTIAL
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
