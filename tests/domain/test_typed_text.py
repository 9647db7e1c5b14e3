"""What somebody typed is kept as it was, but for what cannot be stored."""

import pytest

from campaigns.domain.typed_text import (
    LONGEST_NAME,
    JsonReader,
    clean_name,
    clean_tags,
    next_name,
    per_second_in,
    seconds_in,
    storable,
)


def test_only_nul_and_space_around_it_are_left_out():
    for text, result in [
        ("  Rolled back.\r\n", "Rolled back."),
        ("first\nsecond", "first\nsecond"),
        ("naïve 😀", "naïve 😀"),
        ("a\0b\0", "ab"),
        (" \0 ", ""),
    ]:
        assert storable(text) == result


def test_a_name_has_one_spelling():
    for text in ["caf\u00e9", "cafe\u0301", " cafe\u0301\n"]:
        assert clean_name(text) == "caf\u00e9"


def test_a_name_has_one_blank_between_words():
    assert clean_name("checkout,  small\n\tbody\u00a0") == "checkout, small body"


def test_a_name_has_nothing_that_no_page_shows():
    for invisible in [
        "\u200b",
        "\u00ad",
        "\u202e",
        "\u2066",
        "\u2069",
        "\ufeff",
        "\u200d",
        "\ufe0f",
        "\u3164",
        "\x07",
        "\x1b",
        "\x7f",
        "\u034f",
        "\U000e0041",
        "\ufe0f\u200d",
    ]:
        assert (
            clean_name(f"{invisible}check{invisible}out {invisible} v2{invisible}") == "checkout v2"
        )
        assert clean_name(invisible) == ""


def test_what_joins_signs_stays_where_they_look_different_without_it():
    for name in [
        "\U0001f469\u200d\U0001f4bb",  # a woman at a computer, which is two emoji joined
        "\U0001f469\U0001f3fd\u200d\U0001f52c",
        "\u2764\ufe0f\u200d\U0001f525",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian: two parts of one word
        "\u0915\u094d\u200d\u0937",
    ]:
        assert clean_name(name) == name


def test_an_accent_finds_its_letter_past_what_is_invisible():
    assert clean_name("cafe\u200b\u0301") == "caf\u00e9"


def test_a_tag_is_the_same_however_its_letters_are_typed():
    one_sign, two_signs = "caf\u00e9", "Cafe\u0301"
    assert clean_tags([one_sign, two_signs, " CAF\u00c9 "]) == [one_sign]


def test_what_no_float_can_hold_is_no_number():
    for value in [float("inf"), float("-inf"), float("nan"), 10**400, -(10**400)]:
        for whole in [True, False]:
            reader = JsonReader({"n": value})
            assert reader.number("n", 5, low=1, high=10, whole=whole) == 5
            assert reader.errors.keys() == {"n"}


def test_a_duration_may_have_a_unit():
    for text, seconds in [
        ("500ms", 0.5),
        ("2s", 2),
        ("1.5 min", 90),
        ("3m", 180),
        ("2h", 7200),
        ("7", 7),
        (" 1H ", 3600),
        ("5\u202fsec", 5),
    ]:
        assert seconds_in(text) == seconds


def test_a_rate_may_have_a_unit():
    for text, rate in [
        ("10/s", 10),
        ("1/min", 1 / 60),
        ("36 /h", 0.01),
        ("30 / min", 0.5),
        ("4", 4),
    ]:
        assert per_second_in(text) == rate


def test_another_unit_is_refused_with_those_that_there_are():
    for read, text in [(seconds_in, "2x"), (seconds_in, "1/s"), (per_second_in, "5s")]:
        with pytest.raises(ValueError, match="or such as"):
            read(text)


def test_the_first_free_number_follows_the_name():
    for name, names, again in [
        ("Nightly", {"Nightly"}, "Nightly (2)"),
        ("Nightly (2)", {"Nightly", "Nightly (2)"}, "Nightly (3)"),
        ("Nightly", {"Nightly (2)", "Nightly (3)"}, "Nightly (4)"),
        ("Release (4.21)", set(), "Release (4.21) (2)"),
    ]:
        assert next_name(name, names) == again


def test_a_long_name_stays_within_the_limit():
    again = next_name("x" * LONGEST_NAME, set())
    assert len(again) == LONGEST_NAME
    assert again.endswith(" (2)")
