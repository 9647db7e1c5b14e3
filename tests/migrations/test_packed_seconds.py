"""Seconds of releases before packing are read as they are; packed ones can be taken back."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from campaigns.models import Run, ShardSecond
from campaigns.queries.reports import run_report
from campaigns.queries.tool_reports import tool_reports
from campaigns.services.summaries import summarise_run
from tests.factories import make_campaign, make_run, make_test, store_second
from tests.queries.measured import measure
from tests.values import make_second

BEFORE = ("campaigns", "0042_one_machine_one_source")


def migrate(to: tuple[str, str]) -> None:
    MigrationExecutor(connection).migrate([to])


@pytest.fixture
def newest(transactional_db):
    (leaf,) = MigrationExecutor(connection).loader.graph.leaf_nodes("campaigns")
    yield leaf
    migrate(leaf)


@pytest.fixture
def run(project, newest) -> Run:
    run = make_run(make_test(make_campaign(project, started_at=timezone.now())))
    store_second(run, make_second(-1, [9000] * 5))
    return measure(run, 12_000)


def there_and_back(newest: tuple[str, str]) -> None:
    """As an upgrade that is taken back and made again: all rows are then as of an older release."""
    migrate(BEFORE)
    migrate(newest)


def told() -> list[dict]:
    return [row.told for row in ShardSecond.objects.order_by("pk")]


def test_a_step_back_unpacks_every_second(run, newest):
    before = told()
    there_and_back(newest)
    assert not ShardSecond.objects.exclude(packed=None).exists()
    assert told() == before
    assert len(before) == 11


def test_a_run_of_an_older_release_is_read_as_before(run, newest):
    before = run_report(run), tool_reports(run)
    there_and_back(newest)
    run = Run.objects.get(pk=run.pk)
    run.summaries.all().delete()
    summarise_run(run)
    assert (run_report(run), tool_reports(run)) == before


def test_old_and_new_seconds_of_a_run_are_added_up_together(run, newest):
    there_and_back(newest)
    store_second(run, make_second(10, [12_000] * 200))
    n_packed = ShardSecond.objects.exclude(packed=None).count()
    assert (n_packed, ShardSecond.objects.count()) == (1, 12)
    assert summarise_run(run).total["counters"]["ok"] == 2200
