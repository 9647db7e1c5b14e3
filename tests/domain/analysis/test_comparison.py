import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from campaigns.domain.analysis.pair import PairResult, Reason, holm, shift_of
from campaigns.domain.analysis.ratio import Word, ratio_interval, word_of
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.percentiles import P50, P99

A = [100, 102, 98, 101, 99]
B = [110, 113, 108, 111, 109]
MS = 1000
STUDY = Path(__file__).parents[2] / "golden" / "uniserve_repeats.json"


def word(baseline, candidate, threshold=0.05, is_paired=True, **options):
    baseline = [value * MS for value in baseline]
    candidate = [value * MS for value in candidate]
    interval = ratio_interval(baseline, candidate, paired=is_paired)
    return pair_of(interval, threshold, **options)


def pair_of(interval, threshold=0.05, **options) -> PairResult:
    return PairResult("mean", interval=interval).judged(threshold, **options)


def test_slower_and_faster_and_no_practical_difference():
    assert word(A, B).word is Word.SLOWER
    assert word(B, A).word is Word.FASTER
    assert word(A, [value * 1.01 for value in A]).word is Word.SAME


def test_two_repeats_are_never_enough():
    pair = word([100, 100], [200, 200])
    assert (pair.word, pair.reason, pair.more) == (None, Reason.TOO_FEW_REPEATS, 1)

    assert pair_of(None).reason is Reason.TOO_FEW_REPEATS


def test_every_interval_has_a_word():
    for low, high, answer in [
        (1.06, 1.09, Word.SLOWER),
        (1.001, 1.09, Word.SLOWER),
        (0.91, 0.999, Word.FASTER),
        (0.96, 1.04, Word.SAME),
        (1.01, 1.04, Word.SAME),
        (0.80, 1.04, Word.NOT_SLOWER),
        (0.96, 1.30, Word.NOT_FASTER),
        (0.80, 1.30, Word.OPEN),
    ]:
        assert word_of(low, high, 0.05) is answer


def test_an_open_comparison_says_what_would_settle_it():
    few, enough, short = (ratio_interval(*wide_arms(k), paired=True) for k in (10, 22, 14))
    judgement = pair_of(few)
    assert (judgement.word, judgement.more) == (Word.OPEN, 9)
    assert pair_of(enough).word is Word.SAME
    assert pair_of(short).word is Word.OPEN


def wide_arms(k: int) -> tuple[list[float], list[float]]:
    """Equal arms whose runs vary by a tenth around the same centre."""
    off = [1.1, 1 / 1.1]
    return [1e5] * k, [1e5 * off[index % 2] for index in range(k)]


def test_a_difference_below_the_floor_is_no_practical_one():
    baseline, candidate = [0.05, 0.051, 0.049], [0.058, 0.059, 0.057]
    assert word(baseline, candidate).word is Word.SAME
    assert word(baseline, candidate, floor=5).word is Word.SLOWER


def test_what_speaks_against_the_comparison_wins_over_the_figures():
    pair = word(A, B, blockers=[(Reason.ERRORS, "Too many failed.")])
    assert (pair.word, pair.reason) == (None, Reason.ERRORS)


def test_campaigns_of_the_study_get_the_words_that_its_tables_support():
    """Its means are arithmetic, so ratios agree to the spread of the runs."""
    for baseline, candidate, ratio, answer in [
        ("P1.R1.uni.blade", "P2.R1.uni.ml370", 1.0958, "slower"),
        ("P1.R2.uni.blade", "P2.R2.uni.ml370", 1.1608, "slower"),
        ("P1.R3.uni.blade", "P2.R3.uni.ml370", 1.1823, "slower"),
        ("P1.R1.uni.blade", "P1.R3.uni.blade", 0.9958, "no practical difference"),
        ("P1.R1.uni.pc", "P1.R3.uni.pc", 1.0038, "too close to call"),
        ("P1.L3.uni.local", "P1.L1.uni.local", 1.1070, "too close to call"),
    ]:
        tables = {each["key"]: each["rows"] for each in json.loads(STUDY.read_text())["tables"]}
        sides = ([float(row[0]) * 1e6 for row in tables[key]] for key in (baseline, candidate))
        interval = ratio_interval(*sides, paired=False)
        assert interval.ratio == pytest.approx(ratio, rel=0.01)
        assert str(pair_of(interval).word) == answer


def test_holm_corrects_for_the_number_of_looks():
    assert holm([0.001, 0.02, 0.03, 0.2]) == pytest.approx([0.004, 0.06, 0.06, 0.2])
    assert holm([0.2, 0.001, 0.03, 0.02]) == pytest.approx([0.2, 0.004, 0.06, 0.06])
    assert holm([]) == []


def test_words_are_seldom_false_and_often_found():
    """A seeded part of `make benchmark ARGS=words`: 5 blocks, runs that vary by 3 %."""
    source = np.random.default_rng(9)

    def words(effect: float, stall: float = 1.0) -> Counter:
        counts = Counter()
        for _ in range(250):
            baseline, candidate = 20_000 * np.exp(source.normal(0, 0.03, (2, 5)))
            candidate *= effect
            candidate[source.integers(5)] *= stall
            interval = ratio_interval(list(baseline), list(candidate), paired=True)
            counts[word_of(interval.low, interval.high, 0.05)] += 1
        return counts

    same, hung, slower = words(1.0), words(1.0, stall=80), words(1.1)
    for equal in (same, hung):
        assert equal[Word.SLOWER] + equal[Word.FASTER] <= 0.05 * 250
    assert slower[Word.SLOWER] >= 0.9 * 250
    assert slower[Word.FASTER] == 0


RUNS = (1.0, 1.01, 0.99, 1.005)


def run(scale: float = 1.0, tail: float = 1.0, n: int = 2000) -> Timing:
    """Evenly spread responses of 1 to 2 ms, the slowest 4 % `tail` times as long."""
    values = [1000 + 1000 * index / n for index in range(n)]
    slow = round(n * 0.96)
    return Timing.of([round(scale * (v if i < slow else v * tail)) for i, v in enumerate(values)])


def side(scale: float = 1.0, tail: float = 1.0, runs=RUNS, n: int = 2000) -> list[Timing]:
    return [run(scale * each, tail, n) for each in runs]


def test_a_distribution_that_moves_as_a_whole_moves_at_every_percentile():
    points = shift_of(side(), side(1.1), paired=False)
    assert [each.ratio for each in points.values()] == pytest.approx([1.1] * len(points), rel=0.01)
    assert all(each.low > 1 for each in points.values())


def test_only_the_tail_may_move():
    points = shift_of(side(), side(tail=1.5), paired=False)
    assert points[P50].ratio == pytest.approx(1.0, abs=0.01)
    assert points[P99].ratio == pytest.approx(1.5, abs=0.02)
    assert points[P50].low < 1 < points[P50].high < points[P99].low


def test_a_percentile_takes_ten_responses_beyond_it_in_every_run():
    points = shift_of(side(n=2000), side(n=900), paired=False)
    assert [*points][-1] == 97_500


def test_fewer_than_three_runs_tell_nothing():
    for runs in [(), (1.0,), (1.0, 1.01)]:
        assert shift_of(side(), side(runs=runs), paired=False) == {}
