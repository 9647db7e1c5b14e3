"""Add, change and delete notes. Editors add them; an author and a project's owners change them."""

from django.db import transaction
from django.utils import timezone

from campaigns.core import audit
from campaigns.core.permissions import Action, Actor, require, rights
from campaigns.domain.errors import Forbidden, InvalidFields, Refused
from campaigns.domain.typed_text import Content, check_unchanged, storable
from campaigns.items.services import hold
from campaigns.models import Campaign, Note, Project, Run, Test
from campaigns.operations.models import AuditEvent

MOST_NOTES = 100  # of one thing
LONGEST_NOTE = 10_000


@transaction.atomic
def add_note(*, by: Actor, of: Campaign | Run | Test, text: str, is_shared: bool = False) -> Note:
    """Of a test: for all campaigns that measure it. Raises Forbidden, Refused, InvalidFields."""
    campaign = of if isinstance(of, Campaign) else of.campaign
    project = campaign.project
    require(by, Action.EDIT, project)
    hold(campaign)  # so that two at once do not exceed the limit together
    if Note.objects.filter(**subject_of(of)).count() >= MOST_NOTES:
        raise Refused(f"There are {MOST_NOTES} notes here. Delete one first.")
    note = Note(project=project, author=by.user, is_shared=is_shared, **subject_of(of))
    note.text = _clean(text)
    note.save()
    audit.note(by, AuditEvent.NOTE_ADDED, str(note), project=project)
    return note


def subject_of(of: Campaign | Run | Test) -> dict[str, object]:
    """The fields of a note that say what it is of."""
    if isinstance(of, Campaign | Run):
        return {of._meta.model_name: of}
    where = {"plan_id": of.plan_version.plan_id, "endpoint_id": of.endpoint_id}
    return where | {"connection_mode": of.connection_mode, "injectors": of.injectors}


@transaction.atomic
def edit_note(
    *, by: Actor, note: Note, text: str, is_shared: bool, opened: str | None = None
) -> Note:
    """`opened`: what the form was opened with. Raises Forbidden, ChangedMeanwhile, InvalidFields
    and Refused."""
    row = _lock(by, note)
    content = {"text": _clean(text), "is_shared": is_shared}
    check_unchanged(opened, stored=content_of(row), wanted=content)
    if content != content_of(row):
        row.text, row.is_shared, row.edited_at = content["text"], is_shared, timezone.now()
        row.save(update_fields=["text", "is_shared", "edited_at"])
        audit.note(by, AuditEvent.NOTE_CHANGED, str(row), project=row.project)
    return row


@transaction.atomic
def delete_note(*, by: Actor, note: Note) -> None:
    row = _lock(by, note)
    audit.note(by, AuditEvent.NOTE_DELETED, str(row), project=row.project)
    row.delete()


def content_of(note: Note) -> Content:
    """What `edit_note` replaces."""
    return {"text": note.text, "is_shared": note.is_shared}


def may_change(by: Actor, note: Note, project: Project) -> bool:
    allowed = rights(by, project)
    is_own = by.user is not None and note.author_id == by.user.pk
    return Action.EDIT in allowed and (is_own or Action.ADMINISTER in allowed)


def _lock(by: Actor, note: Note) -> Note:
    """As it is by now, and until the transaction ends."""
    rows = Note.objects.select_related("project").select_for_update(of=("self",), no_key=True)
    row = rows.filter(pk=note.pk).first()
    if row is None:
        raise Refused("This note was deleted meanwhile.")
    require(by, Action.EDIT, row.project)
    if not may_change(by, row, row.project):
        raise Forbidden("Only its author or an owner may change this note.")
    return row


def _clean(text: str) -> str:
    text = storable(text.replace("\r\n", "\n")).strip()
    if not text:
        raise InvalidFields({"text": "Write a note."})
    if len(text) > LONGEST_NOTE:
        sentence = f"The note has {len(text):,} characters; at most {LONGEST_NOTE:,} are allowed."
        raise InvalidFields({"text": sentence})
    return text
