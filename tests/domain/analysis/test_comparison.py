import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from campaigns.domain.analysis.comparison import Reason, Word, holm, verdict, word_of
from campaigns.domain.analysis.ratio import ratio_interval

A = [100, 102, 98, 101, 99]
B = [110, 113, 108, 111, 109]
MS = 1000
STUDY = Path(__file__).parents[2] / "golden" / "uniserve_repeats.json"


def word(baseline, candidate, threshold=0.05, paired=True, **options):
    baseline = [value * MS for value in baseline]
    candidate = [value * MS for value in candidate]
    interval = ratio_interval(baseline, candidate, paired=paired)
    return verdict(interval, threshold, names=("HTTP", "HTTPS"), **options)


def test_slower_and_faster_and_no_practical_difference():
    assert word(A, B).word is Word.SLOWER
    assert word(B, A).word is Word.FASTER
    assert word(A, [value * 1.01 for value in A]).word is Word.SAME


def test_two_repeats_are_never_enough():
    found = word([100, 100], [200, 200])
    assert (found.word, found.reason) == (Word.INCONCLUSIVE, Reason.TOO_FEW_REPEATS)

    assert verdict(None, 0.05).reason is Reason.TOO_FEW_REPEATS


def test_a_wide_interval_is_inconclusive():
    found = word([100, 120, 90], [110, 100, 130], paired=False)
    assert found.reason is Reason.CI_TOO_WIDE


def test_the_run_that_hides_a_word_is_named_with_what_it_hides():
    found = word(A[:4], [110, 113, 108 * 64, 111])
    assert (found.word, found.reason) == (Word.INCONCLUSIVE, Reason.ONE_RUN_DECIDES)
    assert (found.decided_by.arm, found.decided_by.repeat) == (1, 3)
    assert "62 times" in found.text


def test_a_word_that_rests_on_one_flagged_run_is_none():
    """Without the fourth block the difference is below the threshold."""
    found = word([100] * 5, [102.8, 103, 103.2, 115, 103.1], threshold=0.04)
    without = word([100] * 4, [102.8, 103, 103.2, 103.1], threshold=0.04)
    assert without.word is Word.SAME
    assert (found.reason, found.decided_by.repeat) == (Reason.ONE_RUN_DECIDES, 4)


def test_five_repeats_have_a_word_beside_a_wild_one():
    assert word(A, [110, 113, 108 * 64, 111, 109]).word is Word.SLOWER


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
    assert (found.word, found.reason) == (Word.INCONCLUSIVE, Reason.ERRORS)


@pytest.mark.parametrize(
    ("baseline", "candidate", "ratio", "said"),
    [
        ("P1.R1.uni.blade", "P2.R1.uni.ml370", 1.0958, "slower"),
        ("P1.R2.uni.blade", "P2.R2.uni.ml370", 1.1608, "slower"),
        ("P1.R3.uni.blade", "P2.R3.uni.ml370", 1.1823, "slower"),
        ("P1.R1.uni.blade", "P1.R3.uni.blade", 0.9958, "no practical difference"),
        ("P1.R1.uni.pc", "P1.R3.uni.pc", 1.0038, "inconclusive"),
        ("P1.L3.uni.local", "P1.L1.uni.local", 1.1070, "inconclusive"),
    ],
)
def test_campaigns_of_the_study_get_the_words_that_its_tables_support(
    baseline, candidate, ratio, said
):
    """Its means are arithmetic, so ratios agree to the spread of the runs."""
    tables = {each["key"]: each["rows"] for each in json.loads(STUDY.read_text())["tables"]}
    sides = ([float(row[0]) * 1e6 for row in tables[key]] for key in (baseline, candidate))
    interval = ratio_interval(*sides, paired=False)
    assert interval.ratio == pytest.approx(ratio, rel=0.01)
    assert str(verdict(interval, 0.05).word) == said


def test_holm_corrects_for_the_number_of_looks():
    assert holm([0.001, 0.02, 0.03, 0.2]) == pytest.approx([0.004, 0.06, 0.06, 0.2])
    assert holm([0.2, 0.001, 0.03, 0.02]) == pytest.approx([0.2, 0.004, 0.06, 0.06])
    assert holm([]) == []


def test_words_are_seldom_false_and_often_found():
    """A seeded part of `make benchmark ARGS=words`: 5 blocks, runs that vary by 3 %."""
    source = np.random.default_rng(9)

    def said(effect: float, stall: float = 1.0) -> Counter:
        found = Counter()
        for _ in range(250):
            baseline, candidate = 20_000 * np.exp(source.normal(0, 0.03, (2, 5)))
            candidate *= effect
            candidate[source.integers(5)] *= stall
            interval = ratio_interval(list(baseline), list(candidate), paired=True)
            found[word_of(interval, 0.05)[0]] += 1
        return found

    same, hung, slower = said(1.0), said(1.0, stall=80), said(1.1)
    for equal in (same, hung):
        assert equal[Word.SLOWER] + equal[Word.FASTER] <= 0.05 * 250
    assert slower[Word.SLOWER] >= 0.9 * 250
    assert slower[Word.FASTER] == 0
