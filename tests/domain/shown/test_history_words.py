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
from tests.domain.judged.test_histories import SLOWER, TestHistory, history

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
    assert "p95 0.100 ms" in words
    assert "odd: 0.130 ms" in words


def test_the_newest_value_is_not_told_as_the_level_where_too_few_make_one():
    assert "0.140 ms in the newest" in said(history([100.0, 101.0, 99.0, 100.0, 140.0]))


def test_a_change_with_a_cause_has_moved():
    assert standing_of(history(plan_version=2)) is HistoryStatus.MOVED
    assert "0.110 instead of 0.100 ms" in said(history(plan_version=2))


def test_a_change_says_between_which_campaigns_it_began():
    found = history()
    words = plain_text(change_words(found, found.last_change))
    assert words.endswith("between campaigns #5 (6 Nov 2026) and #6 (7 Nov 2026).")


def test_the_interval_of_a_change_never_looks_like_a_point():
    assert said(history([*[26.0, 26.1] * 15, *[28.6, 28.7] * 15])).startswith(
        "Slower by 10.0 % [9.9, 10.1] since"
    )


def test_evidence_is_a_p_value_and_never_zero():
    change = history().last_change
    assert evidence(change) == "p < 0.0001"


def test_an_overview_counts_what_moved():
    counts = {HistoryStatus.SLOWER: 2, HistoryStatus.ODD: 1, HistoryStatus.UNCHANGED: 4}
    assert plain_text(overview_sentence(counts)) == "2 slower, 1 odd of 7 tests; 4 unchanged."
    moved = overview_sentence({HistoryStatus.MOVED: 3}, moved={Word.SLOWER: 2, Word.FASTER: 1})
    assert "(1 faster, 2 slower) of 3" in plain_text(moved)
