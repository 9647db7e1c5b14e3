"""Every error kind has words; those that a person can mend say how."""

import pytest

from campaigns.domain.measured.failures import DROPPED
from campaigns.domain.measured.outcomes import Kind
from campaigns.domain.shown.remedies import FALLBACK, remedy, words_of


def test_a_kind_that_can_be_mended_says_how():
    assert "BENCHSITE_ALLOWED_NETWORKS" in remedy(Kind.ADDRESS_REFUSED)
    assert remedy("status_unexpected") == FALLBACK


@pytest.mark.parametrize("kind", [*Kind, DROPPED])
def test_each_kind_of_failure_says_what_to_do(kind):
    needs_status = {Kind.STATUS_UNEXPECTED}
    assert (remedy(kind) == FALLBACK) == (kind in needs_status)


@pytest.mark.parametrize(
    ("status", "word"),
    [(302, "Location"), (401, "credentials"), (403, "forbids"), (404, "path"), (418, "refuses"),
     (429, "limits"), (500, "log"), (503, "overloaded"), (599, "log"), (700, "curl")],
)  # fmt: skip
def test_a_status_says_what_to_do_by_itself_or_by_its_class(status, word):
    assert word in remedy("status_unexpected", status)


def test_a_websocket_that_was_refused_is_told_by_its_status_as_well():
    assert "credentials" in remedy(Kind.WS_UPGRADE_REJECTED, 401)


def test_a_kind_that_nobody_knows_is_still_words():
    assert remedy("made_up") == FALLBACK
    assert words_of("made_up") == "made up"
    assert words_of("reset") == "connection reset"
