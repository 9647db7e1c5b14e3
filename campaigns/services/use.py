"""Notes what runs use of their project's caps: planned when queued, measured when they ended, and
with each output of a tool that is added or deleted."""

from collections.abc import Mapping, Sequence

from django.db import connection
from django.db.models.functions import Now

from campaigns.domain.plan.estimates import TestEstimate, estimate_test
from campaigns.domain.plan.injectors import plan_for
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.models import Project, Run, RunUse, Test
from campaigns.queries.resource_limits import ROW_BYTES

# Rows whose size is measured; the others of the run count with their average.
SAMPLE = 1000
_SIZES = """
    SELECT
        (SELECT count(*) FROM campaigns_shardsecond WHERE run_id = %(run)s),
        (SELECT avg(pg_column_size(each.*)) FROM
            (SELECT * FROM campaigns_shardsecond WHERE run_id = %(run)s LIMIT %(sample)s) each),
        (SELECT count(*) FROM campaigns_machinesecond WHERE run_id = %(run)s),
        (SELECT avg(pg_column_size(each.*)) FROM
            (SELECT * FROM campaigns_machinesecond WHERE run_id = %(run)s LIMIT %(sample)s) each),
        (SELECT sum(pg_column_size(each.*)) FROM campaigns_runsummary each
            WHERE run_id = %(run)s),
        (SELECT sum(pg_column_size(each.*)) FROM campaigns_failureexample each
            WHERE run_id = %(run)s)
"""
_OUTPUTS = """
    SELECT coalesce(sum(pg_column_size(each.*)), 0) FROM campaigns_tooloutput each
    WHERE run_id = %(run)s
"""


def estimate_of(test: Test, pause_s: float) -> TestEstimate:
    """What one run of the test will take."""
    plan = plan_for(test.plan(), test.injectors)
    return estimate_test(plan, ConnectionMode(test.connection_mode), pause_s, test.injectors)


def plan_use(project: Project, runs: Sequence[Run], estimates: Mapping[int, TestEstimate]) -> None:
    """Note what queued runs are going to use; `estimates` by test."""
    RunUse.objects.bulk_create(
        RunUse(
            run=run,
            project=project,
            planned_s=estimates[run.test_id].duration_s or 0.0,
            planned_bytes=estimates[run.test_id].rows * ROW_BYTES,
        )
        for run in runs
    )


def measure_use(run: Run) -> None:
    """Note how many bytes the run has stored. Its cost does not grow with the run's size."""
    with connection.cursor() as cursor:
        cursor.execute(_SIZES, {"run": run.pk, "sample": SAMPLE})
        n_seconds, size, n_of_machines, size_of_machines, summary, examples = cursor.fetchone()
    values = {
        "project_id": run.campaign.project_id,
        "n_seconds": n_seconds,
        "seconds_bytes": round(n_seconds * (size or 0) + n_of_machines * (size_of_machines or 0)),
        "summary_bytes": summary or 0,
        "example_bytes": examples or 0,
        "measured_at": Now(),
    }
    RunUse.objects.update_or_create(run=run, defaults=values)


def measure_outputs(run: Run) -> None:
    """Note how many bytes the outputs of tools have that were added to the run."""
    with connection.cursor() as cursor:
        cursor.execute(_OUTPUTS, {"run": run.pk})
        (n_bytes,) = cursor.fetchone()
    values = {"project_id": run.campaign.project_id, "output_bytes": n_bytes}
    RunUse.objects.update_or_create(run=run, defaults=values)
