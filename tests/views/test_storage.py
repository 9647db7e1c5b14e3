"""Where the bytes are, and that it takes few statements to say."""

import pytest
from django.db import connection

from campaigns.models import RunUse
from campaigns.queries.caps import stored_kinds, stored_projects
from campaigns.services import caps
from campaigns.services.caps import SAMPLE, measure_use
from tests.factories import store_second
from tests.values import make_second

pytestmark = pytest.mark.django_db


@pytest.fixture
def measured(run):
    """A run with five seconds, of which it is known what they take."""
    for number in range(5):
        store_second(run, make_second(number, [1000, 2000]))
    measure_use(run)
    return run


@pytest.mark.django_db(transaction=True)
def test_rows_of_a_table_that_was_never_analyzed_are_not_none(run):
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE campaigns_shardsecond")
        # What earlier tests of this connection have not told the statistics yet.
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(
            "SELECT pg_stat_reset_single_table_counters('campaigns_shardsecond'::regclass)"
        )
        for number in range(5):
            store_second(run, make_second(number, [1000, 2000]))
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT 1")
    (seconds,) = (kind for kind in stored_kinds() if kind.name == "Seconds")
    assert seconds.n_rows == 5


def test_what_a_project_has_stored_is_what_its_rows_take(measured, project):
    (row,) = stored_projects()
    assert (row["project"], row["n_runs"], row["n_seconds"]) == (project.pk, 1, 5)
    assert row["seconds"] == row["total"] > 5 * 100


def test_a_large_run_is_measured_by_a_sample(run, monkeypatch):
    for number in range(30):
        store_second(run, make_second(number, [1000, 2000]))
    measure_use(run)
    exact = RunUse.objects.get().seconds_bytes
    monkeypatch.setattr(caps, "SAMPLE", 10)
    measure_use(run)
    assert SAMPLE > 30
    assert RunUse.objects.get().seconds_bytes == pytest.approx(exact, rel=0.05)


def test_kinds_add_up_to_all_tables(measured, django_assert_num_queries):
    with django_assert_num_queries(1):
        kinds = stored_kinds()
    assert [kind.name for kind in kinds][-1] == "All other tables"
    assert all(kind.total_bytes > 0 for kind in kinds)
