"""Times in the reader's zone. The browser tells its own in a cookie (`static/js/lib/zone.js`), or
the reader chooses one. What programs read stays in UTC: REST and files."""

from collections.abc import Callable
from datetime import UTC, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

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


class TimeZoneMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]):
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with timezone.override(zone_of(request)):
            return self._get_response(request)


@require_http_methods(["GET", "HEAD", "POST"])
def time_zone(request: HttpRequest) -> HttpResponse:
    """Choose a zone, or "" for that of the browser. Visitors of a share link may as well."""
    if request.method != "POST":
        chosen = request.COOKIES.get(COOKIE, AUTO)
        context = {
            "zones": sorted(zone_names()),
            "chosen": "" if chosen.startswith(AUTO) else chosen,
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
