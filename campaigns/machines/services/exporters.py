"""Exporters of targets: our agent, node_exporter, or a server's own. Set, check and remove them. A
token is sent only to the origin that it was entered for: who enters another address enters it
again."""

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from campaigns.core import audit, queue
from campaigns.core.dbtime import ClockTimestamp, db_now
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.edit_conflicts import Content, check_unchanged
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.plan.exporters import ExporterFields, check_exporter
from campaigns.models import Exporter, Target
from campaigns.operations.queries.load_control import why_load_is_off
from campaigns.operations.services.load_control import require_load_on
from campaigns.projects.services.vault import encrypt
from campaigns.targets.services.targets import keep_target

MOST_EXPORTERS = 20  # of a target
CHECK_EVERY_S = 3
# One that hangs takes a worker a second.
ASK_AGAIN_EVERY_S, MOST_ASKED_AGAIN = 60.0, 20
_NAME_TAKEN = {"name": "The target already has a machine with this name. Choose another."}


@transaction.atomic
def add_exporter(*, by: Actor, target: Target, **fields: Any) -> Exporter:
    """`fields` as in domain.plan.exporters.check_exporter. Raises InvalidFields."""
    require(by, Action.EDIT, target.project)
    keep_target(target)  # which holds it, so that two at once do not exceed the limit together
    if target.archived_at:
        raise Refused(f"{target.name} is archived. Restore it first.")
    if target.exporters.count() >= MOST_EXPORTERS:
        raise Refused(f"{target.name} has {MOST_EXPORTERS} machines. Remove one of them first.")
    return _save(by, Exporter(target=target), check_exporter(**fields))


@transaction.atomic
def change_exporter(
    *, by: Actor, exporter: Exporter, opened: str | None = None, **fields: Any
) -> Exporter:
    """As `add_exporter`; without a token the stored one stays, "" removes it. `opened`: what the
    form was opened with. Raises ChangedMeanwhile."""
    require(by, Action.EDIT, exporter.target.project)
    checked = check_exporter(**fields)
    # Read it anew: one that was removed since would come back with its token.
    try:
        exporter.refresh_from_db(from_queryset=Exporter.objects.select_for_update())
    except Exporter.DoesNotExist:
        raise Refused(f"{exporter.name} was removed meanwhile. Add it anew.") from None
    check_unchanged(opened, stored=content_of(exporter), wanted=content_of(checked))
    if exporter.token and checked.token is None:
        before, now = ((each.address.origin, each.ca_pem) for each in (exporter, checked))
        if before != now or checked.verify_tls < exporter.verify_tls:
            origin = f"{exporter.address.origin} as it is verified now"
            raise InvalidFields({"token": f"The stored token is for {origin}. Enter it again."})
    return _save(by, exporter, checked)


def content_of(exporter: Exporter | ExporterFields) -> Content:
    """What `change_exporter` replaces, but for the token, which no form shows."""
    names = ("url", "name", "is_server", "verify_tls", "ca_pem")
    return {name: getattr(exporter, name) for name in names}


def _save(by: Actor, exporter: Exporter, given: ExporterFields) -> Exporter:
    exporter.name, exporter.url = given.name, given.url
    exporter.verify_tls, exporter.ca_pem = given.verify_tls, given.ca_pem
    exporter.is_server = given.is_server
    # What was told before was told by another address, or read otherwise.
    exporter.offers, exporter.told_at = [], None
    exporter.problem, exporter.problem_at = "", None
    deeds = [AuditEvent.EXPORTER_SET, *_keep_token(exporter, given.token)]
    try:
        with transaction.atomic():
            exporter.save()
    except IntegrityError:
        raise InvalidFields(_NAME_TAKEN) from None
    for deed in deeds:
        audit.note(by, deed, _label(exporter), project=exporter.target.project)
    _ask_worker(Exporter.objects.filter(pk=exporter.pk), exporter.pk)
    return exporter


def _keep_token(exporter: Exporter, token: str | None) -> list[AuditEvent]:
    """Store the token encrypted; "" removes it, None keeps it."""
    if token is None or token == exporter.token == "":
        return []
    exporter.token = encrypt(token) if token else ""
    return [AuditEvent.SECRET_STORED if token else AuditEvent.SECRET_DELETED]


@transaction.atomic
def remove_exporter(*, by: Actor, exporter: Exporter) -> None:
    """It is not scraped by runs that begin from now on. What it told stays."""
    require(by, Action.EDIT, exporter.target.project)
    audit.note(by, AuditEvent.DELETED, _label(exporter), project=exporter.target.project)
    exporter.delete()


def _label(exporter: Exporter) -> str:
    return f"exporter {exporter.pk}: {exporter.name} of {exporter.target}, {exporter.url}"


@transaction.atomic
def ask_check(*, by: Actor, exporter: Exporter) -> None:
    """Have a worker scrape it once, to tell what it offers."""
    require(by, Action.EDIT, exporter.target.project)
    require_load_on()
    rested = Q(asked_at=None) | Q(asked_at__lt=db_now(-CHECK_EVERY_S))
    if not _ask_worker(Exporter.objects.filter(rested, pk=exporter.pk), exporter.pk):
        raise Refused(f"A check was asked for a moment ago. Try again in {CHECK_EVERY_S} s.")


def _ask_worker(rows: QuerySet[Exporter], pk: int) -> bool:
    n_asked = rows.update(asked_at=ClockTimestamp())
    if n_asked:
        queue.enqueue(queue.EXPORTER, [pk])
    return bool(n_asked)


def ask_again() -> int:
    """Have workers ask some of those in use, chosen by chance, so that pages and notifications say
    what is so now."""
    if why_load_is_off():
        return 0
    rows = Exporter.objects.outside_trash().filter(target__archived_at=None).order_by("?")
    pks = list(rows.values_list("pk", flat=True)[:MOST_ASKED_AGAIN])
    Exporter.objects.filter(pk__in=pks).update(asked_at=ClockTimestamp())
    for pk in pks:
        queue.send(queue.EXPORTER, [pk], expires_s=ASK_AGAIN_EVERY_S)
    return len(pks)
