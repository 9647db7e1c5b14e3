"""Every error kind has words; those that a person can mend say how."""

from campaigns.domain.measured.outcomes import Kind
from campaigns.domain.shown.remedies import FALLBACK, remedy, words_of


def test_a_kind_that_can_be_mended_says_how():
    assert "BENCHSITE_ALLOWED_NETWORKS" in remedy(Kind.ADDRESS_REFUSED)
    assert remedy("status_unexpected") == FALLBACK


def test_a_kind_that_nobody_knows_is_still_words():
    assert remedy("made_up") == FALLBACK
    assert words_of("made_up") == "made up"
    assert words_of("reset") == "connection reset"
