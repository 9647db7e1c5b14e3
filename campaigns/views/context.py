"""The context of every page: the user's projects and the current section. The glossary. Public,
because share link visitors look up terms too."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_GET

from campaigns.domain.shown.glossary import TERMS
from campaigns.models import Project
from campaigns.permissions import Actor, may_create_projects
from campaigns.queries.injector_hosts import why_nothing_begins

# Prefix of a URL's name → section in the top bar.
PLACES = {
    "campaign": "campaigns",
    "run": "campaigns",
    "share": "campaigns",
    "target": "targets",
    "probe": "targets",
    "plan": "plans",
    "comparison": "campaigns",
    "history": "history",
    "mark": "history",
    "baseline": "history",
    "injector": "injectors",
    "token": "account",
    "password": "account",
    "project": "projects",
}


def site(request) -> dict:
    return {
        "my_projects": SimpleLazyObject(lambda: _projects_of(request)),
        "place": place_of(request),
        "may_create_projects": SimpleLazyObject(
            lambda: may_create_projects(Actor(user=getattr(request, "user", None)))
        ),
        "site_version": settings.VERSION,
        "nothing_begins": SimpleLazyObject(lambda: _nothing_begins(request)),
    }


def place_of(request) -> str:
    name = getattr(request.resolver_match, "url_name", None) or ""
    return "history" if name == "run-list" else PLACES.get(name.partition("-")[0], "")


def _nothing_begins(request) -> str:
    """Why, for those who are signed in; "" while runs begin as usual."""
    user = getattr(request, "user", None)
    return why_nothing_begins() if user is not None and user.is_authenticated else ""


def _projects_of(request) -> list[Project]:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return []
    return list(Project.objects.visible_to(Actor(user=user)).filter(archived_at=None))


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "glossary.html", {"terms": TERMS})
