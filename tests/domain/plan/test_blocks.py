from collections import Counter
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.plan.turns import Turn, order_of_runs

some_campaign = given(st.integers(1, 9), st.integers(1, 12), st.integers(0, 2**31))


def blocks_of(n_tests: int, repeats: int, seed: int) -> list[tuple[int, ...]]:
    turns = order_of_runs(n_tests, repeats, is_random=True, seed=seed)
    return [
        tuple(turn.test for turn in turns if turn.repeat == repeat)
        for repeat in range(1, repeats + 1)
    ]


def blocks_of_a_square(n_tests: int) -> int:
    return n_tests if n_tests % 2 == 0 else 2 * n_tests


@some_campaign
def test_each_block_runs_every_test_once(n_tests, repeats, seed):
    turns = order_of_runs(n_tests, repeats, is_random=True, seed=seed)
    assert [turn.position for turn in turns] == list(range(1, n_tests * repeats + 1))
    assert [turn.repeat for turn in turns] == sorted(turn.repeat for turn in turns)
    for block in blocks_of(n_tests, repeats, seed):
        assert sorted(block) == list(range(n_tests))


@some_campaign
def test_each_second_block_is_the_reverse_of_the_one_before_it(n_tests, repeats, seed):
    blocks = blocks_of(n_tests, 2 * repeats, seed)
    for first, second in zip(blocks[::2], blocks[1::2], strict=True):
        assert second == first[::-1]


@some_campaign
def test_a_steady_drift_cancels_out_of_every_comparison(n_tests, repeats, seed):
    turns = order_of_runs(n_tests, 2 * repeats, is_random=True, seed=seed)
    drifted = Counter()
    for turn in turns:
        drifted[turn.test] += turn.position
    assert len(set(drifted.values())) == 1


def test_over_a_square_each_test_is_at_every_place_equally_often():
    for seed in [1, 2]:
        for n_tests in range(2, 10):
            blocks = blocks_of(n_tests, blocks_of_a_square(n_tests), seed)
            found = Counter((place, test) for block in blocks for place, test in enumerate(block))
            assert len(found) == n_tests**2
            assert len(set(found.values())) == 1


def test_over_a_square_each_test_follows_every_other_equally_often():
    for seed in [1, 2]:
        for n_tests in range(2, 10):
            blocks = blocks_of(n_tests, blocks_of_a_square(n_tests), seed)
            found = Counter(pair for block in blocks for pair in pairwise(block))
            assert len(found) == n_tests * (n_tests - 1)
            assert len(set(found.values())) == 1


@given(st.integers(2, 9), st.integers(1, 12), st.integers(0, 2**31))
def test_of_two_tests_one_is_first_in_at_most_one_block_more(n_tests, repeats, seed):
    blocks = blocks_of(n_tests, repeats, seed)
    for one, other in combinations(range(n_tests), 2):
        before = sum(block.index(one) < block.index(other) for block in blocks)
        assert abs(before - (repeats - before)) <= 1


def test_the_seed_decides_the_order():
    assert blocks_of(8, 3, 1) == blocks_of(8, 3, 1) != blocks_of(8, 3, 2)


def test_what_balance_leaves_free_is_drawn():
    first = Counter(blocks_of(2, 1, seed)[0] for seed in range(200))
    assert first.keys() == {(0, 1), (1, 0)}
    assert min(first.values()) > 70
    assert len({blocks_of(4, 4, seed)[0] for seed in range(400)}) == 24
    fifth = Counter(blocks[4] == blocks[0] for blocks in (blocks_of(2, 5, s) for s in range(200)))
    assert min(fifth[True], fifth[False]) > 70


def test_two_tests_take_turns_so_that_a_drift_that_bends_cancels_too():
    for seed in range(20):
        first, second, third, fourth = blocks_of(2, 4, seed)
        assert first == fourth != second == third


def test_as_listed_is_the_same_in_every_block():
    assert order_of_runs(2, 2, is_random=False, seed=1) == [
        Turn(1, 1, 0),
        Turn(2, 1, 1),
        Turn(3, 2, 0),
        Turn(4, 2, 1),
    ]
