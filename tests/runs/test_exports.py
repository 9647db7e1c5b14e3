"""A row per run, for programs: full precision, every answer, no formula."""

import csv
from io import StringIO

import pytest
from django.utils import timezone

from campaigns.domain.metrics.snapshot import Timing
from campaigns.models import Run, RunSummary
from campaigns.runs.exports import COLUMNS, csv_of_runs
from campaigns.runs.queries.measurements import whole_runs
from tests.factories import make_run, make_test_of
from tests.measured import measure

pytestmark = pytest.mark.django_db


@pytest.fixture
def test_(project):
    return make_test_of(project, "@home", "=shop", "+1 day", "https")


def rows_of(*runs: Run) -> list[dict[str, str]]:
    in_order = Run.objects.filter(pk__in=[run.pk for run in runs]).order_by("position")
    return list(csv.DictReader(StringIO("".join(csv_of_runs(whole_runs(in_order))))))


def test_a_row_says_what_ran_where_and_when(test_):
    run = measure(make_run(test_, 2), 18_870)
    times = {"t0": timezone.now(), "ended_at": timezone.now()}
    Run.objects.filter(pk=run.pk).update(**times)
    (row,) = rows_of(run)
    assert (row["run"], row["run_id"], row["block"]) == (run.label, str(run.pk), "2")
    assert (row["plan_version"], row["connection_mode"], row["injectors"]) == ("1", "new", "1")
    assert row["endpoint"] == "https://127.0.0.1:8444"
    assert row["started_at"] == times["t0"].isoformat()
    assert row["ended_at"] == times["ended_at"].isoformat()


def test_a_row_has_the_three_answers_with_their_reasons(test_):
    run = measure(make_run(test_), 18_870)
    run.refresh_from_db()
    (row,) = rows_of(run)
    assert (row["measurement"], row["target_state"]) == (run.trust, run.target_state or "")
    assert row["precision"] == run.precision
    assert row["precision_reason"] == run.judged.precision.text


def test_times_are_microseconds_with_all_their_digits(test_):
    run = measure(make_run(test_), 18_873)
    (row,) = rows_of(run)
    response = RunSummary.objects.get(run=run).total.timing("response")
    assert float(row["response_mean_us"]) == response.sum_us / response.n
    assert int(row["response_max_us"]) == response.max_us
    assert float(row["wait_p50_us"]) > 0
    assert row["lateness_max_us"] == "50", "a small part is not rounded away"


def test_times_without_what_the_injector_added_are_those_of_the_timed_requests(test_):
    sample = {"sampled": Timing.of([18_870] * 70), "undelayed": Timing.of([18_000] * 70)}
    with_sample = measure(make_run(test_, 1), 18_870, seconds=10, timings=sample)
    without = measure(make_run(test_, 2), 18_870)
    row, other = rows_of(with_sample, without)
    assert (row["undelayed_n"], float(row["undelayed_mean_us"])) == ("700", 18_000)
    assert (other["undelayed_n"], other["undelayed_mean_us"]) == ("0", "")


def test_response_times_have_lower_ends_where_the_injectors_part_is_known(test_):
    sample = {"sampled": Timing.of([18_870] * 200), "undelayed": Timing.of([15_000] * 200)}
    with_sample = measure(make_run(test_, 1), 18_870, timings=sample)
    without = measure(make_run(test_, 2), 18_870)
    row, other = rows_of(with_sample, without)
    for metric in ("mean", "p50", "p90", "p95", "p99"):
        assert float(row[f"response_{metric}_low_us"]) == pytest.approx(15_000, rel=0.001)
        assert float(row[f"response_{metric}_us"]) > 18_000
        assert other[f"response_{metric}_low_us"] == ""


def test_a_weak_percentile_is_named_and_a_missing_one_is_empty(test_):
    few = measure(make_run(test_), 18_870, n=600, seconds=6)
    (row,) = rows_of(few)
    assert "response_p99_us" in row["weak"].split()
    assert row["response_p99_us"]
    fewer = measure(make_run(test_, 2), 18_870, n=60, seconds=6)
    (row,) = rows_of(fewer)
    assert row["response_p99_us"] == ""


def test_no_name_becomes_a_formula(test_):
    (row,) = rows_of(make_run(test_))
    assert (row["campaign"], row["plan"], row["target"]) == ("'+1 day", "'@home", "'=shop")


def test_a_run_without_figures_has_a_row_with_the_same_columns(test_):
    waiting, done = make_run(test_), measure(make_run(test_, 2), 18_870)
    rows = rows_of(waiting, done)
    assert all(tuple(row) == COLUMNS for row in rows)
    assert rows[0]["state"] == "queued"
    assert rows[0]["response_mean_us"] == ""
    assert rows[0]["ok"] == "", "nothing was measured, which is not 0"
