"""What a history says in words."""

import pytest

from campaigns.domain.judged.words import Word
from campaigns.domain.shown.history_words import (
    HistoryStatus,
    change_words,
    evidence,
    history_sentence,
    overview_sentence,
    standing_of,
)
from campaigns.domain.shown.sentences import plain_text
from tests.domain.judged.test_histories import SLOWER, TestHistory, history, point

CALM = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 100.0, 101.0]


def said(found: TestHistory) -> str:
    return plain_text(history_sentence(found, "p95")).replace("\u202f", " ")


@pytest.mark.parametrize(
    ("values", "standing"),
    [
        (SLOWER, HistoryStatus.SLOWER),
        ([1e4 / each for each in SLOWER], HistoryStatus.FASTER),
        (CALM, HistoryStatus.UNCHANGED),
        ([*CALM, 130.0], HistoryStatus.ODD),
        (CALM[:4], HistoryStatus.NEW),
        ([*CALM, None], HistoryStatus.UNCOUNTED),
        ([], HistoryStatus.UNCOUNTED),
    ],
)
def test_how_the_newest_campaign_stands(values, standing):
    assert standing_of(history(values)) is standing


def test_the_level_of_a_test_whose_newest_campaign_is_odd_is_not_that_campaigns_value():
    words = said(history([*CALM, 130.0]))
    assert words.startswith("Unchanged over 9 campaigns since 1 Nov 2026: p95 0.100 ms.")
    assert "The newest campaign is odd: 0.130 ms, where " in words


def test_the_newest_value_is_not_told_as_the_level_where_too_few_make_one():
    assert said(history([100.0, 101.0, 99.0, 100.0, 140.0])) == (
        "Unchanged over 5 campaigns since 1 Nov 2026; p95 0.140 ms in the newest."
    )


def test_a_newest_campaign_outside_a_narrow_range_is_not_said_to_be_as_expected():
    """3 % above a level that hardly varies: too little to be odd."""
    steady = [10_000.0, 10_010, 9_990, 10_000, 10_010, 9_990, 10_000]
    assert said(history([*steady, 10_300.0])).endswith(
        " The newest campaign, 10.3 ms, is outside what was expected (10.0 to 10.0 ms), but too "
        "close to the level to be odd."
    )
    assert "is as expected (10.0 to 10.0 ms)." in said(history([*steady, 10_035.0]))


def test_a_change_with_a_cause_has_moved():
    assert standing_of(history(plan_version=2)) is HistoryStatus.MOVED
    words = said(history(plan_version=2))
    assert words.startswith("Moved: slower by 10")
    assert " since version 2 of the plan (7 Nov 2026): 0.110 instead of 0.100 ms" in words
    assert "the target may not be the cause" in words


def test_a_change_says_between_which_campaigns_it_began():
    found = history()
    words = plain_text(change_words(found, found.last_change))
    assert words.endswith("between campaigns #5 (6 Nov 2026) and #6 (7 Nov 2026).")


def test_the_interval_of_a_change_never_looks_like_a_point():
    assert said(history([*[26.0, 26.1] * 15, *[28.6, 28.7] * 15])).startswith(
        "Slower by 10.0 % [9.9, 10.1] since"
    )


def test_an_overview_without_a_level_claims_no_calm():
    assert plain_text(overview_sentence({HistoryStatus.UNCOUNTED: 2})) == (
        "No test's newest campaign counts: their measurements were not usable, their targets "
        "overloaded or failing, or too few of their requests succeeded for this figure."
    )
    few = overview_sentence({HistoryStatus.NEW: 1, HistoryStatus.UNCOUNTED: 1})
    assert plain_text(few) == (
        "Nothing to report yet for 2 tests: a test has a level with 5 campaigns that count."
    )


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"trust": "not_usable"}, "its measurements are not usable"),
        ({"target_state": "overloaded"}, "the target was overloaded"),
        ({}, "too few requests succeeded"),
    ],
)
def test_a_campaign_that_does_not_count_says_why(fields, why):
    assert why in said(TestHistory([point(0, None, **fields)]))


def test_nothing_yet_is_said():
    assert said(TestHistory([])) == "No campaign of this test has ended yet."


def test_evidence_is_a_p_value_and_never_zero():
    change = history().last_change
    assert evidence(change) == "p < 0.0001"


def test_an_overview_counts_what_moved():
    counts = {HistoryStatus.SLOWER: 2, HistoryStatus.ODD: 1, HistoryStatus.UNCHANGED: 4}
    assert plain_text(overview_sentence(counts)) == "2 slower, 1 odd of 7 tests; 4 unchanged."
    assert (
        plain_text(overview_sentence({HistoryStatus.UNCHANGED: 3}))
        == "No change in any of 3 tests."
    )
    assert plain_text(overview_sentence({HistoryStatus.UNCHANGED: 1})) == "No change in 1 test."
    mixed = {HistoryStatus.UNCHANGED: 3, HistoryStatus.NEW: 2, HistoryStatus.UNCOUNTED: 1}
    assert plain_text(overview_sentence(mixed)) == (
        "No change in any of 3 tests; 2 new; 1 not counted."
    )
    moved = overview_sentence({HistoryStatus.MOVED: 3}, moved={Word.SLOWER: 2, Word.FASTER: 1})
    assert "3 moved with plan or environment (1 faster, 2 slower) of 3" in plain_text(moved)
    assert plain_text(overview_sentence({})) == "No campaign ended in this period."
