"""What projects use of their caps, in as many statements for one project as for all.

Checks no permissions: callers pass projects that they found, or are administrators.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from django.conf import settings
from django.db.models import Count, F, Model, Q, Sum
from django.db.models.functions import Coalesce, Greatest

from campaigns.domain.caps import (
    CAMPAIGNS,
    DAY_S,
    LOAD_HOURS,
    PLANS,
    PROJECT_CAPS,
    RATE,
    RUNS,
    STORED_GB,
    Cap,
    Use,
    most_of,
)
from campaigns.domain.lifecycle import ACTIVE_STATES, RunState
from campaigns.models import Campaign, Project, Run, RunUse, SavedPlan
from campaigns.models.dbtime import db_now
from campaigns.queries.storage import STORED_BYTES


def most_for(cap: Cap, project: Project) -> float | None:
    """The project's cap in the unit that is counted; None without one."""
    return most_of(cap, settings.CAPS, project.caps)


def most_requests_per_s() -> float | None:
    """To one address, of any project; None without a cap."""
    return most_of(RATE, settings.CAPS, {})


def is_full(project: Project, n_active: int) -> bool:
    """Whether so many active runs are all that the project may have at once."""
    most = most_for(RUNS, project)
    return most is not None and n_active >= most


def active_by_project() -> dict[int, int]:
    """The number of active runs of each project that has any."""
    rows = Run.objects.filter(state__in=ACTIVE_STATES).order_by()
    return dict(rows.values_list("campaign__project").annotate(n=Count("pk")))


def why_no_more_runs(project: Project) -> str:
    """A sentence if the project has all active runs that it may have; else ""."""
    active = Run.objects.filter(campaign__project=project, state__in=ACTIVE_STATES)
    return Use(RUNS, active.count(), most=most_for(RUNS, project)).refusal(project.name, 1)


def use_of(project: Project, caps: Iterable[Cap] = PROJECT_CAPS) -> list[Use]:
    """What the project uses, cap by cap."""
    return uses_of([project], caps)[project.pk]


def uses_of(
    projects: Sequence[Project], caps: Iterable[Cap] = PROJECT_CAPS
) -> dict[int, list[Use]]:
    """By project, in the order of `caps`: five statements at most."""
    caps, pks = tuple(caps), [project.pk for project in projects]
    load = _load(pks) if {LOAD_HOURS, STORED_GB} & {*caps} else {}
    used = {cap: _READ[cap](pks, load) for cap in caps}
    return {
        project.pk: [
            Use(cap, *used[cap].get(project.pk, (0.0, 0.0)), most_for(cap, project)) for cap in caps
        ]
        for project in projects
    }


_Used = dict[int, tuple[float, float]]  # by project: used, planned


def _counts(model: type[Model], projects: Sequence[int]) -> _Used:
    rows = model.objects.filter(project__in=projects).order_by().values_list("project")
    return {pk: (n, 0.0) for pk, n in rows.annotate(n=Count("pk"))}


def _stored(projects: Sequence[int], load: "dict[int, _Load]") -> _Used:
    rows = RunUse.objects.filter(project__in=projects).order_by().values_list("project")
    stored = dict(rows.annotate(n=STORED_BYTES))
    return {pk: (stored.get(pk) or 0, load[pk].planned_bytes) for pk in projects}


_READ: dict[Cap, Callable[[Sequence[int], "dict[int, _Load]"], _Used]] = {
    RUNS: lambda pks, load: {pk: (n, 0.0) for pk, n in active_by_project().items()},
    LOAD_HOURS: lambda pks, load: {pk: (load[pk].used_s, load[pk].planned_s) for pk in pks},
    PLANS: lambda pks, load: _counts(SavedPlan, pks),
    CAMPAIGNS: lambda pks, load: _counts(Campaign, pks),
    STORED_GB: _stored,
}


class _Load:
    """Of one project: seconds of load in the last 24 hours, and what queued runs will add."""

    def __init__(self) -> None:
        self.used_s = self.planned_s = self.planned_bytes = 0.0

    def add(self, used, waiting_s, sending_s, sent, planned_bytes) -> None:
        self.used_s += used.total_seconds() if used else 0.0
        left_s = max(0.0, (sending_s or 0.0) - (sent.total_seconds() if sent else 0.0))
        # One campaign makes its runs one after the other: at most a day of load a day.
        self.planned_s += min((waiting_s or 0.0) + left_s, DAY_S)
        self.planned_bytes += planned_bytes or 0


def _load(projects: Sequence[int]) -> dict[int, _Load]:
    now, since = db_now(), db_now(-DAY_S)
    is_lately = Q(campaign__finished_at=None) | Q(campaign__finished_at__gt=since)
    was_lately = Q(t0__isnull=False) & (Q(ended_at=None) | Q(ended_at__gt=since))
    is_going = ~Q(state=RunState.DONE)
    rows = (
        Run.objects.filter(is_lately, campaign__project__in=projects)
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
