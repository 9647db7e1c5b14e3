"""Every kind of failure has words and a remedy."""

import pytest

from campaigns.domain.measured.failures import DROPPED
from campaigns.domain.measured.outcomes import Kind
from campaigns.domain.shown.remedies import FALLBACK, remedy, words_of


@pytest.mark.parametrize("kind", [*Kind, DROPPED])
def test_each_kind_of_failure_says_what_to_do(kind):
    needs_status = {Kind.STATUS_UNEXPECTED}
    assert (remedy(kind) == FALLBACK) == (kind in needs_status)


def test_a_kind_that_nobody_knows_is_still_words():
    assert remedy("made_up") == FALLBACK
    assert words_of("made_up") == "made up"
    assert words_of("reset") == "connection reset"
