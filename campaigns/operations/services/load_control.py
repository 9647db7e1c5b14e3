"""Switches all load of the installation off and on. Off means: what is sending stops, no run is
admitted, and nothing else is sent to a target either. Only an administrator switches it on again,
also after a backup was restored. Injector hosts announce themselves; their announcements provide
the slots."""

from django.db import transaction
from django.db.models import Case, F, When
from django.db.models.functions import Now

from campaigns.campaigns.models import UNDER_WAY
from campaigns.core import audit
from campaigns.core.database import db_now
from campaigns.core.permissions import NOBODY, Actor, require_administrator
from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import Outcome, StopReason
from campaigns.engine.queries.injector_hosts import ALIVE_S
from campaigns.engine.services import endings
from campaigns.engine.services.dispatch import cut_off_runs, lock_admission
from campaigns.live.notify import notify_viewers
from campaigns.machines.models import THE_ROW
from campaigns.models import Campaign, InjectorHost, LoadControl, Run
from campaigns.operations.models import AuditEvent
from campaigns.operations.queries import LOAD_IS_OFF, active_runs, identity, why_load_is_off

BY_A_PERSON = "{name} stopped all load of this installation."
FROM_THE_CONSOLE = "All load of this installation was stopped by `manage.py stop_load`."
DRAINING = (
    "`manage.py stop_load --drain` lets active runs end as planned and keeps queued ones waiting, "
    "as before an upgrade."
)
RESTORED = (
    "This database was restored from a backup or moved, so what is queued in it may have been "
    "stopped since then."
)


def stop_all_load(*, by: Actor) -> int:
    """Switch load off and stop every campaign; the number of runs that were sending or about to."""
    require_administrator(by)
    endings.call(endings.StopCall(StopReason.ADMINISTRATOR))
    with transaction.atomic():
        audit.note(by, AuditEvent.LOAD_SWITCHED_OFF)
        return _stop_all(BY_A_PERSON.format(name=by.user.get_username()), by.user)


def stop_all_load_from_console() -> int:
    """As `stop_all_load`, for whoever has a shell on the installation's machine."""
    endings.call(endings.StopCall(StopReason.ADMINISTRATOR))
    with transaction.atomic():
        audit.note(NOBODY, AuditEvent.LOAD_SWITCHED_OFF)
        return _stop_all(FROM_THE_CONSOLE, None)


@transaction.atomic
def drain_from_console() -> int:
    """Let no run begin; active ones end as planned and queued ones wait. How many are active."""
    lock_admission()
    audit.note(NOBODY, AuditEvent.LOAD_SWITCHED_OFF, "to drain")
    _switch(False, DRAINING, None)
    return active_runs().count()


def _stop_all(reason: str, user) -> int:
    # No run can be admitted between the two: admission holds the same lock.
    lock_admission()
    _switch(False, reason, user)
    under_way = Campaign.objects.filter(UNDER_WAY)
    under_way.filter(stop_requested_at=None).update(
        stop_requested_at=Now(), stop_requested_by=user, stop_reason=reason
    )
    endings.lock_runs(Run.objects.all())
    endings.end_queued(Run.objects.all(), Outcome.STOPPED, endings.STOPPED_BEFORE)
    n_stopped = endings.request_stop(Run.objects.all(), StopReason.ADMINISTRATOR, by=user)
    for campaign in under_way.values_list("pk", flat=True):
        notify_viewers(campaign_id=campaign)
    return n_stopped


@transaction.atomic
def allow_load(*, by: Actor) -> None:
    """Switch load on again: queued runs begin."""
    require_administrator(by)
    audit.note(by, AuditEvent.LOAD_ALLOWED)
    _switch(True, "", by.user)


@transaction.atomic
def allow_load_from_console() -> None:
    """As `allow_load`, for whoever has a shell on the installation's machine."""
    audit.note(NOBODY, AuditEvent.LOAD_ALLOWED)
    _switch(True, "", None)


def require_load_on() -> None:
    """Raises Refused, where somebody asks for a packet at once."""
    if why_load_is_off():
        raise Refused(LOAD_IS_OFF)


def stay_off_if_restored() -> bool:
    """Switch load off if the table is not the one that the last dispatcher saw; whether it was so.
    A restored dump makes new tables, in this cluster or another. The first dispatcher of an
    installation only notes what it sees."""
    current = identity()
    with transaction.atomic():
        row = LoadControl.objects.select_for_update().filter(pk=THE_ROW).first()
        if row is None:
            LoadControl.objects.create(pk=THE_ROW, identity=current)
            return False
        before, row.identity = row.identity, current
        row.save(update_fields=["identity"])
        if before in ("", current):
            return False
        _switch(False, RESTORED, None)
        cut_off_runs()
        return True


def note_dispatcher() -> None:
    LoadControl.objects.filter(pk=THE_ROW).update(dispatcher_seen_at=Now())


def _switch(is_on: bool, reason: str, user) -> None:
    values = {"is_on": is_on, "reason": reason, "changed_by": user, "changed_at": Now()}
    LoadControl.objects.update_or_create(pk=THE_ROW, defaults=values)


def announce_host(*, name: str, slots: int, facts: dict, use: dict | None = None) -> None:
    """Record that host `name` is alive and can run up to `slots` injectors at once, and what else
    uses it. `started_at` stays while announcements continue and is reset after a gap."""
    fields = {"slots": slots, "facts": facts, "use": use, "seen_at": Now()}
    since = Case(When(seen_at__lt=db_now(-ALIVE_S), then=Now()), default=F("started_at"))
    if not InjectorHost.objects.filter(name=name).update(**fields, started_at=since):
        InjectorHost.objects.bulk_create(
            [InjectorHost(name=name, started_at=Now(), **fields)], ignore_conflicts=True
        )
