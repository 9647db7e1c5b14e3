"""Seconds of releases before packing are read as they are; packed ones can be taken back."""

import pytest
from django.utils import timezone

from campaigns.domain.other_tools.reports import REPORTS
from campaigns.models import Run, ShardSecond
from campaigns.queries.reports import run_report
from campaigns.queries.tool_reports import tool_report
from campaigns.services.summaries import summarise_run
from tests.factories import make_campaign, make_run, make_test, store_second
from tests.migrations.conftest import migrate
from tests.queries.measured import measure
from tests.values import make_second

BEFORE = ("campaigns", "0042_one_machine_one_source")


@pytest.fixture
def run(project, newest) -> Run:
    run = make_run(make_test(make_campaign(project, started_at=timezone.now())))
    store_second(run, make_second(-1, [9000] * 5))
    return measure(run, 12_000)


def told() -> list[dict]:
    return [row.told for row in ShardSecond.objects.order_by("pk")]


def pages_of(run: Run) -> tuple:
    return run_report(run), [tool_report(run, style) for style in REPORTS]


def test_seconds_are_unpacked_by_a_step_back_and_read_as_before(run, newest):
    """The upgrade is taken back and made again: all rows are then as of an older release."""
    seconds, pages = told(), pages_of(run)
    assert len(seconds) == 11
    migrate(BEFORE)
    migrate(newest)
    assert not ShardSecond.objects.exclude(packed=None).exists()
    assert told() == seconds

    run = Run.objects.get(pk=run.pk)
    run.summaries.all().delete()
    summarise_run(run)
    assert pages_of(run) == pages

    # A new second of the same run is packed, and added up with the old ones.
    store_second(run, make_second(10, [12_000] * 200))
    n_packed = ShardSecond.objects.exclude(packed=None).count()
    assert (n_packed, ShardSecond.objects.count()) == (1, 12)
    assert summarise_run(run).total["counters"]["ok"] == 2200
