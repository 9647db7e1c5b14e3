"""The audit log: of a project for its owners, of the installation for its administrators."""

from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from campaigns.exports.tables import csv_of_audit, text_file
from campaigns.models import AuditEntry, Project
from campaigns.permissions import Action, may
from campaigns.queries.items import page_of, sorted_by
from campaigns.views.access import actor_of, find, for_administrators, signed_in_get

PAGE_SIZE = 100
MOST_EXPORTED = 100_000


@signed_in_get
def audit(request: HttpRequest, project: int) -> HttpResponse:
    return _page(request, _owned(request, project))


@signed_in_get
def audit_csv(request: HttpRequest, project: int) -> HttpResponse:
    return _file(request, _owned(request, project))


@for_administrators
@require_GET
def audit_all(request: HttpRequest) -> HttpResponse:
    return _page(request, None)


@for_administrators
@require_GET
def audit_all_csv(request: HttpRequest) -> HttpResponse:
    return _file(request, None)


def _owned(request: HttpRequest, project: int) -> Project:
    """To members who do not own the project, its log does not exist."""
    actor = actor_of(request)
    found = find(Project, actor, pk=project)
    if not may(actor, Action.MANAGE, found):
        raise Http404
    return found


def _entries(request: HttpRequest, project: Project | None) -> QuerySet[AuditEntry]:
    """Of one project, or of everything that the actor may see, newest first."""
    found = AuditEntry.objects.visible_to(actor_of(request))
    return sorted_by(found.filter(project=project.pk) if project else found, F("pk"), falls=True)


def _page(request: HttpRequest, project: Project | None) -> HttpResponse:
    page = page_of(_entries(request, project), PAGE_SIZE, request.GET.get("page", ""))
    return render(request, "audit/list.html", {"project": project, "page": page, "sort": "-id"})


def _file(request: HttpRequest, project: Project | None) -> HttpResponse:
    entries = _entries(request, project)[:MOST_EXPORTED]
    name = f"audit-of-project-{project.pk}.csv" if project else "audit.csv"
    return text_file(name, csv_of_audit(entries))
