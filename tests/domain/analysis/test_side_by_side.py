"""Arms that took turns: the interval is exact by the draw, and every interval has its word."""

from dataclasses import replace
from itertools import product
from math import exp, inf, log

import numpy as np
import pytest

from campaigns.domain.analysis.ratio import (
    RatioInterval,
    Word,
    rank_ratio,
    ratio_of_sums,
    signed_rank,
)
from campaigns.domain.analysis.side_by_side import (
    CONFIDENCE,
    LOOK_CONFIDENCE,
    LOOKS,
    ArmComparison,
    builds_up,
    compare,
    keeps_behind,
    next_look,
    percentile_ratio,
    spilled_share,
    typical_parts_us,
)
from campaigns.domain.metrics.injector_end import ArmRound, ArmsRound, of_all_shards
from campaigns.domain.metrics.snapshot import Timing

SLICE_S = 0.1


def arm_round(us, own_us=100.0, n=20, **more):
    figures = {"p50_us": us + own_us, "p50_undelayed_us": us, "mean_us": us + own_us}
    return ArmRound(n, own_us=own_us, **figures | {"mean_undelayed_us": us} | more)


def rounds_of(*pairs, **more):
    """Rounds with these times of reference and arm."""
    each = [(arm_round(a, **more), arm_round(b, **more)) for a, b in pairs]
    return [ArmsRound(number, 0, (0, 1), arms) for number, arms in enumerate(each)]


def campaign(rng, n, noise, factor=1.0, is_drawn=True):
    """`noise`: log slowdown at each slot of time, shape (2n,)."""
    first = rng.integers(0, 2, n) if is_drawn else np.zeros(n, dtype=int)
    by_slot = noise.reshape(n, 2)
    rows = np.arange(n)
    a, b = by_slot[rows, first], by_slot[rows, 1 - first]
    doses = 50 + 1000 * np.abs(by_slot).sum(axis=1)
    return [
        ArmsRound(k, 0, (0, 1), (arm_round(3000 * exp(a[k]), doses[k]),
                             arm_round(3000 * factor * exp(b[k]), doses[k])))
        for k in range(n)
    ]  # fmt: skip


def white(rng, n):
    return 0.03 * rng.standard_normal(2 * n)


