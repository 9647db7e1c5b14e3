from campaigns.domain.tags import clean_tags, spellings_of


def test_a_tag_is_the_same_however_its_letters_are_typed():
    composed, decomposed = "caf\u00e9", "Cafe\u0301"
    assert clean_tags([composed, decomposed, " CAF\u00c9 "]) == [composed]


def test_a_tag_is_found_as_it_is_stored_now_and_was_before():
    assert spellings_of("Cafe\u0301") == ["Cafe\u0301", "caf\u00e9"]
    assert spellings_of("nightly") == ["nightly"]
