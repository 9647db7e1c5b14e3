"""A stapled OCSP reply in words."""

from datetime import UTC, datetime

import pytest

from campaigns.domain.shown.staple_words import staple_words

NOW = datetime(2026, 11, 23, tzinfo=UTC)
GOOD = {
    "status": "good",
    "this_update": "2026-11-20T00:00:00+00:00",
    "next_update": "2026-11-27T00:00:00+00:00",
    "is_of_it": True,
    "is_signed": True,
}


@pytest.mark.parametrize(
    ("facts", "words", "is_bad"),
    [
        (None, "none sent", False),
        (GOOD, "good, valid until 2026-11-27", False),
        (GOOD | {"status": "revoked"}, "revoked, valid until 2026-11-27", True),
        (GOOD | {"next_update": None}, "good", False),
        (
            GOOD | {"next_update": "2026-11-22T00:00:00+00:00"},
            "good, valid until 2026-11-22, but outdated",
            True,
        ),
        (
            GOOD | {"is_signed": False},
            "good, valid until 2026-11-27, but not signed by the issuer",
            True,
        ),
        (
            GOOD | {"is_of_it": False},
            "good, valid until 2026-11-27, but of another certificate",
            True,
        ),
        (
            GOOD | {"is_signed": None},
            "good, valid until 2026-11-27, signature not checked: the server did not send the "
            "issuer",
            False,
        ),
        ({"status": "try later"}, "try later", True),
        ({"status": "unreadable"}, "unreadable", True),
    ],
)
def test_it_says_what_the_reply_says_and_what_is_wrong_with_it(facts, words, is_bad):
    assert staple_words(facts, NOW) == (words, is_bad)
