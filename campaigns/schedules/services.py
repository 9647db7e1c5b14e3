"""Create, change, pause and delete schedules; start what is due, with the rights that the owner has
by then, and note which schedules bring no results any more.

A firing is stored in one transaction with its campaign and with the time of the next one, so it
happens once, whoever comes twice. What was missed is made up for once.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Greatest

from campaigns.campaigns.models import UNDER_WAY
from campaigns.campaigns.services.campaigns import repeat_campaigns, start_campaigns
from campaigns.core import audit
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.errors import Forbidden, InvalidFields, Refused
from campaigns.domain.timetable import Timetable
from campaigns.domain.typed_text import Content, check_unchanged, clean_name
from campaigns.items.services import hold
from campaigns.models import Campaign, Firing, Project, Schedule, TestFigures
from campaigns.notifications.domain import EventKind, EventMessage
from campaigns.notifications.messages import site_url
from campaigns.notifications.models import Event
from campaigns.operations.models import AuditEvent
from campaigns.operations.queries import why_load_is_off
from campaigns.schedules.models import LONGEST_RESULT_H

logger = logging.getLogger(__name__)

MOST_SCHEDULES = 200  # of a project
MOST_AT_ONCE = 50
FIRINGS_KEPT = timedelta(days=90)
_EDITED = ("name", "template_id", "cron", "zone", "when_quiet", "result_within_h")


@transaction.atomic
def create_schedule(*, by: Actor, project: Project, now: datetime, **values: Any) -> Schedule:
    """Raises Forbidden, Refused, and InvalidFields by the names of `_check`."""
    require(by, Action.EDIT, project)
    hold(project)  # so that two at once do not exceed the limit together
    if project.schedules.count() >= MOST_SCHEDULES:
        raise Refused(f"A project has at most {MOST_SCHEDULES} schedules. Delete one first.")
    schedule = Schedule(project=project, on_since=now)
    _set(schedule, by, now, **_check(project, **values))
    schedule.save()
    _note(by, schedule)
    return schedule


@transaction.atomic
def edit_schedule(
    *, by: Actor, schedule: Schedule, now: datetime, opened: str | None = None, **values: Any
) -> Schedule:
    """Whoever saves it becomes its owner. A paused one stays so. Raises also ChangedMeanwhile."""
    require(by, Action.EDIT, schedule.project)
    values_to_save = _check(schedule.project, **values)
    row = _lock(schedule)
    check_unchanged(opened, stored=content_of(row), wanted=values_to_save)
    was_paused = row.next_at is None
    _set(row, by, now, **values_to_save)
    if was_paused:
        row.next_at = None
    row.save()
    _note(by, row)
    return row


@transaction.atomic
def switch_schedule(*, by: Actor, schedule: Schedule, is_on: bool, now: datetime) -> None:
    """Pause it, or resume it from its next time on: what was due meanwhile is not made up for."""
    require(by, Action.EDIT, schedule.project)
    row = _lock(schedule)
    if is_on == (row.next_at is not None):
        return
    row.next_at = next(row.timetable.after(now)) if is_on else None
    row.on_since, row.silent_since = now, None
    row.save(update_fields=["next_at", "on_since", "silent_since"])
    _note(by, row)


@transaction.atomic
def delete_schedule(*, by: Actor, schedule: Schedule) -> None:
    """The campaigns that it started stay."""
    require(by, Action.EDIT, schedule.project)
    label = f"schedule {schedule.pk}: {schedule.name}"
    n_deleted, _ = Schedule.objects.filter(pk=schedule.pk).delete()
    if n_deleted:
        audit.note(by, AuditEvent.DELETED, label, project=schedule.project)


@transaction.atomic
def run_now(*, by: Actor, schedule: Schedule, now: datetime) -> Firing:
    """Start its campaign beside the timetable. Raises Forbidden, or Refused with the reason."""
    require(by, Action.EDIT, schedule.project)
    row = _lock(schedule)
    if why := _why_not([row]).get(row):
        raise Refused(why)
    campaign = _start_copies(by, [row])[row]
    return Firing.objects.create(schedule=row, due_at=now, fired_at=now, campaign=campaign)


def content_of(schedule: Schedule) -> Content:
    return {name: getattr(schedule, name) for name in _EDITED}


def _check(
    project: Project,
    *,
    name: str,
    template: Campaign | None,
    cron: str,
    zone: str,
    when_quiet: bool = True,
    result_within_h: int = 6,
) -> dict[str, Any]:
    errors = {}
    name = clean_name(name)
    if not 0 < len(name) <= 150:
        errors["name"] = "Give the schedule a name of at most 150 characters."
    if template is None or template.project_id != project.pk or template.deleted_at:
        errors["template"] = "Choose a campaign of this project."
    elif hasattr(template, "search"):
        errors["template"] = "A search can't be scheduled. Choose a campaign with fixed tests."
    if not 1 <= result_within_h <= LONGEST_RESULT_H:
        errors["result_within_h"] = f"Enter 1 to {LONGEST_RESULT_H} hours."
    try:
        timetable = Timetable.read(cron, zone)
    except InvalidFields as invalid:
        raise InvalidFields(errors | invalid.errors) from None
    if errors:
        raise InvalidFields(errors)
    values = {"name": name, "template_id": template.pk, "when_quiet": when_quiet}
    values |= {"cron": timetable.cron, "zone": zone, "result_within_h": result_within_h}
    return values


def _set(schedule: Schedule, by: Actor, now: datetime, **checked: Any) -> None:
    for name, value in checked.items():
        setattr(schedule, name, value)
    schedule.owner = by.user
    schedule.next_at = next(schedule.timetable.after(now))


def _lock(schedule: Schedule) -> Schedule:
    """As it is by now, and until the transaction ends."""
    rows = Schedule.objects.select_for_update(no_key=True).filter(pk=schedule.pk).first()
    if rows is None:
        raise Refused("This schedule was deleted meanwhile.")
    return rows


def _note(by: Actor, schedule: Schedule) -> None:
    state = f"{schedule.cron} {schedule.zone}" if schedule.next_at else "paused"
    label = f"schedule {schedule.pk}: {schedule.name}, {state}"
    audit.note(by, AuditEvent.SCHEDULE_SET, label, project=schedule.project)


# --- the dispatcher's part -----------------------------------------------------------------------


def fire_due(now: datetime, *, is_helper: bool = False) -> int:
    """Start what is due in one project, the longest overdue first; how many schedules had their
    turn, of at most MOST_AT_ONCE. A helper begins at the other end: starts in one project wait for
    each other."""
    due = Schedule.objects.outside_trash().filter(next_at__lte=now).order_by("next_at", "pk")
    if is_helper:
        due = due.reverse()
    try:
        return _fire(due, now)
    except Exception:  # one that cannot be fired holds up no other
        logger.exception("Schedules failed; they have their turns one by one")
    numbers = list(due.values_list("pk", flat=True)[:MOST_AT_ONCE])
    for number in numbers:
        try:
            _fire(due.filter(pk=number), now)
        except Exception:
            logger.exception("Schedule %d failed and is paused", number)
            _pause_broken(number, now)
    return len(numbers)


@transaction.atomic
def _pause_broken(number: int, now: datetime) -> None:
    if Schedule.objects.filter(pk=number, next_at__lte=now).update(next_at=None):
        why = "benchsite failed and paused the schedule. The dispatcher's log says how."
        Firing.objects.create(schedule_id=number, due_at=now, fired_at=now, why_skipped=why)


@transaction.atomic
def _fire(due: QuerySet[Schedule], now: datetime) -> int:
    """Those of the first one's project that no other dispatcher has; their number."""
    free = due.select_for_update(of=("self",), no_key=True, skip_locked=True)
    project = free.values_list("project", flat=True).first()
    if project is None:
        return 0
    rows = free.filter(project=project).select_related("owner", "project", "template__search")
    schedules = list(rows[:MOST_AT_ONCE])
    outcomes = _start(schedules)
    firings = []
    for schedule in schedules:
        due_at, n_missed = schedule.timetable.latest(schedule.next_at, now)
        outcome = outcomes[schedule]
        campaign, why = (outcome, "") if isinstance(outcome, Campaign) else (None, outcome)
        firings.append(
            Firing(
                schedule=schedule,
                due_at=due_at,
                fired_at=now,
                n_missed=n_missed,
                campaign=campaign,
                why_skipped=why,
            )
        )
        schedule.next_at = next(schedule.timetable.after(now))
    Firing.objects.bulk_create(firings)
    Schedule.objects.bulk_update(schedules, ["next_at"])
    return len(schedules)


