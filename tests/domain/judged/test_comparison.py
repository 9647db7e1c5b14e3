import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.judged.comparison import Reason, Word, holm, ratio_interval, verdict

A = [100, 102, 98, 101, 99]
B = [110, 113, 108, 111, 109]
MS = 1000


def word(baseline, candidate, threshold=0.05, paired=True, **options):
    baseline = [value * MS for value in baseline]
    candidate = [value * MS for value in candidate]
    return verdict(ratio_interval(baseline, candidate, paired=paired), threshold, **options)


def test_the_unpaired_interval_is_the_golden_one():
    found = ratio_interval(A, B, paired=False)
    assert found.ratio == pytest.approx(1.102)
    assert found.se == pytest.approx(0.010533, abs=5e-7)
    assert found.df == pytest.approx(7.9230, abs=5e-5)
    assert (found.low, found.high) == pytest.approx((1.075513, 1.129140), abs=5e-7)


def test_the_paired_interval_is_the_golden_one():
    found = ratio_interval(A, B, paired=True)
    assert (found.low, found.high) == pytest.approx((1.097636, 1.106381), abs=5e-7)


def test_the_share_s_interval_follows_from_the_ratio_s():
    found = ratio_interval(A, B, paired=False)
    shares = [100 * (1 - 1 / ratio) for ratio in (found.ratio, found.low, found.high)]
    assert shares == pytest.approx([9.2559, 7.0211, 11.4370], abs=5e-5)


@pytest.mark.parametrize(
    ("apache", "uniserve", "low", "high"),
    [
        ([3, 3, 2, 2, 3], [3.566, 3.57, 3.5583, 3.48, 3.458], 1.0095, 1.8223),
        ([12, 13, 12, 12, 12], [17.428, 17.467, 17.493, 17.468, 17.484], 1.3563, 1.5115),
        ([2] * 5, [3.51, 3.527, 3.518, 3.498, 3.506], 1.4678, 2.1005),
    ],
)
def test_a_coarse_clock_widens_the_interval(apache, uniserve, low, high):
    found = ratio_interval(apache, uniserve, paired=False, resolutions=(1, 0))
    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-5)


def test_no_spread_at_all_is_widened_to_the_resolution():
    found = ratio_interval([100] * 3, [100] * 3, paired=True, resolutions=(1, 1))
    assert found.low < 1 < found.high


def test_equal_values_without_a_resolution_have_no_width():
    found = ratio_interval([100] * 3, [100] * 3, paired=False)
    assert (found.low, found.high, found.p_value) == (1, 1, 1)


def test_slower_and_faster_and_no_practical_difference():
    assert word(A, B).word is Word.SLOWER
    assert word(B, A).word is Word.FASTER
    assert word(A, [value * 1.01 for value in A]).word is Word.SAME


def test_two_repeats_are_never_enough():
    found = word([100, 100], [200, 200])
    assert (found.word, found.reason) == (Word.INCONCLUSIVE, Reason.TOO_FEW_REPEATS)
    assert "2 can be used" in found.text
    assert verdict(None, 0.05).reason is Reason.TOO_FEW_REPEATS


def test_a_wide_interval_is_inconclusive_and_says_what_would_settle_it():
    found = word([100, 120, 90], [110, 100, 130], paired=False)
    assert found.reason is Reason.CI_TOO_WIDE
    assert "needs about" in found.text


def test_a_certain_direction_of_uncertain_size_is_inconclusive():
    found = word([100, 101, 99, 100, 100], [104, 105, 103, 104, 104.5])
    assert found.reason in {None, Reason.SIZE_UNCERTAIN}
    found = word([100, 101, 99, 100, 100], [104.5, 105.6, 103.4, 106, 103], paired=False)
    assert found.reason is Reason.SIZE_UNCERTAIN


def test_a_difference_below_the_floor_is_no_word():
    baseline, candidate = [0.5, 0.51, 0.49], [0.6, 0.61, 0.59]
    assert word(baseline, candidate).reason is Reason.RESOLUTION
    assert word(baseline, candidate, floor=50).word is Word.SLOWER


def test_what_speaks_against_the_comparison_wins_over_the_figures():
    found = word(A, B, blockers=[(Reason.ERRORS, "Too many failed.")])
    assert (found.word, found.reason, found.text) == (
        Word.INCONCLUSIVE,
        Reason.ERRORS,
        "Too many failed.",
    )


def test_an_arm_without_time_has_no_ratio():
    assert ratio_interval([0, 0, 0], [1, 2, 3], paired=False) is None
    assert ratio_interval([1], [1, 2], paired=False) is None


def test_holm_corrects_for_the_number_of_looks():
    assert holm([0.001, 0.02, 0.03, 0.2]) == pytest.approx([0.004, 0.06, 0.06, 0.2])
    assert holm([0.2, 0.001, 0.03, 0.02]) == pytest.approx([0.2, 0.004, 0.06, 0.06])
    assert holm([]) == []


runs = st.lists(st.floats(1, 1e6), min_size=3, max_size=8)


@given(runs, runs, st.randoms())
def test_the_order_of_unpaired_runs_does_not_matter(baseline, candidate, random):
    shuffled = random.sample(baseline, len(baseline))
    first = ratio_interval(baseline, candidate, paired=False)
    assert ratio_interval(shuffled, candidate, paired=False) == first


@given(
    st.lists(st.tuples(st.floats(1, 1e6), st.floats(1, 1e6)), min_size=3, max_size=8), st.randoms()
)
def test_the_order_of_the_blocks_does_not_matter(blocks, random):
    def interval(pairs):
        return ratio_interval([a for a, _ in pairs], [b for _, b in pairs], paired=True)

    assert interval(random.sample(blocks, len(blocks))) == interval(blocks)


@given(runs, runs)
def test_exchanging_the_arms_inverts_the_ratio(baseline, candidate):
    there = ratio_interval(baseline, candidate, paired=False)
    back = ratio_interval(candidate, baseline, paired=False)
    assert back.ratio == pytest.approx(1 / there.ratio)
    if there.se:
        assert back.low == pytest.approx(1 / there.high)
