"""What an administrator sees of the load of all projects; and whether load is on.

What projects use of their caps, in as many statements for one project as for all. Checks no
permissions: callers pass projects that they found, or are administrators. Where the database's
bytes are, and how they grow. Reads no result: the sizes of tables are PostgreSQL's own, those of
projects are summed over one narrow row for each run (`RunUse`), written when the run ended."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from functools import cache, cached_property
from typing import NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import Count, F, Model, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Greatest, TruncDate

from campaigns.core.database import ClockTimestamp, db_now
from campaigns.domain.caps import (
    CAMPAIGNS,
    DAY_S,
    LOAD_HOURS,
    PLANS,
    PROJECT_CAPS,
    RATE,
    RUNS,
    SLOTS,
    STORED_GB,
    Cap,
    Ceiling,
    Use,
    most_of,
    share_of,
    tighter,
)
from campaigns.domain.lifecycle import ACTIVE_STATES, RunState
from campaigns.engine.queries.injector_hosts import Compiled, LiveHosts, live_hosts_now
from campaigns.machines.models import THE_ROW
from campaigns.models import (
    Campaign,
    FailureExample,
    KeptMinute,
    LoadControl,
    MachineSecond,
    Project,
    Run,
    RunSummary,
    RunUse,
    SavedPlan,
    ShardSecond,
    ToolOutput,
)

# It speaks every 2 s; a busy machine may hold it up for longer.
SILENT_AFTER_S = 15.0
LOAD_IS_OFF = "Load is off. An administrator must allow it first."


def load_control() -> LoadControl:
    """The row; one that is not stored where nobody has touched it yet."""
    return LoadControl.objects.filter(pk=THE_ROW).first() or LoadControl(pk=THE_ROW)


def why_load_is_off() -> str:
    """A sentence; "" while load is on."""
    off = LoadControl.objects.filter(pk=THE_ROW, is_on=False)
    return off.values_list("reason", flat=True).first() or ""


def has_been_on_for(seconds: float) -> bool:
    """Whether nothing kept queued runs from beginning in that time."""
    off = Q(is_on=False) | Q(changed_at__gt=db_now(-seconds))
    return not LoadControl.objects.filter(off, pk=THE_ROW).exists()


def dispatcher_silent_for_s() -> float:
    """Since when the dispatcher is silent; 0 while it works, and before its first word."""
    return _silent_s(_with_silence().values_list("silence", flat=True).first())


def why_nothing_begins() -> str:
    """Why no run of any project begins, in sentences; "" while runs begin as usual. One statement:
    every page asks."""
    for is_on, reason, silence in _state().rows():
        if not is_on:
            return f"Load is off, so no run begins. {reason}"
        if silent_s := _silent_s(silence):
            return (
                f"The dispatcher has not been heard of for {silent_s:.0f} s, so no run begins or "
                "ends. Restart it."
            )
    return ""


@cache
def _state() -> Compiled:
    return Compiled(_with_silence().values_list("is_on", "reason", "silence"))


def _with_silence() -> QuerySet[LoadControl]:
    rows = LoadControl.objects.filter(pk=THE_ROW)
    return rows.annotate(silence=ClockTimestamp() - F("dispatcher_seen_at"))


def _silent_s(silence: timedelta | None) -> float:
    silent_s = silence.total_seconds() if silence else 0.0
    return silent_s if silent_s > SILENT_AFTER_S else 0.0


def active_runs() -> QuerySet[Run]:
    """The active runs of all projects, oldest first."""
    return (
        Run.objects.filter(state__in=ACTIVE_STATES)
        .select_related("campaign__project", "campaign__created_by", "target")
        .order_by("pk")
    )


def waiting_campaigns() -> QuerySet[Campaign]:
    """The campaigns of all projects that go on by themselves while load is on, the longest waiting
    first; `n_queued` of their runs are still to come."""
    return (
        Campaign.objects.filter(runs__state=RunState.QUEUED)
        .annotate(n_queued=Count("runs"))
        .select_related("project", "created_by")
        .order_by("started_at", "pk")
    )


def identity() -> str:
    """Of this cluster, database and table: some of them change when a dump is restored."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT system_identifier, pg_database.oid, %s::regclass::oid "
            "FROM pg_control_system(), pg_database WHERE datname = current_database()",
            [LoadControl._meta.db_table],
        )
        return "{}/{}/{}".format(*cursor.fetchone())


