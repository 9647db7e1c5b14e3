"""Runs that were judged by their validity get the three answers from their stored reasons."""

from importlib import import_module

import pytest

judged_again = import_module("campaigns.migrations.0010_three_answers").judged_again


def reason(code: str, validity: str = "suspicious"):
    return {
        "code": code,
        "validity": validity,
        "text": f"About {code}.",
        "value": 0.5,
        "limit": 0.1,
    }


@pytest.mark.parametrize(
    ("reasons", "answers"),
    [
        ([], ("trusted", "healthy", "fine")),
        ([reason("co_located")], ("trusted", "healthy", "fine")),
        ([reason("errors", "invalid")], ("trusted", "failing", "fine")),
        (
            [reason("errors", "invalid"), reason("no_success", "invalid")],
            ("trusted", "failing", "none"),
        ),
        ([reason("no_requests", "invalid")], ("trusted", None, "none")),
        ([reason("too_few_requests", "invalid")], ("trusted", "healthy", "coarse")),
        ([reason("warming_up"), reason("slot_wait")], ("trusted", "overloaded", "fine")),
        ([reason("target_saturated")], ("trusted", "overloaded", "fine")),
        ([reason("cpu", "invalid"), reason("errors")], ("not_usable", None, "fine")),
        ([reason("cpu"), reason("dropped")], ("doubtful", None, "fine")),
    ],
)
def test_stored_reasons_answer_the_three_questions(reasons, answers):
    found = judged_again(reasons)
    assert tuple(found[name]["state"] for name in ("measurement", "target", "precision")) == answers


def test_a_reason_keeps_its_sentence_and_goes_to_one_question():
    found = judged_again([reason("cpu"), reason("dropped"), reason("co_located")])
    assert [each["code"] for each in found["measurement"]["reasons"]] == ["cpu", "dropped"]
    first = found["measurement"]["reasons"][0]
    assert (first["state"], first["text"]) == ("doubtful", "About cpu.")
    assert (first["value"], first["limit"], first["second"]) == (0.5, 0.1, None)
    assert [each["code"] for each in found["notes"]] == ["co_located"]
