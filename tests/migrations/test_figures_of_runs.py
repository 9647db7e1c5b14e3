"""Older runs get the figures of their rows from their newest summaries, and histories theirs."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from campaigns.models import Run, TestFigures
from tests.factories import make_campaign, make_run, make_test
from tests.queries.measured import measure

FIGURES = ("n", "errors", "mean_us", "p50_us", "p95_us", "p99_us")


@pytest.mark.django_db(transaction=True)
def test_the_database_is_brought_along(project):
    began = timezone.now()
    measured, waiting = (
        make_run(make_test(make_campaign(project, started_at=began))) for _ in range(2)
    )
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
    kept = TestFigures.objects.get()
    assert (kept.test_id, kept.started_at) == (measured.test_id, began)
    assert (kept.p95_us, kept.trust) == ([before[4]], "trusted")
    assert kept.facts["Endpoint"] == measured.test.endpoint.origin
