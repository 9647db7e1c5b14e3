"""A long run's points are exported part by part, some read at once, when they are wanted."""

import csv
from io import StringIO
from itertools import chain

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from campaigns.domain.metrics import series
from campaigns.domain.metrics.series import points_of_columns
from campaigns.runs.exports import csv_of_seconds
from campaigns.runs.queries import measurements
from campaigns.runs.queries.measurements import (
    columns_in_parts,
    error_kinds_of,
    points_between,
    points_of,
)
from tests.factories import make_campaign, make_run, make_test, store_second
from tests.measured import end, measure
from tests.values import make_second

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _three_at_once(monkeypatch):
    monkeypatch.setattr(measurements, "CHUNKS_AT_ONCE", 2)
    monkeypatch.setattr(series, "POINTS_OF_CHUNK", 3)


@pytest.fixture
def run(project):
    run = make_run(make_test(make_campaign(project)))
    store_second(run, make_second(-1, [9000] * 5))
    measure(run, 12_000, seconds=9)
    return run


def rows_of_file(run, kinds) -> list[dict[str, str]]:
    texts = [
        "".join(csv_of_seconds(columns_in_parts(run, as_written=each), kinds))
        for each in (True, False)
    ]
    assert texts[0] == texts[1]
    return list(csv.DictReader(StringIO(texts[0])))


def test_the_parts_together_are_all_points(run):
    parts = list(columns_in_parts(run))
    assert [len(part["second"]) for part in parts] == [3, 3, 3, 1]
    assert [*chain.from_iterable(map(points_of_columns, parts))] == points_of(run)


def test_no_more_is_read_than_was_wanted(run):
    with CaptureQueriesContext(connection) as queries:
        parts = columns_in_parts(run)
        assert not queries.captured_queries
        assert next(parts)["second"] == [-1, 0, 1]
        n_at_first = len(queries)
        assert [part["second"][-1] for part in parts] == [4, 7, 8]
        assert len(queries) > n_at_first


@pytest.mark.parametrize(
    ("first", "until", "seconds"),
    [(-5, 2, [-1, 0, 1]), (2, 6, [2, 3, 4, 5]), (8, 99, [8]), (3, 3, [])],
)
def test_a_stretch_has_its_points_whatever_parts_they_are_in(run, first, until, seconds):
    points = points_between(run, first, until)
    assert [each["second"] for each in points] == seconds
    assert points == [each for each in points_of(run) if each["second"] in seconds]


def test_the_text_is_that_of_the_points(run):
    (row,) = (row for row in rows_of_file(run, ["reset"]) if row["second (s)"] == "3")
    point = next(point for point in points_of(run) if point["second"] == 3)
    assert row["p95 (ms)"] == repr(point["p95_ms"])
    assert row["ok"] == str(point["ok"])
    assert row["CPU of the busiest injector process (share of a core)"] == ""
    assert row["error reset"] == "0"


def test_each_kind_of_error_in_any_second_is_a_column(project):
    run = make_run(make_test(make_campaign(project)))
    of_seconds = [{"dns_failed": 1}, {}, {"reset": 2}, {}, {"write_error": 1, "reset": 1}]
    for number, errors in enumerate(of_seconds, -1):
        store_second(run, make_second(number, [9000] * 5, errors=errors))
    end(run, "complete")
    kinds = error_kinds_of(run)
    assert kinds == ["dns_failed", "reset", "write_error"]
    assert [row["error reset"] for row in rows_of_file(run, kinds)] == list("00201")
    assert [row["error dns_failed"] for row in rows_of_file(run, kinds)] == list("10000")
