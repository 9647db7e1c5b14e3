"""Rename, tag, archive, restore and delete campaigns, plans, targets and projects."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import chain, count

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from campaigns.core import audit
from campaigns.core.database import db_now, text_faults
from campaigns.core.permissions import NOBODY, Actor, require
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.typed_text import Content, check_unchanged, clean_name, clean_tags
from campaigns.items.queries.items import refusal_to_archive, refusal_to_delete
from campaigns.models import Campaign, Project, SavedPlan, Target, Test
from campaigns.operations.models import AuditEvent
from campaigns.projects.models import Item

# Rows that one statement deletes: PostgreSQL gives each 15 s.
_AT_ONCE = 20


@transaction.atomic
def describe_item(
    *,
    by: Actor,
    item: Item,
    name: str | None = None,
    tags: Sequence[str] | None = None,
    opened: str | None = None,
) -> Item:
    """The item with another name or other tags; None keeps them. `opened`: what the form was opened
    with. Raises InvalidFields and ChangedMeanwhile."""
    _require(by, [item])
    hold(item)
    content = content_of(item)
    errors: dict[str, str] = {}
    for field, value, clean in (
        ("name", name, lambda text: clean_item_name(item, text)),
        ("tags", tags, clean_tags),
    ):
        if value is not None:
            try:
                setattr(item, field, clean(value))
            except InvalidFields as invalid:
                errors |= invalid.errors
    if errors:
        raise InvalidFields(errors)
    check_unchanged(opened, stored=content, wanted=content_of(item))
    fields = ["name", "tags"]
    if isinstance(item, Target):
        item.is_kept = True
        fields.append("is_kept")
    try:
        with transaction.atomic():
            item.save(update_fields=fields)
    except IntegrityError:
        raise InvalidFields({"name": f"Another {noun_of(item)} has this name."}) from None
    return item


def content_of(item: Item) -> Content:
    """What `describe_item` replaces."""
    return {"name": item.name, "tags": item.tags}


def hold(item: Item, *, in_trash: bool = False) -> None:
    """Read it anew, for others may have changed it since, and keep it from them until the
    transaction ends. Raises Refused for one that is gone, and unless it may be `in_trash` for one
    that is there."""
    try:
        item.refresh_from_db(from_queryset=type(item).objects.select_for_update(no_key=True))
    except type(item).DoesNotExist:
        raise Refused(f"{item.name} has been deleted.") from None
    if not in_trash and item.deleted_at:
        raise Refused(f"{item.name} has been deleted.")


def free_name(name: str, names_in_use: Iterable[str]) -> str:
    """The name, or the first of name (2), name (3) … that is not taken."""
    in_use, more_names = set(names_in_use), (f"{name[:90]} ({number})" for number in count(2))
    return next(each for each in chain([name], more_names) if each not in in_use)


@transaction.atomic
def tag_items(
    *, by: Actor, items: Sequence[Item], add: Sequence[str] = (), remove: Sequence[str] = ()
) -> None:
    """Add tags to all of the items, or take some away. Raises InvalidFields."""
    _require(by, items)
    new_tags, dropped_tags = set(clean_tags(add)), set(clean_tags(remove))
    for item in _under_lock(items):
        try:
            item.tags = clean_tags((set(item.tags) | new_tags) - dropped_tags)
        except InvalidFields as invalid:
            raise Refused(f"{item.name}: {invalid.errors['tags']}") from None
        item.save(update_fields=["tags"])


@transaction.atomic
def archive_items(*, by: Actor, items: Sequence[Item]) -> datetime:
    """Take the items out of lists and forms; their results stay. Returns when, which names
    them for an undo. Raises Refused while one is in use."""
    _require(by, items)
    for item in _under_lock(items):
        if refusal := refusal_to_archive(item):
            raise Refused(refusal)
    now = timezone.now()
    _as_list(items).filter(archived_at=None).update(archived_at=now)
    return now


@transaction.atomic
def restore_items(*, by: Actor, items: Sequence[Item]) -> None:
    """Show archived items in lists and forms again, and those of the trash as they were before.
    Raises Refused where a name is taken, and for one that is gone."""
    _require(by, items)
    for item in items:
        hold(item, in_trash=True)
        deleted_at = item.deleted_at
        fields: dict[str, datetime | None] = {"archived_at": None}
        if deleted_at:
            # What was archived before it was deleted has another time.
            was_archived = item.archived_at != deleted_at
            fields = {"archived_at": item.archived_at if was_archived else None, "deleted_at": None}
        try:
            with transaction.atomic():
                _as_list([item]).update(**fields)
        except IntegrityError:
            raise Refused(
                f"Another {noun_of(item)} is named {item.name} now. Rename one of them first."
            ) from None
        if deleted_at:
            audit.note(by, AuditEvent.RESTORED, _label_of(item), project=item.home)


@transaction.atomic
def delete_items(*, by: Actor, items: Sequence[Item]) -> datetime:
    """Put the items into the trash. Returns when, which names them for an undo. Raises
    Refused, and deletes none, if one of them is in use."""
    _require(by, items)
    for item in _under_lock(items):
        if refusal := refusal_to_delete(item):
            raise Refused(refusal)
        audit.note(by, AuditEvent.DELETED, _label_of(item), project=item.home)
    now = timezone.now()
    _as_list(items).filter(deleted_at=None).update(
        archived_at=Coalesce("archived_at", Value(now)), deleted_at=now
    )
    return now


@transaction.atomic
def purge_items(*, by: Actor, items: Sequence[Item]) -> None:
    """Delete items of the trash with all that belongs to them, and nothing else. Raises Refused,
    and deletes none, if one of them is in use or was restored."""
    _require(by, items)
    with _refused_while_parts_change(items):
        rows = _under_lock(items)
        for item in rows:
            if item.deleted_at is None:
                raise Refused(f"{item.name} has been restored.")
            if refusal := refusal_to_delete(item):
                raise Refused(refusal)
            audit.note(by, AuditEvent.DELETED_FOREVER, _label_of(item), project=item.home)
        if isinstance(items[0], Project):
            # Who starts a campaign holds that, and needs its project at the end; here it is the
            # other way round. Less than the second after which PostgreSQL would end one of the two.
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '500ms'")
        _delete_rows(rows)
        connection.check_constraints()  # here, where it can be refused, and not when it is stored


def empty_trash(*, is_over: Callable[[], bool]) -> int:
    """Delete what has been in the trash for as long as it is kept; how many items. What somebody
    restores now stays, and so does what a campaign needs, which may itself be in the trash."""
    n_gone = 0
    for kind in (Project, Campaign, SavedPlan, Target):  # a campaign's plan and target after it
        old = kind.objects.filter(deleted_at__lt=db_now(-kind.KEPT_DAYS * 24 * 3600))
        if kind in _PATHS:
            old = old.exclude(pk__in=Test.objects.values(_PATHS[kind]))
        while not is_over():
            with transaction.atomic():
                due = list(old.select_for_update(of=("self",), skip_locked=True)[:_AT_ONCE])
                for item in due:
                    what = f"{_label_of(item)}, {item.KEPT_DAYS} days after its deletion"
                    audit.note(NOBODY, AuditEvent.DELETED_FOREVER, what, project=item.home)
                if due:
                    _delete_rows(due)
            n_gone += len(due)
            if len(due) < _AT_ONCE:
                break
    return n_gone


_PATHS = {SavedPlan: "plan_version__plan", Target: "endpoint__target"}


def _label_of(item: Item) -> str:
    return f"{noun_of(item)} {item.pk}: {item.name}"


@contextmanager
def _refused_while_parts_change(items: Sequence[Item]) -> Iterator[None]:
    names = ", ".join(item.name for item in items)
    try:
        yield
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            raise Refused(f"{names}: something of it is being changed. Try again.") from None
        raise
    except IntegrityError:
        raise Refused(f"{names}: something was made with it meanwhile. Try again.") from None


def _delete_rows(items: Sequence[Item]) -> None:
    pks = [item.pk for item in items]
    if isinstance(items[0], Project):
        _delete_campaigns(
            list(Campaign.objects.filter(project__in=pks).values_list("pk", flat=True))
        )
        Target.objects.filter(project__in=pks).delete()
        SavedPlan.objects.filter(project__in=pks).delete()
    if isinstance(items[0], Campaign):
        _delete_campaigns(pks)
    else:
        _as_list(items).delete()


def _delete_campaigns(pks: Sequence[int]) -> None:
    for start in range(0, len(pks), _AT_ONCE):
        Campaign.objects.filter(pk__in=pks[start : start + _AT_ONCE]).delete()


def noun_of(item: Item) -> str:
    """campaign, plan, target or project"""
    return "plan" if isinstance(item, SavedPlan) else item._meta.model_name


def _require(by: Actor, items: Sequence[Item]) -> None:
    for home in {item.home for item in items}:
        require(by, items[0].administered_by, home)


def _as_list(items: Sequence[Item]):
    return type(items[0]).objects.filter(pk__in=[item.pk for item in items])


def _under_lock(items: Sequence[Item]) -> list[Item]:
    """The rows as they are now, kept from being started or deleted by others meanwhile."""
    return list(_as_list(items).select_for_update(of=("self",)).order_by("pk"))


def clean_item_name(item: Item, name: str) -> str:
    """The name as it is stored. Raises InvalidFields."""
    name = clean_name(name)
    if not name:
        raise InvalidFields({"name": f"Give the {noun_of(item)} a name."})
    if faults := text_faults(type(item), {"name": name}):
        raise InvalidFields(faults)
    return name
