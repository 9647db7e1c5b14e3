"""What an administrator sees of the load of all projects; and whether load is on."""

from datetime import timedelta
from functools import cache

from django.db import connection
from django.db.models import Count, F, Q, QuerySet

from campaigns.core.dbtime import ClockTimestamp, db_now
from campaigns.domain.lifecycle import ACTIVE_STATES, RunState
from campaigns.engine.queries.injector_hosts import Compiled
from campaigns.machines.models import THE_ROW
from campaigns.models import Campaign, LoadControl, Run

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
