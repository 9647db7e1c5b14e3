"""A long run's points are exported part by part, each read when it is wanted."""

import csv
from io import StringIO
from itertools import chain

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from campaigns.exports.seconds import csv_of_seconds
from campaigns.models import RunSummary
from campaigns.queries import measurements
from campaigns.queries.measurements import error_kinds_of, points_in_parts, points_of
from tests.factories import make_campaign, make_run, make_test
from tests.queries.measured import measure

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(project):
    return measure(make_run(make_test(make_campaign(project))), 12_000, seconds=10)


@pytest.fixture(autouse=True)
def _three_at_once(monkeypatch):
    monkeypatch.setattr(measurements, "POINTS_AT_ONCE", 3)


def test_the_parts_together_are_all_points(run):
    parts = list(points_in_parts(run))
    assert [len(part) for part in parts] == [3, 3, 3, 1]
    assert [*chain(*parts)] == points_of(run)


def test_no_more_is_read_than_was_wanted(run):
    with CaptureQueriesContext(connection) as seen:
        lines = csv_of_seconds(points_in_parts(run), [])
        next(lines)
        assert not seen.captured_queries
        next(lines)
        assert [each["sql"].count("$[0 to 2]") for each in seen] == [0, 1]


def test_each_kind_of_error_in_any_second_is_a_column(run):
    summary = RunSummary.objects.get(run=run)
    summary.series[1]["errors"], summary.series[8]["errors"] = {"reset": 2}, {"dns": 1, "reset": 1}
    summary.save()
    kinds = error_kinds_of(run)
    assert kinds == ["dns", "reset"]
    rows = list(csv.DictReader(StringIO("".join(csv_of_seconds(points_in_parts(run), kinds)))))
    assert [row["error reset"] for row in rows] == list("0200000010")


def test_a_run_without_a_summary_has_no_parts(project):
    run = make_run(make_test(make_campaign(project)))
    assert (list(points_in_parts(run)), error_kinds_of(run)) == ([], [])
