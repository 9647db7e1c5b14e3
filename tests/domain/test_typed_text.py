"""What somebody typed is kept as it was, but for what cannot be stored."""

import pytest

from campaigns.domain.typed_text import clean_name, storable


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("  Rolled back.\r\n", "Rolled back."),
        ("first\nsecond", "first\nsecond"),
        ("naïve 😀", "naïve 😀"),
        ("a\0b\0", "ab"),
        (" \0 ", ""),
    ],
)
def test_only_nul_and_space_around_it_are_left_out(typed, kept):
    assert storable(typed) == kept


@pytest.mark.parametrize("typed", ["caf\u00e9", "cafe\u0301", " cafe\u0301\n"])
def test_a_name_has_one_spelling(typed):
    assert clean_name(typed) == "caf\u00e9"


def test_a_name_has_one_blank_between_words():
    assert clean_name("checkout,  small\n\tbody\u00a0") == "checkout, small body"
