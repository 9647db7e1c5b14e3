"""Where the database's bytes are, and how they grow.

Reads no result: the sizes of tables are PostgreSQL's own, those of projects are summed over one
narrow row for each run (`RunUse`), written when the run ended. Checks no permissions.
"""

from dataclasses import dataclass
from datetime import date

from django.db import connection
from django.db.models import Count, F, QuerySet, Sum
from django.db.models.functions import TruncDate

from campaigns.models import (
    FailureExample,
    KeptMinute,
    MachineSecond,
    Project,
    RunSummary,
    RunUse,
    ShardSecond,
    ToolOutput,
)
from campaigns.models.dbtime import db_now

GROWTH_DAYS = 30
_KINDS = {
    ShardSecond._meta.db_table: "Seconds",
    MachineSecond._meta.db_table: "Seconds",
    RunSummary._meta.db_table: "Summaries",
    KeptMinute._meta.db_table: "Minutes of older runs",
    FailureExample._meta.db_table: "Failure examples",
    ToolOutput._meta.db_table: "Output of tools",
}
_OTHER = "All other tables"
STORED_BYTES = Sum(F("seconds_bytes") + F("summary_bytes") + F("example_bytes") + F("output_bytes"))
# reltuples is -1 until the first vacuum or analyze, which a small table may wait for for ever.
_SIZES = """
    SELECT relname, pg_table_size(oid), pg_indexes_size(oid),
        CASE WHEN reltuples < 0 THEN pg_stat_get_live_tuples(oid) ELSE reltuples END
    FROM pg_class
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
"""


@dataclass(slots=True)
class StoredKind:
    """What the tables of one kind take on disk; `n_rows` is PostgreSQL's estimate."""

    name: str
    table_bytes: int = 0
    index_bytes: int = 0
    n_rows: int = 0

    @property
    def total_bytes(self) -> int:
        return self.table_bytes + self.index_bytes


def stored_kinds() -> list[StoredKind]:
    """The installation's, by kind; the one of all other tables comes last."""
    kinds = {name: StoredKind(name) for name in (*_KINDS.values(), _OTHER)}
    with connection.cursor() as cursor:
        cursor.execute(_SIZES)
        for table, table_bytes, index_bytes, n_rows in cursor.fetchall():
            kind = kinds[_KINDS.get(table, _OTHER)]
            kind.table_bytes += table_bytes
            kind.index_bytes += index_bytes
            kind.n_rows += round(n_rows)
    return list(kinds.values())


def stored_projects() -> QuerySet[RunUse, dict]:
    """What the runs of each project that has any have stored, the largest first."""
    rows = RunUse.objects.filter(measured_at__isnull=False).order_by()
    named = rows.values("project", name=F("project__name"))
    return _summed(named).order_by("-total", "project")


def stored_of(project: Project) -> dict[str, int]:
    """As a row of `stored_projects`, of one project."""
    rows = RunUse.objects.filter(project=project, measured_at__isnull=False).order_by()
    return _summed(rows.values("project")).order_by("project").first() or {}


def growth(project: Project | None = None) -> list[tuple[date, int, int]]:
    """(day, runs, bytes that are left of them) of the last 30 days with runs, newest first."""
    rows = RunUse.objects.filter(measured_at__gt=db_now(-GROWTH_DAYS * 24 * 3600)).order_by()
    if project is not None:
        rows = rows.filter(project=project)
    days = rows.annotate(day=TruncDate("measured_at")).values_list("day")
    return list(days.annotate(n=Count("pk"), size=STORED_BYTES).order_by("-day"))


def _summed(rows):
    return rows.annotate(
        n_runs=Count("pk"),
        n_seconds=Sum("n_seconds"),
        seconds=Sum("seconds_bytes"),
        summaries=Sum("summary_bytes"),
        examples=Sum("example_bytes"),
        outputs=Sum("output_bytes"),
        total=STORED_BYTES,
    )
