"""TimeMark a deploy, or another event, on the time axis of histories; delete a mark."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from campaigns.core import audit
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import InvalidFields
from campaigns.domain.typed_text import clean_name, is_web_address
from campaigns.models import Project, Target, TimeMark

_MOST = {"text": 100, "link": 500, "key": 150}


def set_mark(
    *,
    by: Actor,
    project: Project,
    text: str,
    at: datetime | None = None,
    link: str = "",
    target: Target | None = None,
    key: str = "",
) -> tuple[TimeMark, bool]:
    """The mark, and whether it is new. `at` is now by default. A mark of the same target with the
    same key is the same mark, and stays as it is. By default the key is the text, with the time if
    one is given: so a job that runs twice leaves one mark. Raises InvalidFields."""
    require(by, Action.EDIT, project)
    text, link = text.strip(), link.strip()
    key = key.strip() or (f"{text} {at.isoformat()}" if at else text)
    text = clean_name(text)
    values = {"text": text, "link": link, "key": key}
    errors = {
        name: f"At most {most} characters are allowed; this has {len(values[name])}."
        for name, most in _MOST.items()
        if len(values[name]) > most
    }
    if not values["text"]:
        errors["text"] = "Say what happened, such as “version 1.4.2 deployed”."
    if values["link"] and not is_web_address(values["link"]):
        errors["link"] = "A link begins with https:// or http://."
    if target and target.project_id != project.pk:
        errors["target"] = "Choose a target of this project."
    if errors:
        raise InvalidFields(errors)
    return TimeMark.objects.get_or_create(
        project=project,
        target=target,
        key=key,
        defaults={"text": text, "link": link, "at": at or timezone.now(), "created_by": by.user},
    )


@transaction.atomic
def delete_mark(*, by: Actor, mark: TimeMark) -> None:
    """Take a mark off the time axis. No result depends on it."""
    require(by, Action.EDIT, mark.project)
    label = f"mark {mark.pk}: {mark.text}"
    n_deleted, _ = TimeMark.objects.filter(pk=mark.pk).delete()
    if n_deleted:
        audit.note(by, AuditEvent.DELETED, label, project=mark.project)