def _start(schedules: Sequence[Schedule]) -> dict[Schedule, Campaign | str]:
    """Copies of their templates, started with the owners' rights, or why there is none. Those of
    one owner are started together, and where one of them is refused, one by one."""
    outcomes: dict[Schedule, Campaign | str] = _why_not(schedules)
    together = defaultdict(list)
    for schedule in schedules:
        if schedule not in outcomes:
            together[schedule.owner, schedule.when_quiet].append(schedule)
    for (owner, _), group in together.items():
        try:
            outcomes |= _start_copies(Actor(user=owner), group)
        except Forbidden:
            who = owner.get_username() if owner else "Its owner"
            why = f"{who} may start nothing here any more. Open the schedule and save it as yours."
            outcomes |= dict.fromkeys(group, why)
        except Refused:
            for schedule in group:
                try:
                    outcomes |= _start_copies(Actor(user=owner), [schedule])
                except Refused as refusal:
                    outcomes[schedule] = str(refusal)
    return outcomes


def _why_not(schedules: Sequence[Schedule]) -> dict[Schedule, str]:
    """What keeps these from starting, whoever owns them."""
    if why := why_load_is_off():
        return dict.fromkeys(schedules, f"Load was off: {why}")
    under_way = Campaign.objects.filter(UNDER_WAY, firing__schedule__in=schedules)
    last = dict(under_way.values_list("firing__schedule", "pk"))
    reasons = {}
    for schedule in schedules:
        template = schedule.template
        if template is None or template.deleted_at:
            reasons[schedule] = "Its campaign was deleted. Choose another one."
        elif number := last.get(schedule.pk):
            reasons[schedule] = f"Campaign {number}, which it started before, was still running."
    return reasons


