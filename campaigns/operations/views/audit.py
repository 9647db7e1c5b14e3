"""The audit log: of a project for its owners, of the installation for its administrators."""

from collections.abc import Iterable

from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from campaigns.core.access import actor_of, find, rights_in, signed_in_get
from campaigns.core.pages import sorted_by
from campaigns.core.permissions import Action, may
from campaigns.core.tables import csv_of_rows, text_file
from campaigns.items.queries.filters import AuditFilterSet
from campaigns.items.views.lists import Chip, asked_of, filter_rows, list_context, since_chip
from campaigns.models import AuditEntry, Project
from campaigns.operations.models import AuditEvent

MOST_EXPORTED = 100_000


@signed_in_get
def audit(request: HttpRequest, project: int | None = None) -> HttpResponse:
    entries = _readable(request, project)
    deeds = Chip("deed", "Action", [(str(deed), deed.words) for deed in AuditEvent])
    chips = [deeds, since_chip()]
    context = list_context(
        request, AuditFilterSet, _entries(request, entries), chips, nouns="entries", finds="Search"
    )
    may_do = rights_in(entries, actor_of(request)) if entries else {}
    return render(request, "operations/audit.html", {"project": entries, "may": may_do, **context})


@signed_in_get
def audit_csv(request: HttpRequest, project: int | None = None) -> HttpResponse:
    found = _readable(request, project)
    rows = _entries(request, found)
    entries = filter_rows(actor_of(request), AuditFilterSet, rows, asked_of(request)).qs
    name = f"audit-of-project-{found.pk}.csv" if found else "audit.csv"
    return text_file(name, csv_of_audit(entries[:MOST_EXPORTED]))


def _readable(request: HttpRequest, project: int | None) -> Project | None:
    """None of the installation. To others than owners and administrators a log does not exist."""
    actor = actor_of(request)
    project_row = find(Project, actor, pk=project) if project else None
    if not (may(actor, Action.MANAGE, project_row) if project_row else actor.is_administrator):
        raise Http404
    return project_row


def _entries(request: HttpRequest, project: Project | None) -> QuerySet[AuditEntry]:
    """Of one project, or of everything that the actor may see, newest first."""
    entries = AuditEntry.objects.visible_to(actor_of(request))
    return sorted_by(
        entries.filter(project=project.pk) if project else entries, F("pk"), falls=True
    )


_COLUMNS = ("id", "at", "project_id", "project", "who", "token", "address", "deed", "what")


def csv_of_audit(entries: Iterable[AuditEntry]) -> str:
    rows = (
        {
            "id": entry.pk,
            "at": entry.at.isoformat(),
            "project_id": entry.project,
            "project": entry.project_name,
            **{name: getattr(entry, name) for name in _COLUMNS[4:]},
        }
        for entry in entries
    )
    return csv_of_rows(_COLUMNS, rows)
