"""Error pages: each has a sentence and one thing to do, never a bare code."""

import logging
import sys
import uuid

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import get_template
from psycopg_pool import PoolTimeout

from campaigns.domain.errors import Forbidden, Refused
from campaigns.models.deleted_meanwhile import is_of_what_is_gone

logger = logging.getLogger(__name__)

OUTAGES = (OperationalError, InterfaceError, PoolTimeout)
RETRY_AFTER_S = 5


class OutageMiddleware:
    """Turns a view's exceptions into pages: database unavailable, gone, forbidden, refused."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        return self.get_response(request)

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
