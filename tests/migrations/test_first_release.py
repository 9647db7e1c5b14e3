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
from tests.queries.measured import measure

# All tables of its data, and the triggers that guard them.
FIRST = ("campaigns", "0002_state_guards")
ITS_MODELS = (
    *(Membership, Target, Endpoint, PlanVersion, Campaign),
    *(Run, Shard, ShardSecond, RunSummary, RunEvent),
)
# What came later, of a measured run.
FIGURES = ("n", "errors", "mean_us", "p50_us", "p95_us", "p99_us", "trust")


def migrate(*to: tuple[str, str]) -> None:
    MigrationExecutor(connection).migrate(list(to))


def tables() -> set[str]:
    with connection.cursor() as cursor:
        return set(connection.introspection.table_names(cursor))


def counts() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in ITS_MODELS}


@pytest.fixture
def newest(transactional_db):
    """The newest migration; whatever happens, the database has it in the end."""
    (leaf,) = MigrationExecutor(connection).loader.graph.leaf_nodes("campaigns")
    yield leaf
    migrate(leaf)


@pytest.fixture
def measured(project, newest) -> Run:
    began = timezone.now()
    run, _ = (make_run(make_test(make_campaign(project, started_at=began))) for _ in range(2))
    measure(run, 12_000)
    return run


def test_what_the_first_release_measured_is_there_in_todays(measured, newest):
    before, figures = counts(), Run.objects.values_list(*FIGURES).get(pk=measured.pk)
    migrate(FIRST)
    assert not tables() & {"campaigns_search", "campaigns_testfigures", "campaigns_runuse"}
    with connection.cursor() as cursor:
        # Its only judgement.
        cursor.execute("UPDATE campaigns_run SET validity = 'valid' WHERE outcome IS NOT NULL")
    migrate(newest)
    assert counts() == before
    assert min(before.values()) > 0
    assert Run.objects.values_list(*FIGURES).get(pk=measured.pk) == figures
    assert TestFigures.objects.get().test_id == measured.test_id
    assert Run.objects.get(pk=measured.pk).frozen.plan_json


def test_an_upgrade_is_taken_back_by_one_step_and_made_again(measured, newest):
    before = counts()
    graph = MigrationExecutor(connection).loader.graph
    (one_before,) = (
        each.key for each in graph.node_map[newest].parents if each.key[0] == newest[0]
    )
    migrate(one_before)
    migrate(newest)
    assert counts() == before


def test_a_shard_that_stores_is_lost_for_a_release_that_does_not_know_of_it(measured, newest):
    waiting = Shard.objects.exclude(run=measured)
    lease = {"worker": "w", "lease_until": timezone.now()}
    for state in ("claimed", "ready", "running", "storing"):
        waiting.update(state=state, **lease)
    migrate(("campaigns", "0027_kept_of_seconds"))
    assert waiting.get().state == "lost"