class Active(NamedTuple):
    """The active runs of a project, and the slots that they were given."""

    runs: int = 0
    slots: int = 0


class Quota(NamedTuple):
    """How many active runs a project may have, and how many slots all of them."""

    runs: Ceiling
    slots: Ceiling
    offered: int  # slots of the live hosts

    def ever_fits(self, n_slots: int) -> bool:
        """Whether a run that needs so many could begin if the project had none."""
        return n_slots <= self.offered and self.slots.holds(n_slots)

    def fits(self, active: Active, n_slots: int) -> bool:
        """Whether such a run may begin beside those that are active."""
        return self.runs.holds(active.runs + 1) and self.slots.holds(active.slots + n_slots)


def most_for(cap: Cap, project: Project) -> float | None:
    """The project's cap in the unit that is counted; None without one."""
    return most_of(cap, settings.CAPS, project.caps)


def most_requests_per_s() -> float | None:
    """To one address, of any project; None without a cap."""
    return most_of(RATE, settings.CAPS, {})


def quota_of(project: Project, hosts: LiveHosts) -> Quota:
    """The share is one of slots, and one of the runs that the hosts make at once: a run on each
    core fills an installation with most of its slots free."""
    percent = most_for(SLOTS, project)
    at_once = share_of(hosts.most_runs, percent, " at once")
    runs = tighter(Ceiling(most_for(RUNS, project)), at_once)
    return Quota(runs, share_of(hosts.slots, percent), hosts.slots)


def active_by_project() -> dict[int, Active]:
    """Of each project that has any."""
    leaders = Run.objects.filter(state__in=ACTIVE_STATES, leader=None)
    rows = leaders.order_by().values_list("campaign__project")
    sums = rows.annotate(runs=Count("pk"), slots=Sum("n_shards"))
    return {project: Active(*rest) for project, *rest in sums}


def why_never(project: Project, hosts: LiveHosts, n_slots: int) -> str:
    """A sentence if a run that needs so many slots could never begin in this project; "" if it
    could, and while no host is online."""
    if not hosts.slots:
        return ""
    return quota_of(project, hosts).slots.refusal(SLOTS, project.name, n_slots)


def why_no_room(project: Project, n_slots: int) -> str:
    """A sentence if the project's caps leave no room now for a run of so many slots; else ""."""
    quota = quota_of(project, live_hosts_now())
    active = active_by_project().get(project.pk, Active())
    return (
        quota.slots.refusal(SLOTS, project.name, n_slots)
        or Use(RUNS, active.runs, ceiling=quota.runs).refusal(project.name, 1)
        or Use(SLOTS, active.slots, ceiling=quota.slots).refusal(project.name, n_slots)
    )


def use_of(project: Project, caps: Iterable[Cap] = PROJECT_CAPS) -> list[Use]:
    return uses_of([project], caps)[project.pk]


def uses_of(
    projects: Sequence[Project], caps: Iterable[Cap] = PROJECT_CAPS
) -> dict[int, list[Use]]:
    """By project, in the order of `caps`: six statements at most."""
    source = _Source([project.pk for project in projects])
    use_by_cap = {cap: _READ[cap](source) for cap in caps}
    return {
        project.pk: [
            Use(cap, *each.get(project.pk, (0.0, 0.0)), source.ceiling(cap, project))
            for cap, each in use_by_cap.items()
        ]
        for project in projects
    }


