"""Marks on the time axis of histories, such as deploys, and the days and marks that bound it."""

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

from django.db.models import Q
from django.utils import timezone

from campaigns.models import Project, Target, TimeMark
from campaigns.permissions import Actor

MOST_MARKS = 200  # of one history; its dates lead to older ones
_REFERENCE = re.compile(r"mark-([1-9][0-9]{0,17})", re.ASCII)
HOW = "Write a day, such as 2026-11-01, or a mark, such as mark-12."


def marks_of(
    actor: Actor, target: Target, since: datetime | None = None, until: datetime | None = None
) -> Sequence[TimeMark]:
    """The newest marks of this target and of all targets, in order of time. `until` is not
    included."""
    marks = TimeMark.objects.visible_to(actor).filter(project=target.project_id)
    marks = marks.filter(Q(target=None) | Q(target=target))
    if since:
        marks = marks.filter(at__gte=since)
    if until:
        marks = marks.filter(at__lt=until)
    return list(marks.order_by("-at", "-pk")[:MOST_MARKS])[::-1]


def begin_of(project: Project, text: str) -> datetime:
    """The instant of "mark-12", or the begin of a day. Raises ValueError."""
    return _mark_at(project, text) or _midnight(text)


def end_of(project: Project, text: str) -> datetime:
    """The instant of "mark-12", or the end of a day. Raises ValueError."""
    return _mark_at(project, text) or _midnight(text, days=1)


def is_mark(text: str) -> bool:
    return bool(_REFERENCE.fullmatch(text))


def _mark_at(project: Project, text: str) -> datetime | None:
    if not is_mark(text):
        return None
    found = project.marks.filter(pk=text.removeprefix("mark-"))
    at = found.values_list("at", flat=True).first()
    if at is None:
        raise ValueError(f"This project has no {text}.")
    return at


def _midnight(text: str, days: int = 0) -> datetime:
    try:
        day = date.fromisoformat(text) + timedelta(days=days)
        return timezone.make_aware(datetime.combine(day, time()))
    except (OverflowError, ValueError):
        raise ValueError(HOW) from None
