"""A live page's answers: the whole page, and to an open copy of itself only what that replaces.
When a run ends, all who watch it fetch their page again in the same moment. Those who see the same
share one rendering; each has only their own form token in it. None of them holds a database
connection while the page is rendered, or while they wait for it. Server-sent events of a campaign,
a run or a share link: authorise, release the database connection, stream. After a fault the browser
reconnects by itself with Last-Event-ID."""

from collections.abc import Callable, Hashable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.crypto import salted_hmac
from django.utils.deprecation import MiddlewareMixin
from django.utils.timezone import get_current_timezone_name
from django.views.decorators.http import require_GET

from campaigns.accounts.tokens import open_share
from campaigns.compare.queries.columns import Viewer
from campaigns.core.access import signed_in_get
from campaigns.core.database import TURNS, release_connection
from campaigns.core.permissions import Actor
from campaigns.live.hub import HUB, Cursor
from campaigns.live.notify import Topic
from campaigns.models import Campaign, Run, ShareLink

_LAYOUT = "live.html"
# Where a shared rendering has a form token, until a reader gets their own. Nobody can guess it and
# write it into what a page shows, and all processes know it.
PLACE = f"own-form-token-{salted_hmac('campaigns.live.views', 'form token').hexdigest()}"


class TurnsMiddleware(MiddlewareMixin):
    """Open pages that ask again, which they all do when a run ends, take turns."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method != "GET" or not is_asked_again(request):
            return self.get_response(request)
        with TURNS:
            return self.get_response(request)


def live_page(
    request: HttpRequest,
    topic: Topic,
    template: str,
    context: Callable[[], dict[str, Any]],
    version: Hashable,
) -> HttpResponse:
    """`version`: all that decides what this viewer sees at this address beside the zone, rights
    included.
    A context with a reason for `waiting` is not shared: it may name other projects' campaigns."""
    if not is_asked_again(request):
        return render(request, template, context())
    personal: list[dict[str, Any]] = []

    def rendered() -> str:
        values = context() | {"layout": _LAYOUT}
        if values.get("waiting"):
            personal.append(values)
            return ""
        release_connection()
        return render_to_string(template, values | {"csrf_token": PLACE}, request)

    zone = get_current_timezone_name()
    page = HUB.page(topic, (template, request.get_full_path(), version, zone), rendered)
    if not page:
        values = personal[0] if personal else context() | {"layout": _LAYOUT}
        return _without_cache(render(request, template, values))
    return _without_cache(HttpResponse(with_own_token(page, request)))


def is_asked_again(request: HttpRequest) -> bool:
    """Whether an open copy of the page asks for what has changed."""
    return request.headers.get("X-Requested-With") == "XMLHttpRequest"


def with_own_token(page: str, request: HttpRequest) -> str:
    """The page as it is for this reader; one without forms gives them no token and no cookie."""
    return page.replace(PLACE, get_token(request)) if PLACE in page else page


def _without_cache(response: HttpResponse) -> HttpResponse:
    """A part of a page must not come back as the page when somebody goes back to its address."""
    response["Cache-Control"] = "no-store"
    response["Vary"] = "X-Requested-With"
    return response


@signed_in_get(Campaign)
def campaign_stream(
    request: HttpRequest, actor: Actor, campaign: Campaign
) -> StreamingHttpResponse:
    return _stream(request, ("campaign", campaign.pk), Viewer.of(request))


@signed_in_get(Run)
def run_stream(request: HttpRequest, actor: Actor, run: Run) -> StreamingHttpResponse:
    return _stream(request, ("run", run.pk), Viewer.of(request))


@require_GET
def share_stream(request: HttpRequest, token: str) -> StreamingHttpResponse:
    share = open_share(token=token, counts_view=False)
    if share is None or share.comparison or share.test_id:
        raise Http404
    response = _stream(request, share_topic(share), share.pk)
    response["Referrer-Policy"] = "no-referrer"
    return response


def share_topic(share: ShareLink) -> Topic:
    return ("campaign", share.campaign_id) if share.campaign_id else ("run", share.run_id)


def _stream(request: HttpRequest, topic: Topic, viewer: Viewer | int) -> StreamingHttpResponse:
    cursor = Cursor.parse(request.headers.get("Last-Event-ID") or request.GET.get("after"))
    release_connection()
    events = HUB.stream(topic, cursor or Cursor(), request.GET.get("state", ""), viewer)
    response = StreamingHttpResponse(events, content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response
