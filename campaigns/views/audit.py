"""The audit log: of a project for its owners, of the installation for its administrators."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from campaigns.exports.files import text_file
from campaigns.exports.tables import csv_of_audit
from campaigns.models import Project
from campaigns.permissions import Action, may
from campaigns.queries.audit import audit_entries
from campaigns.queries.pages import page_of
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


def _page(request: HttpRequest, project: Project | None) -> HttpResponse:
    entries = audit_entries(actor_of(request), project)
    page = page_of(entries, PAGE_SIZE, request.GET.get("page", ""))
    return render(request, "audit/list.html", {"project": project, "page": page, "sort": "-id"})


def _file(request: HttpRequest, project: Project | None) -> HttpResponse:
    entries = audit_entries(actor_of(request), project)[:MOST_EXPORTED]
    name = f"audit-of-project-{project.pk}.csv" if project else "audit.csv"
    return text_file(name, csv_of_audit(entries))