@transaction.atomic
def _start_copies(by: Actor, schedules: Sequence[Schedule]) -> dict[Schedule, Campaign]:
    """All, or none with Forbidden or Refused."""
    templates = [schedule.template for schedule in schedules]
    names = [schedule.name for schedule in schedules]
    project = schedules[0].project
    copies = repeat_campaigns(by=by, project=project, campaigns=templates, names=names)
    start_campaigns(by=by, campaigns=copies, when_quiet=schedules[0].when_quiet)
    return dict(zip(schedules, copies, strict=True))


def note_silence(now: datetime) -> list[Schedule]:
    """Those that brought no usable result in time and were not noted yet; and note which ones
    bring results again."""
    silent = []
    # Those that are on, with `waits_since`: the first time that it was due after the last one
    # that brought a usable result; None without one.
    with_figures = TestFigures.objects.filter(campaign=OuterRef("campaign"), typical_us__len__gt=0)
    firings = Firing.objects.filter(schedule=OuterRef("pk"), due_at__lte=now)
    usable = firings.filter(Exists(with_figures), campaign__finished_at__isnull=False)
    last = usable.order_by("-due_at").values("due_at")[:1]
    later = firings.filter(due_at__gt=OuterRef("settled_at")).order_by("due_at")
    schedules = Schedule.objects.outside_trash().filter(next_at__isnull=False)
    schedules = schedules.select_related("project")
    # Greatest leaves out what is null.
    schedules = schedules.annotate(settled_at=Greatest("on_since", Subquery(last)))
    for schedule in schedules.annotate(waits_since=Subquery(later.values("due_at")[:1])):
        since = schedule.waits_since
        if since is not None and since + timedelta(hours=schedule.result_within_h) > now:
            since = None
        if since == schedule.silent_since:
            continue
        row = Schedule.objects.filter(pk=schedule.pk, silent_since=schedule.silent_since)
        with transaction.atomic():
            if row.update(silent_since=since) and schedule.silent_since is None:
                silent.append(schedule)
                last = schedule.firings.filter(due_at__gte=since).order_by("-due_at").first()
                start = since.isoformat()
                facts = [("Expected", f"within {schedule.result_within_h} h")]
                facts += [("Last time", last.why_skipped)] if last and last.why_skipped else []
                message = EventMessage(
                    f"{schedule} has brought no usable result since {since:%-d %b %H:%M %Z}.",
                    tuple(facts),
                    site_url("schedule-detail", schedule.pk),
                    "See its outcomes",
                    {"project": schedule.project.name, "schedule": schedule.pk, "since": start},
                )
                key = f"schedule {schedule.pk} {start}"
                Event.of(EventKind.SCHEDULE, key, schedule.project, message).save()
    return silent


def forget_old_firings(now: datetime) -> int:
    """Those that started nothing, or whose campaign is gone; their number. A silent schedule keeps
    the first of its silence."""
    old = Firing.objects.filter(campaign=None, due_at__lt=now - FIRINGS_KEPT)
    of_silence = Q(due_at=F("schedule__silent_since"))
    return old.exclude(of_silence).delete()[0]
