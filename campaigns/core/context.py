"""The context of every page: the user's projects and the current section. The glossary, public,
because share link visitors look up terms too. Error pages: each has a sentence and one thing to do,
never a bare code. Times in the reader's zone: the browser tells its own in a cookie
(`static/js/lib/zone.js`), or the reader chooses one; REST and files stay in UTC."""

import logging
import sys
import uuid
from datetime import UTC, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.contrib import messages
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import get_template
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_GET, require_http_methods
from psycopg_pool import PoolTimeout

from campaigns.core.database import is_of_what_is_gone
from campaigns.core.permissions import Actor, may_create_projects
from campaigns.domain.errors import Forbidden, Refused
from campaigns.domain.presentation.glossary import TERMS
from campaigns.models import Project

# Prefix of a URL's name → section in the top bar.
PLACES = {
    "campaign": "campaigns",
    "search": "campaigns",
    "ladder": "campaigns",
    "run": "campaigns",
    "share": "settings",
    "schedule": "settings",
    "channel": "settings",
    "tls": "settings",
    "audit": "settings",
    "target": "targets",
    "probe": "targets",
    "plan": "plans",
    "comparison": "campaigns",
    "note": "campaigns",
    "history": "history",
    "mark": "history",
    "baseline": "history",
    "injector": "injectors",
    "token": "account",
    "project": "settings",
    "account": "account",
    "profile": "account",
    "invitation": "settings",
}
# Of whole names.
_OTHERWISE = {"run-list": "history", "project-measure": "campaigns", "project-rename": "projects"}


def site(request) -> dict:
    return {
        "my_projects": SimpleLazyObject(lambda: _projects_of(request)),
        "place": place_of(request),
        "may_create_projects": SimpleLazyObject(
            lambda: may_create_projects(Actor(user=getattr(request, "user", None)))
        ),
        "site_version": settings.VERSION,
    }


def place_of(request) -> str:
    name = getattr(request.resolver_match, "url_name", None) or ""
    return _OTHERWISE.get(name) or PLACES.get(name.partition("-")[0], "")


def _projects_of(request) -> list[Project]:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return []
    return list(Project.objects.visible_to(Actor(user=user)).filter(archived_at=None))


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "glossary.html", {"terms": TERMS})


logger = logging.getLogger(__name__)

OUTAGES = (OperationalError, InterfaceError, PoolTimeout)
RETRY_AFTER_S = 5


class OutageMiddleware(MiddlewareMixin):
    """Turns a view's exceptions into pages: database unavailable, gone, forbidden, refused."""

    def process_exception(self, request, error):
        if isinstance(error, OUTAGES):
            return database_away(error, is_form=request.method == "POST")
        if is_of_what_is_gone(error):
            return render(request, "404.html", status=404)
        if isinstance(error, Forbidden):
            return render(request, "403.html", {"sentence": str(error)}, status=403)
        if isinstance(error, Refused):
            return render(request, "409.html", {"sentence": str(error)}, status=409)
        return None


def database_away(error: BaseException, is_form: bool = False) -> HttpResponse:
    """A page that needs no database: no session, no user, no context processor. It reloads itself,
    except after a form: that would lose the input."""
    logger.error("PostgreSQL does not answer: %s", error)
    context = {
        "retry_after_s": RETRY_AFTER_S,
        "is_form": is_form,
        "dead_man_s": settings.DEAD_MAN_S,
    }
    page = get_template("503.html").render(context)
    return HttpResponse(page, status=503, headers={"Retry-After": str(RETRY_AFTER_S)})


def server_error(request) -> HttpResponse:
    """The 500 page with an id that is in the log; sessions also end up here during an outage."""
    error = sys.exc_info()[1]
    if isinstance(error, OUTAGES):
        return database_away(error, is_form=request.method == "POST")
    incident = uuid.uuid4().hex[:8]
    logger.error("Incident %s at %s", incident, request.path, exc_info=error)
    return HttpResponse(get_template("500.html").render({"incident": incident}), status=500)


def csrf_failure(request, reason=""):
    """For a form from another site, or from a page older than the last sign-in."""
    sentence = (
        "This form was opened before you signed in, or it came from another site. "
        "Go back, reload the page and submit it again."
    )
    context = {"sentence": sentence, "is_old_form": True}
    return render(request, "403.html", context, status=403)


COOKIE = "zone"
# Of the browser, as long as nobody chose another: it changes when its owner travels.
AUTO = "auto:"
_YEAR_S = 365 * 24 * 3600
_PROGRAMS = ("/api/v1/", "/metrics", "/healthz", "/readyz")


@cache
def zone_names() -> frozenset[str]:
    return frozenset(available_timezones())


def zone_of(request: HttpRequest) -> tzinfo:
    """UTC where it is not known."""
    name = request.COOKIES.get(COOKIE, "").removeprefix(AUTO)
    is_file = "." in request.path.rpartition("/")[2]
    reads = not is_file and not request.path.startswith(_PROGRAMS)
    return ZoneInfo(name) if reads and name in zone_names() else UTC


class TimeZoneMiddleware(MiddlewareMixin):
    def __call__(self, request: HttpRequest) -> HttpResponse:
        with timezone.override(zone_of(request)):
            return self.get_response(request)


@require_http_methods(["GET", "HEAD", "POST"])
def time_zone(request: HttpRequest) -> HttpResponse:
    """Choose a zone, or "" for that of the browser. Visitors of a share link may as well."""
    if request.method != "POST":
        zone = request.COOKIES.get(COOKIE, AUTO)
        context = {
            "zones": sorted(zone_names()),
            "chosen": "" if zone.startswith(AUTO) else zone,
            "now": timezone.now(),
        }
        return render(request, "accounts/time_zone.html", context)
    name = request.POST.get("zone", "")
    answer = redirect("time-zone")
    if name in zone_names():
        answer.set_cookie(COOKIE, name, max_age=_YEAR_S, samesite="Lax", secure=request.is_secure())
    else:
        answer.delete_cookie(COOKIE, samesite="Lax")
    messages.success(request, "Time zone saved.")
    return answer
