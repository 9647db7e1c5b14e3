"""Server-sent events of a campaign, a run or a share link: authorise, release the database
connection, stream.

A stream ends after a while and the page opens the next one where it ended, so that streams of
departed viewers end and restarts of the server are not delayed. After a fault the browser
reconnects by itself with Last-Event-ID.
"""

import time
from collections.abc import Callable, Iterator

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Exists
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from campaigns.live.events import KEEPALIVE, Cursor, Look, Message, News, news
from campaigns.live.feed import FEED, Feed
from campaigns.live.waiting import release_connection
from campaigns.models import Campaign, Run
from campaigns.permissions import Actor
from campaigns.services.shares import open_share
from campaigns.views.access import actor_of, find

LIFETIME_S = 100.0
BEAT_EVERY_S = 2.0
KEEPALIVE_EVERY_S = 10.0
# With the wait of a second between two looks, whoever loses the right hears nothing after 10 s.
CHECK_EVERY_S = 9.0


@login_required
@require_GET
def campaign_stream(request: HttpRequest, campaign: int) -> StreamingHttpResponse:
    find(Campaign, actor_of(request), pk=campaign)
    return _stream(
        request,
        lambda: FEED.campaign(campaign),
        lambda: still_sees(request, Campaign, campaign),
    )


@login_required
@require_GET
def run_stream(request: HttpRequest, run: int) -> StreamingHttpResponse:
    find(Run, actor_of(request), pk=run)
    return _stream(
        request,
        lambda: FEED.run(run),
        lambda: still_sees(request, Run, run),
    )


@require_GET
def share_stream(request: HttpRequest, token: str) -> StreamingHttpResponse:
    share = open_share(token=token, counts_view=False)
    if share is None or share.comparison:
        raise Http404
    look = (
        (lambda: FEED.campaign(share.campaign_id))
        if share.campaign_id
        else (lambda: FEED.run(share.run_id))
    )
    response = _stream(
        request, look, lambda: open_share(token=token, counts_view=False) is not None
    )
    response["Referrer-Policy"] = "no-referrer"
    return response


def still_sees(request: HttpRequest, model: type, pk: int) -> bool:
    """Whether the viewer is still signed in, with an active account that sees this row.

    Read anew, by one statement, for hundreds of streams ask: a sign-out deletes the session while
    the stream is open, and an account that is disabled or has a new password no longer fits its
    session.
    """
    user = request.user
    session = Session.objects.filter(pk=request.session.session_key, expire_date__gt=timezone.now())
    account = User.objects.filter(pk=user.pk, is_active=True, password=user.password)
    rows = model.objects.visible_to(Actor(user=user)).filter(pk=pk)
    return rows.filter(Exists(session), Exists(account)).exists()


def _stream(
    request: HttpRequest, look: Callable[[], Look], may_go_on: Callable[[], bool]
) -> StreamingHttpResponse:
    text = request.headers.get("Last-Event-ID") or request.GET.get("after")
    seen_state = request.GET.get("state", "")
    release_connection()
    response = StreamingHttpResponse(
        talk(Cursor.parse(text) or Cursor(), seen_state, look, may_go_on),
        content_type="text/event-stream",
    )
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


def talk(
    cursor: Cursor,
    seen_state: str,
    look: Callable[[], Look],
    may_go_on: Callable[[], bool],
    *,
    feed: Feed = FEED,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[str]:
    """The stream's text. Each iteration reads what is new (once for all viewers), then sleeps."""
    with feed.viewer():
        yield from _talk(cursor, seen_state, look, may_go_on, feed, clock)


def _talk(
    cursor: Cursor,
    seen_state: str,
    look: Callable[[], Look],
    may_go_on: Callable[[], bool],
    feed: Feed,
    clock: Callable[[], float],
) -> Iterator[str]:
    begun = checked = beaten = said = commented = clock()
    pace = None
    yield "retry: 1000\n\n"
    while clock() - begun < LIFETIME_S:
        heard = feed.bell.count
        try:
            now, messages = _read(cursor, seen_state, look, feed)
        except ObjectDoesNotExist:
            return  # deleted meanwhile; the browser reconnects and gets a 404
        for message in messages:
            cursor, said = message.cursor, clock()
            yield message.encode()
        seen_state = now.state
        if now.is_over:
            yield Message("end", News(), cursor).encode()
            return
        if clock() - checked > CHECK_EVERY_S:
            checked = clock()
            if not _ask(may_go_on):
                return
        if clock() - beaten > BEAT_EVERY_S:
            known, pace = pace, _pace(feed)
            # A second that was told shows as well that the stream lives.
            if pace != known or clock() - said > BEAT_EVERY_S:
                beaten = said = clock()
                yield Message("beat", pace).encode()
        if clock() - commented > KEEPALIVE_EVERY_S:
            commented = clock()
            yield KEEPALIVE
        feed.bell.wait(heard, 1.0)
    # Nothing was missed, so the page only opens the next stream and fetches nothing.
    yield Message("again", News(after=str(cursor), state=seen_state)).encode()


def _pace(feed: Feed) -> News:
    """When the page may ask for itself again, by how many viewers there are."""
    return News(spread_ms=round(1000 * feed.spread_s), refresh_s=feed.refresh_s)


def _read(
    cursor: Cursor, seen_state: str, look: Callable[[], Look], feed: Feed
) -> tuple[Look, list[Message]]:
    """All reads at once: a slow viewer must not hold a database connection while it receives."""
    try:
        now = look()
        return now, list(news(cursor, seen_state, now, feed.news))
    finally:
        release_connection()


def _ask(may_go_on: Callable[[], bool]) -> bool:
    try:
        return may_go_on()
    finally:
        release_connection()
