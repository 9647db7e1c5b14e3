"""A live page's answers: the whole page, and to an open copy of itself only what that replaces.
When a run ends, all who watch it fetch their page again in the same moment. Those who see the same
share one rendering; each has only their own form token in it. None of them holds a database
connection while the page is rendered, or while they wait for it. Server-sent events of a campaign,
a run or a share link: authorise, release the database connection, stream. A stream ends after a
while and the page opens the next one where it ended, so that streams of departed viewers end and
restarts of the server are not delayed. After a fault the browser reconnects by itself with
Last-Event-ID."""

import time
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.crypto import salted_hmac
from django.utils.timezone import get_current_timezone_name
from django.views.decorators.http import require_GET

from campaigns.accounts.tokens import open_share
from campaigns.compare.queries.columns import Viewer, who_still_see
from campaigns.core.access import signed_in_get
from campaigns.core.permissions import Actor
from campaigns.live.events import KEEPALIVE, Cursor, Message, News
from campaigns.live.feed import FEED, Feed, Topic
from campaigns.live.waiting import Audience, audience_of, release_connection, turn
from campaigns.models import Campaign, Run

_LAYOUT = "live.html"
# Where a shared rendering has a form token, until a reader gets their own. Nobody can guess it and
# write it into what a page shows, and all processes know it.
PLACE = f"own-form-token-{salted_hmac('campaigns.live.views', 'form token').hexdigest()}"


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
    """`seen`: all that decides what this viewer sees at this address beside the zone, rights and
    revision included.
    A context with a reason for `waiting` is not shared: it may name other projects' campaigns."""
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

    zone = get_current_timezone_name()
    page = FEED.page((template, request.get_full_path(), seen, zone), rendered)
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


LIFETIME_S = 100.0
BEAT_EVERY_S = 2.0
KEEPALIVE_EVERY_S = 10.0


@signed_in_get(Campaign)
def campaign_stream(
    request: HttpRequest, actor: Actor, campaign: Campaign
) -> StreamingHttpResponse:
    return _stream(request, FEED.campaign(campaign.pk), *_joining(request, Campaign, campaign.pk))


@signed_in_get(Run)
def run_stream(request: HttpRequest, actor: Actor, run: Run) -> StreamingHttpResponse:
    return _stream(request, FEED.run(run.pk), *_joining(request, Run, run.pk))


@require_GET
def share_stream(request: HttpRequest, token: str) -> StreamingHttpResponse:
    share = open_share(token=token, counts_view=False)
    if share is None or share.comparison or share.test_id:
        raise Http404
    topic = FEED.campaign(share.campaign_id) if share.campaign_id else FEED.run(share.run_id)
    response = _stream(request, topic, audience_of(token, _valid_links), token)
    response["Referrer-Policy"] = "no-referrer"
    return response


def _joining(request: HttpRequest, model: type, pk: int) -> tuple[Audience, Viewer]:
    """The row's audience, and the viewer who joins it."""
    rows = model.objects.filter(pk=pk)
    return audience_of((model, pk), partial(who_still_see, rows)), Viewer.of(request)


def _valid_links(tokens: set[str]) -> set[str]:
    return {each for each in tokens if open_share(token=each, counts_view=False)}


def _stream(
    request: HttpRequest, topic: Topic, audience: Audience, viewer: Hashable
) -> StreamingHttpResponse:
    text = request.headers.get("Last-Event-ID") or request.GET.get("after")
    seen_state = request.GET.get("state", "")
    release_connection()
    response = StreamingHttpResponse(
        talk(Cursor.parse(text) or Cursor(), seen_state, topic, audience, viewer),
        content_type="text/event-stream",
    )
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


def talk(
    cursor: Cursor,
    seen_state: str,
    topic: Topic,
    audience: Audience,
    viewer: Hashable,
    *,
    feed: Feed = FEED,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[bytes]:
    """The stream's text. Each iteration tells what is new (read once for all viewers), then
    sleeps."""
    with feed.viewer(), audience.joined(viewer):
        yield from _talk(cursor, seen_state, topic, partial(audience.has, viewer), feed, clock)


def _talk(
    cursor: Cursor,
    seen_state: str,
    topic: Topic,
    may_go_on: Callable[[], bool],
    feed: Feed,
    clock: Callable[[], float],
) -> Iterator[bytes]:
    begun = beaten = said = commented = clock()
    pace = None
    yield b"retry: 1000\n\n"
    while (now := clock()) - begun < LIFETIME_S:
        heard = feed.signal.count
        if not may_go_on():
            return
        try:
            told = topic.update_for(cursor, seen_state)
        except ObjectDoesNotExist:
            return  # deleted meanwhile; the browser reconnects and gets a 404
        cursor, seen_state = told.cursor, told.state
        if told.events:
            said = now
            yield told.events
        if told.is_over:
            return
        if now - beaten > BEAT_EVERY_S:
            # When the page may ask for itself again, by how many viewers there are.
            known = pace
            pace = News(spread_ms=round(1000 * feed.spread_s), refresh_s=feed.refresh_s)
            # A second that was told shows as well that the stream lives.
            if pace != known or now - said > BEAT_EVERY_S:
                beaten = said = now
                yield Message("beat", pace).encode()
        if now - commented > KEEPALIVE_EVERY_S:
            commented = now
            yield KEEPALIVE
        topic.wait(heard, told, 1.0)
    # Nothing was missed, so the page only opens the next stream and fetches nothing.
    yield Message("again", News(after=str(cursor), state=seen_state)).encode()
