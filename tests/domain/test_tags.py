from campaigns.domain.tags import clean_tags


def test_a_tag_is_the_same_however_its_letters_are_typed():
    composed, decomposed = "caf\u00e9", "Cafe\u0301"
    assert clean_tags([composed, decomposed, " CAF\u00c9 "]) == [composed]
