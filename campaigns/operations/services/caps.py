"""Refuses what exceeds a cap of its project, and lets administrators set these caps. Notes what
runs use of their project's caps: planned when queued, measured when they ended, and with each
output of a tool that is added or deleted."""

from collections.abc import Mapping, Sequence

from django.db import connection, transaction
from django.db.models.functions import Now

from campaigns.campaigns.queries.checks import ROW_BYTES
from campaigns.core import audit
from campaigns.core.permissions import Actor, require_administrator
from campaigns.domain.caps import DAY_S, LOAD_HOURS, PROJECT_CAPS, RATE, STORED_GB, Cap
from campaigns.domain.errors import Refused
from campaigns.domain.plan.estimates import TestEstimate
from campaigns.domain.plan.load import peak_rate_per_s
from campaigns.domain.typed_text import Content, check_unchanged
from campaigns.items.services import hold
from campaigns.models import Project, Run, RunUse, Test
from campaigns.operations.models import AuditEvent
from campaigns.operations.queries import most_requests_per_s, use_of

# Advisory lock class, arbitrary but the same everywhere: starts of a project come one by one.
_CAPS_LOCK = 0x63617073


def require_room_for_runs(
    project: Project,
    tests: Sequence[Test],
    estimates: Mapping[int, TestEstimate],
    blocks: Mapping[int, int],
) -> None:
    """Raise Refused if so many blocks of these tests are more than the project may measure;
    estimates and blocks by test."""
    most = most_requests_per_s()
    for test in tests:
        rate = peak_rate_per_s(test.plan().load)
        if most and rate and rate > most:
            raise Refused(
                f"{test.plan_version} plans {RATE.figure(rate)} of at most {RATE.words(most)}. "
                f"{RATE.remedy} An administrator can raise this cap of the installation."
            )
    runs = [estimates[test.pk] for test in tests for _ in range(blocks[test.pk])]
    require_room_for_load(project, runs)


def require_room_for_load(project: Project, estimates: Sequence[TestEstimate]) -> None:
    """Raise Refused if runs that take this are more than the project may measure."""
    load_s = sum(each.duration_s or 0.0 for each in estimates)
    n_bytes = ROW_BYTES * sum(each.rows for each in estimates)
    require_room(project, {LOAD_HOURS: min(load_s, DAY_S), STORED_GB: n_bytes})


def require_room(project: Project, adding: Mapping[Cap, float]) -> None:
    """Raise Refused if so much is more than the project's caps allow. In its caller's transaction:
    the lock holds until what was added is stored."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_CAPS_LOCK, project.pk % 2**31])
    project.refresh_from_db(fields=["caps"])
    for use in use_of(project, adding):
        if refusal := use.refusal(project.name, adding[use.cap]):
            raise Refused(refusal)


@transaction.atomic
def set_caps(
    *, by: Actor, project: Project, caps: Mapping[str, int | None], opened: str | None = None
) -> Project:
    """Give the project caps of its own by name: 0 is no cap, None the installation's. `opened`:
    what the form was opened with. Raises ChangedMeanwhile."""
    require_administrator(by)
    hold(project)
    check_unchanged(opened, stored=content_of(project), wanted=_content(caps))
    project.caps = {name: most for name, most in caps.items() if most is not None}
    project.save(update_fields=["caps"])
    own = ", ".join(f"{name} {most}" for name, most in project.caps.items())
    audit.note(by, AuditEvent.CAPS_SET, own or "those of the installation", project=project)
    return project


def content_of(project: Project) -> Content:
    """What `set_caps` replaces."""
    return _content(project.caps)


def _content(caps: Mapping[str, int | None]) -> Content:
    return {cap.name: caps.get(cap.name) for cap in PROJECT_CAPS}


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
        (SELECT pg_column_size(each.*) FROM campaigns_runsummary each
            WHERE run_id = %(run)s)
        + (SELECT coalesce(sum(pg_column_size(each.*)), 0) FROM campaigns_round each
            WHERE run_id = %(run)s)
        + (SELECT coalesce(sum(pg_column_size(each.*)), 0) FROM campaigns_requestsofshard each
            WHERE run_id = %(run)s)
        + (SELECT coalesce(sum(pg_column_size(each.*)), 0) FROM campaigns_runprofile each
            WHERE run_id = %(run)s),
        (SELECT sum(pg_column_size(each.*)) FROM campaigns_failureexample each
            WHERE run_id = %(run)s)
"""
_OUTPUTS = """
    SELECT coalesce(sum(pg_column_size(each.*)), 0) FROM campaigns_tooloutput each
    WHERE run_id = %(run)s
"""


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