def bursts(rng, n):
    """Spells of a busy machine, some longer than a second, in which all is much slower."""
    calm = 0.02 * rng.standard_normal(2 * n)
    for start in rng.integers(0, 2 * n, n // 5):
        calm[start : start + rng.integers(1, 15)] += rng.exponential(1.0)
    return calm


def periodic(period_s):
    def noise(rng, n):
        slots = np.arange(2 * n) * SLICE_S + rng.random() * period_s
        return 0.5 * (slots % period_s < period_s / 2) + 0.02 * rng.standard_normal(2 * n)

    return noise


def drifting(rng, n):
    return np.linspace(0, log(3), 2 * n) + 0.02 * rng.standard_normal(2 * n)


NOISES = {"white": white, "bursts": bursts, "0.2 s": periodic(0.2), "1 s": periodic(1.0),
          "drift": drifting}  # fmt: skip


def test_the_rank_is_that_of_counting_all_signs():
    for confidence in [0.9, 0.95, 0.99]:
        for n in range(2, 13):
            sums = [
                sum(r for r, up in enumerate(signs, 1) if up) for signs in product((0, 1), repeat=n)
            ]
            k = signed_rank(n, confidence)
            share_below = [sum(s <= most for s in sums) / 2**n for most in range(-1, k + 1)]
            assert share_below[k] <= (1 - confidence) / 2 < share_below[k + 1]


def test_counting_and_the_normal_distribution_meet():
    for confidence in (CONFIDENCE, LOOK_CONFIDENCE):
        exact, approximate = signed_rank(60, confidence), signed_rank(61, confidence)
        assert 0 < approximate - exact < 25


def test_few_rounds_have_the_confidence_that_they_allow():
    ratio = rank_ratio([0.1, 0.2, 0.3], CONFIDENCE)
    assert (ratio.low, ratio.high) == pytest.approx((exp(0.1), exp(0.3)))
    assert ratio.confidence == 0.75


def test_the_interval_misses_as_often_as_it_says():
    """A tenth of 1,500; whatever the noise, if the order was drawn."""
    rng = np.random.default_rng(7)
    for noise in NOISES.values():
        n_missed = 0
        for _ in range(300):
            slots = noise(rng, 30).reshape(30, 2)
            logs = (slots[:, 0] - slots[:, 1]) * rng.choice((-1, 1), 30)
            ratio = rank_ratio(logs, 0.9)
            n_missed += not ratio.low <= 1 <= ratio.high
        assert 12 <= n_missed <= 48


def test_equal_arms_are_not_called_different():
    for name in NOISES:
        rng = np.random.default_rng(11)
        words = [compare(campaign(rng, 80, NOISES[name](rng, 80)), 1).word for _ in range(60)]
        assert sum(word in {Word.SLOWER, Word.FASTER} for word in words) <= 2
        assert None not in words


def test_a_fixed_order_would_call_them_different():
    """The trap that the draw is for: noise with the period of the turns."""
    rng = np.random.default_rng(3)
    noise = 0.5 * (np.arange(160) % 2) + white(rng, 80)
    assert compare(campaign(rng, 80, noise, is_drawn=False), 1).word == Word.SLOWER
    assert compare(campaign(rng, 80, noise), 1).word not in {Word.SLOWER, Word.FASTER}


def test_a_planted_difference_is_found_and_its_lower_end_is_true():
    for factor in [1.1, 1.3, 2.0]:
        for name in ["white", "bursts", "drift"]:
            rng = np.random.default_rng(5)
            comparisons = [
                compare(campaign(rng, 100, NOISES[name](rng, 100), factor), 1) for _ in range(25)
            ]
            assert sum(each.word == Word.SLOWER for each in comparisons) >= 24
            assert sum(each.p50.low <= factor for each in comparisons) >= 24
            assert all(each.p50.low <= each.p50.ratio <= each.p50.high for each in comparisons)


def test_looking_often_does_not_err_more():
    """The whole point of what each look allows: 1 % over all of them together."""
    rng = np.random.default_rng(17)
    wrong = 0
    for _ in range(100):
        rounds = campaign(rng, 80, bursts(rng, 80))
        looks = (compare(rounds[:look], 1, confidence=LOOK_CONFIDENCE) for look in LOOKS[:5])
        wrong += any(each.word in {Word.SLOWER, Word.FASTER} for each in looks)
    assert wrong <= 3


def test_no_interval_is_without_a_word():
    rng = np.random.default_rng(23)
    for n in (2, 3, 5, 8, 12, 45):
        comparison = compare(campaign(rng, n, bursts(rng, n)), 1)
        assert comparison.word is not None
        assert 0 < comparison.p50.low <= comparison.p50.high < inf


def test_rounds_too_few_for_the_confidence_have_no_direction():
    few, enough = (compare(rounds_of(*[(1000, 2000)] * n), 1) for n in (7, 8))
    assert (few.word, few.p50.low) == (Word.OPEN, pytest.approx(2))
    assert enough.word == Word.SLOWER


def test_a_round_with_too_few_requests_counts_for_nobody():
    rounds = rounds_of(*[(1000, 1100)] * 10)
    rounds += rounds_of(*[(1000, 90_000)] * 10, n=4)
    assert compare(rounds, 1).n_rounds == 10


def test_only_the_quieter_half_counts_of_many():
    quiet = rounds_of(*[(1000, 1100)] * 20, own_us=10)
    busy = rounds_of(*[(1000, 5000)] * 20, own_us=900)
    comparison = compare(quiet + busy, 1)
    assert comparison.p50.ratio == pytest.approx(1.1)
    assert comparison.halves["load"][1].ratio == pytest.approx(5)


def test_a_typical_request_has_the_parts_of_the_middle_round_of_the_quieter_half():
    usual = {"connect": 200, "wait": 800}
    quiet = rounds_of(*[(1000, 1100)] * 9, own_us=10, parts_us=usual)
    quiet += rounds_of((1000, 1100), own_us=10, parts_us={"wait": 9000})  # the target stood still
    busy = rounds_of(*[(1000, 5000)] * 10, own_us=900, parts_us={"wait": 5000})
    assert typical_parts_us([*quiet, *busy], 0) == usual
    assert typical_parts_us([*quiet, *rounds_of((1000, 1100), own_us=10)], 1) is None


def test_a_round_that_was_not_timed_counts_with_the_injectors_part_of_both():
    usual = rounds_of(*[(1000, 1100)] * 19)[0].arms
    odd = ArmRound(20, p50_us=2000.0, mean_us=2000.0), arm_round(1000, own_us=1200)
    rounds = [ArmsRound(n, 0, (0, 1), usual) for n in range(19)]
    comparison = compare([*rounds, ArmsRound(19, 0, (0, 1), odd)], 1)
    assert comparison.p50.ratio == pytest.approx(1.1)
    assert comparison.n_rounds == 20


def test_any_arm_may_be_the_reference():
    arms = (arm_round(1000), arm_round(1000), arm_round(2000))
    rounds = [ArmsRound(number, 0, (0, 1, 2), arms) for number in range(20)]
    assert compare(rounds, 2).p50.ratio == pytest.approx(2)
    assert compare(rounds, 0, reference=2).word == Word.FASTER
    assert compare(rounds, 1).word == Word.SAME


@pytest.mark.parametrize("number", [0, 1])
def test_failures_of_either_arm_widen_the_interval_on_both_sides(number):
    plain = rounds_of(*[(1000, 1200)] * 20)
    arms = list(plain[0].arms)
    middle_us = arms[number].p50_undelayed_us
    bounds_us = 0.9 * middle_us, 1.2 * middle_us
    arms[number] = replace(arms[number], failed=1, p50_bounds_us=bounds_us)
    p50 = compare([*plain[:2], *(ArmsRound(n, 0, (0, 1), arms) for n in range(18))], 1).p50
    ends = sorted(1.2 * share ** (1 if number else -1) for share in (0.9, 1.2))
    assert (p50.low, p50.high) == pytest.approx(ends)


def test_an_arm_that_fails_too_often_is_not_compared():
    rounds = rounds_of(*[(1000, 200)] * 20)
    rounds = [ArmsRound(0, 0, (0, 1), (e.arms[0], arm_round(200, failed=5))) for e in rounds]
    comparison = compare(rounds, 1)
    assert (comparison.word, comparison.failing, comparison.is_settled) == (None, [1], True)


def test_at_least_is_said_only_where_what_was_added_is_more_alike():
    alike = compare(rounds_of(*[(1000, 1500 + n) for n in range(20)]), 1)
    assert alike.at_least
    arms = arm_round(1000, own_us=100), arm_round(1500, own_us=400)
    assert not compare([ArmsRound(n, 0, (0, 1), arms) for n in range(20)], 1).at_least


def test_an_arm_that_does_not_keep_up_has_a_direction_and_no_size():
    arms = arm_round(1000), arm_round(9000, spilled=6)
    comparison = compare([ArmsRound(n, 0, (0, 1), arms) for n in range(20)], 1)
    assert (comparison.word, comparison.behind, comparison.at_least) == (Word.SLOWER, [1], False)


def test_an_arm_keeps_up_though_the_machine_stood_still_in_most_turns():
    calm = [arm_round(1000, 100.0 + n) for n in range(12)]
    stalls = [arm_round(2000, 90_000.0 + n, spilled=20) for n in range(18)]
    turns = [*stalls, *calm]
    assert spilled_share(turns) == 0
    behind = [replace(each, spilled=20) for each in turns]
    assert spilled_share(behind) == 1


def test_work_that_grows_within_turns_is_a_queue():
    growing = arm_round(1000, second_quarter_us=900.0, last_quarter_us=1300.0)
    steady = arm_round(1000, second_quarter_us=1000.0, last_quarter_us=1050.0)
    rounds = [ArmsRound(n, 0, (0, 1), (growing, steady)) for n in range(12)]
    assert keeps_behind(rounds, 0)
    assert not keeps_behind(rounds, 1)


def test_pauses_that_hide_a_queue_make_growth_more_likely_than_not_enough():
    quarters = {"second_quarter_us": 1000.0, "last_quarter_us": 1300.0}
    steady = {"second_quarter_us": 1000.0, "last_quarter_us": 1000.0}
    bare = [arm_round(1000, **(quarters if n % 2 else steady)) for n in range(30)]
    few = [arm_round(1000, in_pause=4, **(quarters if n % 2 else steady)) for n in range(30)]
    slow = [arm_round(1000, in_pause=12, **steady) for _ in range(30)]
    assert [builds_up(turns) for turns in (bare, few, slow)] == [False, True, False]
    rounds = [ArmsRound(n, 0, (0, 1), (arm_round(1000), arm_round(2000, in_pause=12)))
              for n in range(20)]  # fmt: skip
    assert not compare(rounds, 1).at_least


def test_a_ratio_that_changed_midway_is_told_and_not_settled():
    comparison = compare(rounds_of(*[(1000, 1200 + n) for n in range(18)],
                              *[(1000, 2000 + n) for n in range(18)]), 1)  # fmt: skip
    first, second = comparison.halves["time"]
    assert first.high < second.low
    assert not comparison.is_settled


def test_what_is_open_says_how_long_it_would_take():
    p50 = RatioInterval(1.0, 0.9, 1 / 0.9, 50, 0.99)
    wide = ArmComparison(1, 0, Word.OPEN, p50, n_rounds=50)
    seconds = wide.seconds_left(10)
    assert 30 < seconds < 40, "half the width of 10.5 % must become 5 %: 4.7 times the rounds"
    assert wide.seconds_left(20) == pytest.approx(2 * seconds)


def test_a_look_takes_16_rounds_however_far_apart_few_are():
    comparison = compare(rounds_of(*[(1000, 2000 + n) for n in range(4)]), 1)
    assert comparison.word == Word.OPEN
    assert comparison.seconds_left(10) == 30


def test_a_stall_widens_the_mean_and_not_the_median():
    rounds = rounds_of(*[(1000 + n, 1000 - n) for n in range(-15, 16)])
    stall = arm_round(1000, mean_us=300_000.0)
    comparison = compare([*rounds, ArmsRound(40, 0, (0, 1), (stall, arm_round(1000)))], 1)
    assert comparison.p50.half_width < 0.05
    assert comparison.mean.half_width > 0.5
    assert ratio_of_sums([1.0, 3.0], [2.0, 6.0], 0.99).ratio == 2


def test_high_percentiles_pool_seconds_until_some_requests_lie_beyond():
    rng = np.random.default_rng(29)
    pairs = [
        (Timing.of(rng.exponential(1000, 100)), Timing.of(rng.exponential(1500, 100)))
        for _ in range(60)
    ]
    p90, p99 = (percentile_ratio(pairs, rank) for rank in (90_000, 99_000))
    assert (p90.k, p99.k) == (60, 12)
    for ratio in (p90, p99):
        assert ratio.low <= 1.5 <= ratio.high
    # The arm with fewer of them decides.
    halves = [(before, Timing.of(rng.exponential(1500, 50))) for before, _ in pairs]
    for few in (percentile_ratio(pairs[:30], 99_000), percentile_ratio(halves, 99_000)):
        assert (few.k, few.confidence) == (6, 0.95)
    assert percentile_ratio(pairs[:20], 99_000) is None


def test_looks_come_after_these_rounds():
    assert [next_look(n) for n in (0, 16, 17, 399, 400)] == [16, 24, 24, 400, None]


def test_rounds_travel_as_json():
    more = {"p50_bounds_us": (1.0, 2.0), "parts_us": {"wait": 1000.0}}
    arms_round = rounds_of((1000, 1100), own_us=1.5, **more)[0]
    assert ArmsRound.from_json(arms_round.to_json()) == arms_round


def shards_of(rng, n, n_shards, noise, factor=1.0):
    """What each shard saw in the same turns of a noisy machine, each at its own distance."""
    slots, first = noise(rng, n).reshape(n, 2), rng.integers(0, 2, n)
    rounds = []
    for shard in range(n_shards):
        for k in range(n):
            own = 0.02 * rng.standard_normal(2)
            a, b = slots[k, first[k]] + own[0], slots[k, 1 - first[k]] + own[1]
            us = 3000 * (1 + shard)
            arms = arm_round(us * exp(a)), arm_round(us * factor * exp(b))
            rounds.append(ArmsRound(k, 200_000 * k, (int(first[k]), 1 - int(first[k])), arms))
    return rounds


@pytest.mark.long
def test_rounds_of_several_shards_are_as_exact_as_of_one():
    """The noise is the same for all of them, so more shards are no more rounds."""
    rng, n_wrong = np.random.default_rng(5), 0
    for _ in range(300):
        rounds = of_all_shards(shards_of(rng, 20, 3, bursts), 3)
        ratio = compare(rounds, 1).p50
        n_wrong += not ratio.low <= 1 <= ratio.high
    assert n_wrong <= 9, "of 300 at 99 %"
    slower = compare(of_all_shards(shards_of(rng, 40, 3, white, factor=1.3), 3), 1)
    assert slower.word == Word.SLOWER
    assert slower.p50.low <= 1.3 <= slower.p50.high


def test_only_rounds_that_all_shards_have_in_the_same_order_count():
    rng = np.random.default_rng(6)
    rounds = shards_of(rng, 5, 2, white)
    del rounds[7]
    other = replace(rounds[1], order=rounds[1].order[::-1])
    assert [each.number for each in of_all_shards([*rounds[:1], other, *rounds[2:]], 2)] == [
        0,
        3,
        4,
    ]


def test_what_one_shard_lacks_is_not_known_of_all():
    whole = arm_round(1000, failed=1, p50_bounds_us=(900.0, 1300.0), parts_us={"wait": 1000})
    for other, p50_us, bounds_us in [
        (
            arm_round(4000, parts_us={"wait": 4000, "tls": 1000}),
            2000,
            (pytest.approx(900**0.5 * 4000**0.5), pytest.approx((1300 * 4000) ** 0.5)),
        ),
        (ArmRound(0, failed=20), None, None),
    ]:
        shards = [ArmsRound(0, 7, (0,), (each,)) for each in (whole, other)]
        [together] = of_all_shards(shards, 2)
        [arm] = together.arms
        assert (arm.n, arm.failed) == (whole.n + other.n, 1 + other.failed)
        assert arm.p50_undelayed_us == (p50_us and pytest.approx(p50_us))
        assert arm.p50_bounds_us == bounds_us
        assert arm.parts_us == ({"wait": 2500, "tls": 500} if other.n else {"wait": 1000})
