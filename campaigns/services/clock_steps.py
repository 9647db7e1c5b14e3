"""What follows when the clock of the database's host was set: what is under way keeps its age."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet

from campaigns.domain.lifecycle import LIVE_SHARD_STATES, RunState
from campaigns.models import (
    Campaign,
    Exporter,
    HostClaim,
    LoadControl,
    Probe,
    Run,
    Search,
    Shard,
)
from campaigns.models.dbtime import db_now
from campaigns.models.load_control import THE_ROW
from campaigns.services.dispatch import lock_admission

# For the way of the statements, and for drift.
_MARGIN_S = 1.0


@dataclass(frozen=True, slots=True)
class KnownClock:
    """The database's clock less its host's since the boot of this name, and when by the latter."""

    boot: str
    offset_ns: int
    at_ns: int

    @property
    def columns(self) -> dict[str, Any]:
        """Of the LoadControl."""
        return {
            "boot": self.boot,
            "clock_offset_ns": self.offset_ns,
            "clock_known_at_ns": self.at_ns,
        }


def known_clock(boot: str) -> KnownClock | None:
    """What the last dispatcher knew, if it was of the same boot of the same host."""
    known = LoadControl.objects.filter(pk=THE_ROW, boot=boot, clock_offset_ns__isnull=False)
    row = known.first() if boot else None
    return row and KnownClock(row.boot, row.clock_offset_ns, row.clock_known_at_ns)


@transaction.atomic
def follow_step(step_s: float, *, within_s: float, known: KnownClock) -> None:
    """The clock was set by `step_s` seconds, at most `within_s` seconds ago, and is now `known`.
    Instants that were noted before move with it, and every lease begins anew: whoever is alive
    renews it soon.

    Each instant counts by itself: a run that was armed before the step and began after it has its
    start by the one clock, and the age of its state by the other.
    """
    lock_admission()  # as whoever stops all load, which locks the same rows in another order
    noted_since = _instants_since(within_s)
    for rows, column in _under_way():
        noted_before = rows.exclude(**{f"{column}__range": noted_since})
        noted_before.update(**{column: F(column) + timedelta(seconds=step_s)})
    Shard.objects.filter(state__in=LIVE_SHARD_STATES).update(lease_until=db_now(settings.LEASE_S))
    # In this transaction: a successor must not follow the step again.
    LoadControl.objects.filter(pk=THE_ROW).update(**known.columns)


def _instants_since(within_s: float):
    """The first and the last instant that may have been noted so lately; a start lies ahead."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now = cursor.fetchone()[0]
    ahead_s = settings.START_DELAY_HOSTS_S + _MARGIN_S
    return now - timedelta(seconds=within_s + _MARGIN_S), now + timedelta(seconds=ahead_s)


def _under_way() -> Iterator[tuple[QuerySet, str]]:
    """Rows of which a rule asks for an age, each with the column that it counts from."""
    under_way = Campaign.objects.filter(started_at__isnull=False, finished_at=None)
    yield under_way, "held_at"
    yield Search.objects.filter(ending=None), "deadline"
    yield LoadControl.objects.filter(pk=THE_ROW, is_on=True), "changed_at"
    # From a campaign's last run counts when its next one is due, and for how long a search waits.
    ended = Run.objects.filter(state=RunState.DONE, campaign__in=under_way)
    yield ended, "t0"
    yield ended, "ended_at"
    runs = Run.objects.exclude(state=RunState.DONE)
    yield runs, "state_at"
    yield runs, "t0"
    yield Probe.objects.filter(finished_at=None), "requested_at"
    yield Probe.objects.filter(finished_at=None), "claimed_at"
    yield Exporter.objects.all(), "asked_at"  # null once it has answered
    # Of hosts only what the clock has left ahead: the rest says when they were checked.
    yield HostClaim.objects.filter(asked_at__gt=db_now()), "asked_at"
    yield HostClaim.objects.filter(checked_at__gt=db_now()), "checked_at"