class _Source:
    """What several caps are read from, once."""

    def __init__(self, projects: Sequence[int]) -> None:
        self.projects = projects

    @cached_property
    def active(self) -> dict[int, Active]:
        return active_by_project()

    @cached_property
    def hosts(self) -> LiveHosts:
        return live_hosts_now()

    @cached_property
    def load(self) -> "dict[int, _Load]":
        now, since = db_now(), db_now(-DAY_S)
        is_lately = Q(campaign__finished_at=None) | Q(campaign__finished_at__gt=since)
        was_lately = Q(t0__isnull=False) & (Q(ended_at=None) | Q(ended_at__gt=since))
        is_going = ~Q(state=RunState.DONE)
        rows = (
            Run.objects.filter(is_lately, campaign__project__in=self.projects)
            .filter(campaign__started_at__isnull=False)
            .order_by()
            .values_list("campaign__project", "campaign")
            .annotate(
                used=Sum(Coalesce("ended_at", now) - Greatest("t0", since), filter=was_lately),
                waiting_s=Sum("use__planned_s", filter=is_going & Q(t0=None)),
                sending_s=Sum("use__planned_s", filter=is_going & Q(t0__isnull=False)),
                sent=Sum(now - F("t0"), filter=is_going & Q(t0__isnull=False)),
                planned_bytes=Sum("use__planned_bytes", filter=is_going),
            )
        )
        by_project: dict[int, _Load] = defaultdict(_Load)
        for project, _, *sums in rows:
            by_project[project].add(*sums)
        return by_project

    def ceiling(self, cap: Cap, project: Project) -> Ceiling:
        if cap in (RUNS, SLOTS):
            quota = quota_of(project, self.hosts)
            return quota.runs if cap is RUNS else quota.slots
        return Ceiling(most_for(cap, project))


_UseByProject = dict[int, tuple[float, float]]  # by project: used, planned


def _counts(model: type[Model], projects: Sequence[int]) -> _UseByProject:
    rows = model.objects.outside_trash().filter(project__in=projects).order_by()
    return {pk: (n, 0.0) for pk, n in rows.values_list("project").annotate(n=Count("pk"))}


def _stored(source: _Source) -> _UseByProject:
    rows = RunUse.objects.filter(project__in=source.projects).order_by().values_list("project")
    bytes_by_project = dict(rows.annotate(n=STORED_BYTES))
    return {
        pk: (bytes_by_project.get(pk) or 0, source.load[pk].planned_bytes) for pk in source.projects
    }


_READ: dict[Cap, Callable[[_Source], _UseByProject]] = {
    RUNS: lambda source: {pk: (each.runs, 0.0) for pk, each in source.active.items()},
    SLOTS: lambda source: {pk: (each.slots, 0.0) for pk, each in source.active.items()},
    LOAD_HOURS: lambda source: {
        pk: (source.load[pk].used_s, source.load[pk].planned_s) for pk in source.projects
    },
    PLANS: lambda source: _counts(SavedPlan, source.projects),
    CAMPAIGNS: lambda source: _counts(Campaign, source.projects),
    STORED_GB: _stored,
}


class _Load:
    """Of one project: seconds of load in the last 24 hours, and what queued runs will add."""

    def __init__(self) -> None:
        self.used_s = self.planned_s = self.planned_bytes = 0.0

    def add(self, used, waiting_s, sending_s, n_requests, planned_bytes) -> None:
        self.used_s += used.total_seconds() if used else 0.0
        left_s = max(0.0, (sending_s or 0.0) - (n_requests.total_seconds() if n_requests else 0.0))
        # One campaign makes its runs one after the other: at most a day of load a day.
        self.planned_s += min((waiting_s or 0.0) + left_s, DAY_S)
        self.planned_bytes += planned_bytes or 0


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
    by_name = rows.values("project", name=F("project__name"))
    return _sums(by_name).order_by("-total", "project")


def stored_of(project: Project) -> dict[str, int]:
    """As a row of `stored_projects`, of one project."""
    rows = RunUse.objects.filter(project=project, measured_at__isnull=False).order_by()
    return _sums(rows.values("project")).order_by("project").first() or {}


def growth(project: Project | None = None) -> list[tuple[date, int, int]]:
    """(day, runs, bytes that are left of them) of the last 30 days with runs, newest first."""
    rows = RunUse.objects.filter(measured_at__gt=db_now(-GROWTH_DAYS * 24 * 3600)).order_by()
    if project is not None:
        rows = rows.filter(project=project)
    days = rows.annotate(day=TruncDate("measured_at", tzinfo=UTC)).values_list("day")
    return list(days.annotate(n=Count("pk"), size=STORED_BYTES).order_by("-day"))


def _sums(rows):
    return rows.annotate(
        n_runs=Count("pk"),
        n_seconds=Sum("n_seconds"),
        seconds=Sum("seconds_bytes"),
        summaries=Sum("summary_bytes"),
        examples=Sum("example_bytes"),
        outputs=Sum("output_bytes"),
        total=STORED_BYTES,
    )
