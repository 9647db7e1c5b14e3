"""What a form is answered with whose sender was signed out before it was sent."""

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme

# In the sign-in's address, by which lib/typed.js knows that what was typed is still wanted.
UNDONE = "undone=1"
NOTHING_DONE = "You were signed out, so nothing was done. Do it again."


class SignedOutMiddleware:
    """Who signs in then comes back to the page that had the form, which says that nothing was
    done. The form's own address often takes forms only, and has no page."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        response = self.get_response(request)
        if request.method != "POST" or not _asks_to_sign_in(response):
            return response
        if "X-Requested-With" in request.headers:  # a script's, which says so itself
            return response
        messages.error(request, NOTHING_DONE)
        return redirect_to_login(_page_of(request), f"{resolve_url(settings.LOGIN_URL)}?{UNDONE}")


def _asks_to_sign_in(response) -> bool:
    where = urlsplit(response.headers.get("Location", ""))
    return where.path == resolve_url(settings.LOGIN_URL) and where.query.startswith("next=")


def _page_of(request) -> str:
    """Where the form was; without a Referer the projects."""
    page = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(page, {request.get_host()}, request.is_secure()):
        return resolve_url(settings.LOGIN_REDIRECT_URL)
    where = urlsplit(page)
    return f"{where.path}?{where.query}" if where.query else where.path
