import pytest

from campaigns.domain.errors import ChangedMeanwhile
from campaigns.domain.typed_text import check_unchanged, version_token

WAS = {"name": "shop", "load": {"rate_per_s": 5, "model": "open"}, "steps": [{"path": "/"}]}


def with_parts(**parts):
    return WAS | parts


def test_what_nobody_else_changed_may_be_replaced():
    mine = with_parts(name="other", steps=[])
    check_unchanged(version_token(WAS), stored=WAS, wanted=mine)


def test_each_part_that_would_be_put_back_is_named_and_no_other():
    theirs = with_parts(load={"rate_per_s": 9, "model": "open"}, steps=[])
    with pytest.raises(ChangedMeanwhile) as fault:
        check_unchanged(version_token(WAS), stored=theirs, wanted=with_parts(name="mine"))
    assert fault.value.paths == ["load.rate_per_s", "steps"]
    check_unchanged(fault.value.now, stored=theirs, wanted=with_parts(name="mine"))


def test_a_change_that_both_made_is_none_to_ask_about():
    theirs = with_parts(name="both")
    check_unchanged(version_token(WAS), stored=theirs, wanted=with_parts(name="both", steps=[]))


def test_a_part_that_came_or_went_is_changed():
    for theirs in ({**WAS, "load": None}, {**WAS, "new": 1}):
        with pytest.raises(ChangedMeanwhile):
            check_unchanged(version_token(WAS), stored=theirs, wanted=WAS)


def test_without_a_form_there_is_nothing_to_compare():
    check_unchanged(None, stored=with_parts(name="x"), wanted=WAS)


def test_what_no_form_of_ours_carried_counts_as_changed():
    with pytest.raises(ChangedMeanwhile):
        check_unchanged("name=00000000 =x ===", stored=with_parts(name="x"), wanted=WAS)
