"""A live page's answers: the whole page, and to an open copy of itself only what that replaces.

When a run ends, all who watch it fetch their page again in the same moment. Those who see the same
share one rendering; each has only their own form token in it. None of them holds a database
connection while the page is rendered, or while they wait for it.
"""

from collections.abc import Callable, Hashable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.crypto import salted_hmac

from campaigns.live.feed import FEED
from campaigns.live.waiting import release_connection, turn

_LAYOUT = "live.html"
# Where a shared rendering has a form token, until a reader gets their own. Nobody can guess it and
# write it into what a page shows, and all processes know it.
PLACE = f"own-form-token-{salted_hmac('campaigns.views.live_pages', 'form token').hexdigest()}"


class TurnsMiddleware:
    """Open pages that ask again, which they all do when a run ends, take turns."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]):
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method != "GET" or not is_asked_again(request):
            return self._get_response(request)
        with turn():
            return self._get_response(request)


def live_page(
    request: HttpRequest, template: str, context: Callable[[], dict[str, Any]], seen: Hashable
) -> HttpResponse:
    """`seen`: all that decides what this viewer sees at this address, rights and revision included.

    A context with a reason for `waiting` is not shared: it may name other projects' campaigns.
    """
    if not is_asked_again(request):
        return render(request, template, context())
    personal: list[dict[str, Any]] = []

    def rendered() -> str:
        made = context() | {"layout": _LAYOUT}
        if made.get("waiting"):
            personal.append(made)
            return ""
        release_connection()
        return render_to_string(template, made | {"csrf_token": PLACE}, request)

    page = FEED.page((template, request.get_full_path(), seen), rendered)
    if not page:
        made = personal[0] if personal else context() | {"layout": _LAYOUT}
        return _uncached(render(request, template, made))
    return _uncached(HttpResponse(with_own_token(page, request)))


def is_asked_again(request: HttpRequest) -> bool:
    """Whether an open copy of the page asks for what has changed."""
    return request.headers.get("X-Requested-With") == "XMLHttpRequest"


def with_own_token(page: str, request: HttpRequest) -> str:
    """The page as it is for this reader; one without forms gives them no token and no cookie."""
    return page.replace(PLACE, get_token(request)) if PLACE in page else page


def _uncached(response: HttpResponse) -> HttpResponse:
    """A part of a page must not come back as the page when somebody goes back to its address."""
    response["Cache-Control"] = "no-store"
    response["Vary"] = "X-Requested-With"
    return response
