"""Streams: what a viewer hears, from where it goes on, and when it is sent away."""

import json

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.accounts.tokens import create_share
from campaigns.compare.queries.columns import Viewer
from campaigns.live import views as live_pages
from campaigns.live.events import Cursor, Look, News, RunLook, build_update
from campaigns.live.feed import FEED, Feed
from campaigns.live.views import LIFETIME_S, talk
from campaigns.live.waiting import Audience
from campaigns.models import ShareLink
from tests.factories import begin_run, make_campaign, make_run, make_test, store_second
from tests.measured import measure
from tests.values import make_second

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh_feed():
    """Another test's rows must not be remembered under the same numbers."""
    FEED.signal.notify()


@pytest.fixture
def run(project):
    run = make_run(make_test(make_campaign(project, started_at=timezone.now())))
    begin_run(run)
    for second in range(3):
        store_second(run, make_second(second, [10_000]))
    return run


def hear(response, n: int) -> list[str]:
    """The first n events and comments, without waiting for more."""
    stream = iter(response.streaming_content)
    heard = []
    while len(heard) < n:
        heard += [f"{event}\n\n" for event in next(stream).decode().split("\n\n")[:-1]]
    response.close()
    return heard[:n]


def fields(event: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in event.strip().splitlines())


def seconds(event: str) -> list[int]:
    return json.loads(fields(event)["data"])["points"]["second"]


def test_a_new_viewer_hears_all_seconds_so_far(viewer, run):
    response = viewer.get(reverse("run-stream", args=[run.pk]), {"state": "running"})
    assert response["Content-Type"] == "text/event-stream"
    assert response["Cache-Control"] == "no-store"
    assert response["X-Accel-Buffering"] == "no"
    retry, event = hear(response, 2)
    assert retry == "retry: 1000\n\n"
    assert seconds(event) == [0, 1, 2]
    assert fields(event)["id"].endswith(f".r{run.pk}.s2")


def test_a_viewer_who_comes_back_hears_what_came_since(viewer, run):
    event = run.events.latest("pk").pk
    response = viewer.get(
        reverse("run-stream", args=[run.pk]),
        {"state": "running", "after": "e0.r0.s0"},
        headers={"Last-Event-ID": f"e{event}.r{run.pk}.s1"},
    )
    assert seconds(hear(response, 2)[1]) == [2]


def test_a_page_that_shows_an_old_state_is_told(viewer, run):
    event = run.events.latest("pk").pk
    after = {"state": "armed", "after": f"e{event}.r{run.pk}.s2"}
    response = viewer.get(reverse("run-stream", args=[run.pk]), after)
    assert fields(hear(response, 2)[1])["event"] == "state"


def test_a_finished_run_ends_its_stream(viewer, project):
    run = measure(make_run(make_test(make_campaign(project))), 12_000)
    response = viewer.get(reverse("run-stream", args=[run.pk]))
    text = b"".join(response.streaming_content).decode()
    kinds = [fields(event)["event"] for event in text.split("\n\n")[1:-1]]
    assert kinds == ["second", "state", "end"]


def test_a_campaign_streams_the_run_under_way(viewer, run):
    waiting = make_run(run.test, repeat=2)
    response = viewer.get(reverse("campaign-stream", args=[run.campaign_id]))
    event = hear(response, 2)[1]
    assert json.loads(fields(event)["data"])["run"] == run.pk != waiting.pk


class Clock:
    """Goes on only while a stream waits for news."""

    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Quiet:
    """A run that goes on without news; nobody sleeps."""

    def __init__(self, clock: Clock, look=lambda: None, news_of=lambda run, after: None):
        self._clock, self._look, self._news_of = clock, look, news_of

    def update_for(self, cursor, seen_state):
        seen = Look(event=1, state="running", is_over=False, runs=(RunLook(5, "running"),))
        return build_update(cursor, seen_state, self._look() or seen, self._news_of)

    def wait(self, heard, told, timeout_s):
        self._clock.now += timeout_s


def talk_of(watched, audience, viewer="vera", *, clock: Clock, feed=None):
    return talk(Cursor(1), "running", watched, audience, viewer, feed=feed or Feed(), clock=clock)


def everybody(clock: Clock) -> Audience:
    return Audience(lambda viewers: viewers, clock)


def test_where_seconds_come_a_beat_tells_only_how_many_viewers_there_are():
    clock, feed = Clock(), Feed()

    def news_of(run, after):
        return News(run=run, points={"second": [after + 1]})

    stream = talk_of(Quiet(clock, news_of=news_of), everybody(clock), clock=clock, feed=feed)
    heard = [next(stream) for _ in range(40)]
    with feed.viewer():
        heard += [next(stream) for _ in range(20)]
    beats = [fields(text.decode())["data"] for text in heard if b"event: beat" in text]
    assert [json.loads(each)["spread_ms"] for each in beats] == [0, 10]


def test_a_silent_stream_shows_that_it_lives_and_ends_for_a_reconnect():
    clock = Clock()
    heard = list(talk_of(Quiet(clock), everybody(clock), clock=clock))
    assert any(b"event: beat" in text for text in heard)
    assert b": keepalive\n\n" in heard
    assert not any(b"event: end" in text for text in heard)
    assert clock.now == LIFETIME_S == 100


def test_the_stream_of_a_viewer_who_loses_the_right_ends_within_ten_seconds():
    clock, lost_at = Clock(), []
    audience = Audience(lambda viewers: set() if lost_at else viewers, clock)

    def look():
        if clock.now >= 25 and not lost_at:
            lost_at.append(clock.now)

    heard = list(talk_of(Quiet(clock, look), audience, clock=clock))
    assert clock.now - lost_at[0] <= 10
    assert not any(b"event: end" in text or b"event: again" in text for text in heard)


@pytest.mark.parametrize("name", ["run-stream", "campaign-stream"])
def test_a_page_s_stream_asks_for_the_viewers_of_its_row(name, viewer, vera, run, monkeypatch):
    asked = []
    monkeypatch.setattr(live_pages, "audience_of", lambda topic, ask: asked.append(ask) or nobody())
    pk = run.pk if name == "run-stream" else run.campaign_id
    viewer.get(reverse(name, args=[pk]))
    (ask,) = asked
    known = Viewer(viewer.session.session_key, vera.pk, vera.password)
    assert ask({known}) == {known}
    viewer.logout()
    assert ask({known}) == set()


def nobody() -> Audience:
    return Audience(lambda viewers: set())


def test_a_share_s_stream_asks_whether_its_link_is_valid(client, as_bob, project, run):
    _, token = create_share(by=as_bob, project=project, run=run, days=1)
    client.get(reverse("share-stream", args=[token]))
    assert live_pages._valid_links({token, "no link"}) == {token}
    ShareLink.objects.update(revoked_at=timezone.now())
    assert live_pages._valid_links({token}) == set()
