"""Older runs get the figures of their rows from their newest summaries."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from campaigns.models import Run
from tests.factories import make_campaign, make_run, make_test
from tests.queries.measured import measure

FIGURES = ("n", "errors", "mean_us", "p50_us", "p95_us", "p99_us")


@pytest.mark.django_db(transaction=True)
def test_the_database_is_brought_along(project):
    measured, waiting = (make_run(make_test(make_campaign(project))) for _ in range(2))
    measure(measured, 12_000)
    before = Run.objects.values_list(*FIGURES).get(pk=measured.pk)
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes("campaigns")
    executor.migrate([("campaigns", "0015_campaigns_that_stop")])
    MigrationExecutor(connection).migrate(newest)
    assert Run.objects.values_list(*FIGURES).get(pk=measured.pk) == before
    assert before[0] == 2000
    assert None not in before
    assert Run.objects.values_list(*FIGURES).get(pk=waiting.pk) == (None,) * 6
