"""Runs that were judged by their validity get the three answers from their stored reasons."""

from importlib import import_module

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from campaigns.models import Run
from tests.factories import make_campaign, make_run, make_test

OLD = '[{"code": "errors", "validity": "invalid", "text": "20 % failed."}]'
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


@pytest.mark.django_db(transaction=True)
def test_the_database_is_brought_along(project):
    judged, waiting = (make_run(make_test(make_campaign(project))) for _ in range(2))
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes("campaigns")
    executor.migrate([("campaigns", "0009_saved_plan")])
    try:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE campaigns_run SET validity_reasons = %s", [OLD])
            cursor.execute(
                "UPDATE campaigns_run SET validity = 'invalid' WHERE id = %s", [judged.pk]
            )
    finally:
        MigrationExecutor(connection).migrate(newest)
    judged.refresh_from_db()
    assert (judged.trust, judged.target_state, judged.precision) == ("trusted", "failing", "fine")
    assert judged.judged.target.text == "20 % failed."
    assert Run.objects.get(pk=waiting.pk).judged is None
