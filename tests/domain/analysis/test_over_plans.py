"""Two arms over several plans, and by what they cost the target."""

import numpy as np
import pytest

from campaigns.domain.analysis.pair import RunCost, cost_difference, ratio_over_plans
from campaigns.domain.analysis.ratio import Word


def test_it_is_the_geometric_mean_of_the_plans_ratios():
    plans = [
        ({1: 10, 2: 10, 3: 10}, {1: 20, 2: 20, 3: 20}),
        ({1: 80, 2: 80, 3: 80}, {1: 10, 2: 10, 3: 10}),
    ]
    found = ratio_over_plans(plans, in_blocks=True)
    assert found.ratio == pytest.approx(0.5)
    assert (found.baseline, found.candidate) == pytest.approx((800**0.5, 200**0.5))


def test_only_blocks_that_both_have_at_all_plans_make_the_interval():
    whole = {block: 10.0 + block for block in range(1, 6)}
    found = ratio_over_plans(
        [(whole, whole), ({**whole, 9: 7.0}, {2: 12, 3: 13, 4: 14})], in_blocks=True
    )
    assert found.interval.k == 3


def test_without_enough_blocks_there_is_a_ratio_and_no_interval():
    for blocks, in_blocks in [(2, True), (5, False)]:
        runs = dict.fromkeys(range(blocks), 10.0)
        found = ratio_over_plans([(runs, runs)] * 2, in_blocks=in_blocks)
        assert (found.ratio, found.interval) == (1.0, None)
        assert found.why


def test_the_interval_holds_what_it_says_although_plans_of_a_block_share_its_conditions():
    random = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        shared = random.normal(0, 0.05, (5, 1))
        logs = np.log(1.1) + shared + random.normal(0, 0.03, (5, 6))
        plans = [
            (dict.fromkeys(range(5), 1000.0), dict(enumerate(1000 * np.exp(logs[:, plan]))))
            for plan in range(6)
        ]
        found = ratio_over_plans(plans, in_blocks=True).interval
        held += found.low <= 1.1 <= found.high
    assert 0.92 <= held / 400 <= 0.99


def arm(*amounts: float) -> dict[int, RunCost]:
    return {block: RunCost(each, 0.001) for block, each in enumerate(amounts, start=1)}


def test_a_wild_run_leaves_the_cost_open_and_says_why():
    baseline, candidate = arm(6.0, 6.1, 48.2, 5.9, 6.05), arm(7.0, 7.1, 7.05, 6.9, 7.02)
    found = cost_difference(baseline, candidate, paired=True, threshold=0.05)
    assert found.word is Word.OPEN
    assert found.text


def test_a_clear_word_without_such_a_run_needs_no_words():
    found = cost_difference(arm(6, 6.1, 5.9), arm(7, 7.1, 6.9), paired=True, threshold=0.05)
    assert (found.word, found.text) == (Word.SLOWER, "")
