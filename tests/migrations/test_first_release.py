"""A database of the first release, with what was measured in it, comes to today's release; and back
by one step, should an upgrade be taken back.
"""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from campaigns.models import (
    Campaign,
    Endpoint,
    Membership,
    PlanVersion,
    Run,
    RunEvent,
    RunSummary,
    Shard,
    ShardSecond,
    Target,
    TestFigures,
)
from tests.factories import make_campaign, make_run, make_test
from tests.migrations.conftest import migrate
from tests.queries.measured import measure

# All tables of its data, and the triggers that guard them.
FIRST = ("campaigns", "0002_state_guards")
ITS_MODELS = (
    *(Membership, Target, Endpoint, PlanVersion, Campaign),
    *(Run, Shard, ShardSecond, RunSummary, RunEvent),
)
# What came later, of a measured run.
FIGURES = ("n", "errors", "mean_us", "p50_us", "p95_us", "p99_us")
# How it told that a run's figures are of no use, because of what the target did.
FAILED = '[{"code": "errors", "validity": "invalid", "text": "20 % failed."}]'


def tables() -> set[str]:
    with connection.cursor() as cursor:
        return set(connection.introspection.table_names(cursor))


def counts() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in ITS_MODELS}


@pytest.fixture
def measured(project, newest) -> Run:
    began = timezone.now()
    run, _ = (make_run(make_test(make_campaign(project, started_at=began))) for _ in range(2))
    return measure(run, 12_000)


def sql(statement: str, *values) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


def test_what_the_first_release_measured_is_there_in_todays(project, measured, newest):
    """One run was measured, the target of another one failed, and of the last one, which waits, a
    shard is in a state that the first release does not know."""
    failed = measure(make_run(make_test(make_campaign(project))), 12_000)
    waiting = Run.objects.exclude(pk__in=[measured.pk, failed.pk]).get()
    lease = {"worker": "w", "lease_until": timezone.now()}
    for state in ("claimed", "ready", "running", "storing"):
        waiting.shards.update(state=state, **lease)
    before, figures = counts(), Run.objects.values_list(*FIGURES).get(pk=measured.pk)
    migrate(FIRST)
    assert not tables() & {"campaigns_search", "campaigns_testfigures", "campaigns_runuse"}
    assert sql("SELECT state FROM campaigns_shard WHERE run_id = %s", waiting.pk) == [("lost",)]
    # Its only judgement.
    judge = "UPDATE campaigns_run SET validity = %s, validity_reasons = %s WHERE id = %s"
    sql(judge, "valid", "[]", measured.pk)
    sql(judge, "invalid", FAILED, failed.pk)
    migrate(newest)

    assert counts() == before | {"RunEvent": before["RunEvent"] + 1}  # that the shard was lost
    assert min(before.values()) > 0
    assert Run.objects.values_list(*FIGURES).get(pk=measured.pk) == figures
    assert figures[0] == 2000
    assert None not in figures
    assert Run.objects.values_list(*FIGURES).get(pk=waiting.pk) == (None,) * 6
    kept = TestFigures.objects.get(test=measured.test_id)
    assert (kept.started_at, kept.p95_us) == (measured.campaign.started_at, [figures[4]])
    assert (kept.trust, kept.facts["Endpoint"]) == ("trusted", measured.test.endpoint.origin)
    measured, failed, waiting = (
        Run.objects.get(pk=each.pk) for each in (measured, failed, waiting)
    )
    assert measured.frozen.plan_json
    assert (measured.trust, failed.trust) == ("trusted", "trusted")
    assert (failed.target_state, failed.precision) == ("failing", "fine")
    assert failed.judged.target.text == "20 % failed."
    assert waiting.judged is None


def test_an_upgrade_is_taken_back_by_one_step_and_made_again(measured, newest):
    before = counts()
    graph = MigrationExecutor(connection).loader.graph
    (one_before,) = (
        each.key for each in graph.node_map[newest].parents if each.key[0] == newest[0]
    )
    migrate(one_before)
    migrate(newest)
    assert counts() == before
