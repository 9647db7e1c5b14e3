"""Several injectors send together exactly what one would, each its share of it."""

from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.plan.arrivals import connections_of, ramp_offsets_ns, requests_of, schedule
from campaigns.domain.plan.load import Load, Model
from campaigns.domain.plan.shards import LoadSlice, places_of, shares_of_text, split

WEIGHTS = st.lists(st.integers(1, 100), min_size=2, max_size=12).map(tuple)
FEW_WEIGHTS = st.lists(st.integers(1, 9), min_size=2, max_size=5).map(tuple)


def shards_of(weights: tuple[int, ...]) -> list[LoadSlice]:
    return [LoadSlice(index, len(weights), weights) for index in range(len(weights))]


def test_half_of_the_arrivals_are_the_first_one_s_evenly_spread():
    assert places_of((2, 1, 1)) == ((0, 2), (1,), (3,))
    assert places_of((5, 1, 1)) == ((0, 1, 2, 4, 5), (3,), (6,))


@pytest.mark.parametrize("weights", [(1, 1, 1), (7, 7, 7)])
@given(first=st.integers(-50, 50), length=st.integers(0, 90))
def test_equal_weights_take_turns_as_no_weights_do(weights, first, length):
    for index in range(3):
        plain, weighted = LoadSlice(index, 3), LoadSlice(index, 3, weights)
        assert list(weighted.own(first, first + length)) == list(plain.own(first, first + length))
        assert list(islice(weighted.all(), 9)) == list(islice(plain.all(), 9))


@given(WEIGHTS, st.integers(-300, 300), st.integers(0, 400))
def test_every_number_belongs_to_exactly_one_shard(weights, first, length):
    parts = [list(shard.own(first, first + length)) for shard in shards_of(weights)]
    assert sorted(number for part in parts for number in part) == list(range(first, first + length))
    for shard, part in zip(shards_of(weights), parts, strict=True):
        assert part == sorted(part)
        assert len(shard.own(first, first + length)) == len(part)


@given(WEIGHTS, st.integers(0, 100_000))
def test_after_any_count_of_numbers_each_shard_has_its_share_within_one(weights, count):
    for shard in shards_of(weights):
        assert abs(len(shard.own(0, count)) - count * shard.share) < 1


@given(WEIGHTS, st.integers(0, 2000))
def test_its_own_numbers_are_the_same_one_by_one(weights, number):
    for shard in shards_of(weights):
        nth = shard.nth(number)
        assert list(shard.own(nth, nth + 1)) == [nth]
        assert len(shard.own(0, nth)) == number


@given(
    weights=FEW_WEIGHTS,
    kind=st.sampled_from(["deterministic", "exponential", "uniform"]),
    requests=st.integers(1, 120),
    warm_up_s=st.integers(0, 3),
    seed=st.integers(0, 5),
)
def test_the_shards_together_are_the_intended_schedule(weights, kind, requests, warm_up_s, seed):
    gaps = {"uniform_min_s": 0.01, "uniform_max_s": 0.09} if kind == "uniform" else {}
    rate = {} if kind == "uniform" else {"rate_per_s": 17.5}
    load = Load(Model.OPEN, requests=requests, distribution=kind, **gaps, **rate)
    whole = list(schedule(load, warm_up_s, LoadSlice(), seed))
    plans = [schedule(load, warm_up_s, shard, seed) for shard in shards_of(weights)]
    parts = [list(plan) for plan in plans]
    assert sorted(pair for part in parts for pair in part) == whole
    assert [len(plan) for plan in plans] == [len(part) for part in parts]


@given(WEIGHTS, st.integers(0, 10**6))
def test_a_whole_number_is_split_by_largest_remainder(weights, total):
    parts = [split(total, shard) for shard in shards_of(weights)]
    quotas = [total * shard.share for shard in shards_of(weights)]
    assert sum(parts) == total
    up = [quota - int(quota) for part, quota in zip(parts, quotas, strict=True) if part > quota]
    down = [quota - int(quota) for part, quota in zip(parts, quotas, strict=True) if part <= quota]
    assert all(abs(part - quota) < 1 for part, quota in zip(parts, quotas, strict=True))
    assert min(up, default=Fraction(1)) >= max(down, default=Fraction(0))


@given(FEW_WEIGHTS, st.integers(1, 60), st.integers(1, 5000))
def test_a_closed_load_is_shared_to_the_last_connection_and_request(weights, connections, requests):
    load = Load(Model.CLOSED, connections=connections, requests=requests, ramp_up_s=1)
    shards = shards_of(weights)
    assert sum(connections_of(load, shard) for shard in shards) == connections
    assert sum(requests_of(load, shard) for shard in shards) == requests
    assert all(connections_of(load, each) for each in shards if requests_of(load, each))
    ramps = [ramp_offsets_ns(load, shard) for shard in shards]
    assert sorted(offset for ramp in ramps for offset in ramp) == ramp_offsets_ns(load, LoadSlice())


@pytest.mark.parametrize(
    ("text", "shares"),
    [("2,1,1", [2, 1, 1]), (" 50 : 25 : 25 ", [50, 25, 25]), ("", []), ("2, x", [2, "x"])],
)
def test_shares_are_written_as_numbers_in_a_row(text, shares):
    assert shares_of_text(text) == shares
