"""What a history says in words: of its changes, its baselines, and of one run's course."""

from dataclasses import replace

from campaigns.domain.analysis.changes import Steadiness
from campaigns.domain.analysis.observations import trend_words
from campaigns.domain.analysis.ratio import Against, Word
from campaigns.domain.presentation.compared_words import baseline_sentence
from campaigns.domain.presentation.history_words import (
    HistoryStatus,
    change_words,
    evidence,
    history_sentence,
    overview_sentence,
    standing_of,
)
from campaigns.domain.presentation.sentences import plain_text
from tests.domain.analysis.test_histories import SLOWER, TestHistory, history

CALM = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 100.0, 101.0]


def sentence(nights: TestHistory) -> str:
    return plain_text(history_sentence(nights, "p95")).replace("\u202f", " ")


def test_how_the_newest_campaign_stands():
    for values, standing in [
        (SLOWER, HistoryStatus.SLOWER),
        ([1e4 / each for each in SLOWER], HistoryStatus.FASTER),
        (CALM, HistoryStatus.UNCHANGED),
        ([*CALM, 130.0], HistoryStatus.OUTLIER),
        (CALM[:4], HistoryStatus.NEW),
        ([*CALM, None], HistoryStatus.UNCOUNTED),
        ([], HistoryStatus.UNCOUNTED),
    ]:
        assert standing_of(history(values)) is standing


def test_the_level_of_a_test_whose_newest_campaign_is_odd_is_not_that_campaigns_value():
    words = sentence(history([*CALM, 130.0]))
    assert "p95 0.100 ms" in words
    assert "outlier: 0.130 ms" in words


def test_the_newest_value_is_not_told_as_the_level_where_too_few_make_one():
    assert "0.140 ms in the newest" in sentence(history([100.0, 101.0, 99.0, 100.0, 140.0]))


def test_a_change_with_a_cause_has_moved():
    assert standing_of(history(plan_version=2)) is HistoryStatus.MOVED
    assert "0.110 instead of 0.100 ms" in sentence(history(plan_version=2))


def test_a_change_says_between_which_campaigns_it_began():
    nights = history()
    words = plain_text(change_words(nights, nights.last_change))
    assert words.endswith("between campaigns #5 (6 Nov 2026) and #6 (7 Nov 2026).")


def test_the_interval_of_a_change_never_looks_like_a_point():
    assert sentence(history([*[26.0, 26.1] * 15, *[28.6, 28.7] * 15])).startswith(
        "Slower by 10.0 % [9.9, 10.1] since"
    )


def test_evidence_is_a_p_value_and_never_zero():
    change = history().last_change
    assert evidence(change) == "p < 0.0001"


def test_an_overview_counts_what_moved():
    counts = {HistoryStatus.SLOWER: 2, HistoryStatus.OUTLIER: 1, HistoryStatus.UNCHANGED: 4}
    assert plain_text(overview_sentence(counts)) == "2 slower, 1 outlier of 7 tests; 4 unchanged."
    overview = overview_sentence({HistoryStatus.MOVED: 3}, moved={Word.SLOWER: 2, Word.FASTER: 1})
    assert "(1 faster, 2 slower) of 3" in plain_text(overview)


SLOWER_THAN_BEFORE = Against("release 1.4", "p95", "slower", "", 1.12, 1.09, 1.15)
FASTER = Against("release 1.4", "p95", "faster", "", 0.88, 0.85, 0.91)
SAME = Against("release 1.4", "mean", "no practical difference", "", 1.01, 0.99, 1.03)
NO_WORD = Against("release 1.4", "p95", "", "A verdict needs 3 finished repeats of both; 2 …")


def said_of(*tests: Against) -> str:
    pairs = [(f"plan {number}, HTTP new", against) for number, against in enumerate(tests)]
    return plain_text(baseline_sentence(pairs)).replace("\u202f", " ")


def test_several_tests_are_counted_and_the_worst_is_named():
    worse = Against("release 1.4", "p95", "slower", "", 1.3, 1.2, 1.4)
    words = said_of(SLOWER_THAN_BEFORE, worse, FASTER, SAME, NO_WORD)
    assert "2 slower, 1 faster, 1 no practical difference, 1 without a verdict of 5 tests" in words
    assert "worst: plan 1, HTTP new, p95 30 % slower [20, 40]" in words


def test_where_the_reference_moved_as_well_it_is_the_environment():
    pairs = [replace(each, reference="moved") for each in (SLOWER_THAN_BEFORE, FASTER, SAME)]
    words = said_of(pairs[0])
    assert "12 % slower than baseline “release 1.4” (9.0 to 15 %, p95), due to the" in words
    assert "unless" not in said_of(replace(SLOWER_THAN_BEFORE, reference="unmoved"))
    assert "2 environment, 1 no practical difference of 3 tests" in said_of(*pairs)


def test_a_run_that_came_to_rest_late_says_how_much_its_times_changed():
    for ratio, is_over, change in [(0.8, True, "25.0 % higher"), (2.0, False, "50.0 % lower")]:
        words = trend_words(Steadiness(0.5, 30, ratio), 0, 30, is_over=is_over)
        assert change in words.replace("\u202f", " ")
