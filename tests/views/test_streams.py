"""Streams: what a viewer hears, from where it goes on, and when it is sent away."""

import json

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.urls import reverse
from django.utils import timezone

from campaigns.live.events import Cursor, Look, News, RunLook
from campaigns.live.feed import FEED, Feed
from campaigns.models import Membership, Run
from campaigns.views.streams import LIFETIME_S, still_sees, talk
from tests.factories import make_campaign, make_run, make_test, store_second
from tests.queries.measured import measure
from tests.values import make_second

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh_feed():
    """Another test's rows must not be remembered under the same numbers."""
    FEED.bell.ring()


@pytest.fixture
def run(project):
    run = make_run(make_test(make_campaign(project, started_at=timezone.now())))
    for state in ("preparing", "armed", "running"):
        Run.objects.filter(pk=run.pk).update(state=state)
    for second in range(3):
        store_second(run, make_second(second, [10_000]))
    return run


def hear(response, n: int) -> list[str]:
    """The first n events and comments, without waiting for more."""
    stream = iter(response.streaming_content)
    heard = [next(stream).decode() for _ in range(n)]
    response.close()
    return heard


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


def test_the_page_names_the_place_from_which_the_stream_goes_on(viewer, run):
    event = run.events.latest("pk").pk
    after = {"state": "running", "after": f"e{event}.r{run.pk}.s0"}
    response = viewer.get(reverse("run-stream", args=[run.pk]), after)
    assert seconds(hear(response, 2)[1]) == [1, 2]


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


def test_a_deleted_campaign_ends_its_stream(viewer, project):
    draft = make_campaign(project)
    response = viewer.get(reverse("campaign-stream", args=[draft.pk]))
    draft.delete()
    assert list(response.streaming_content) == [b"retry: 1000\n\n"]


def test_a_campaign_streams_the_run_under_way(viewer, run):
    waiting = make_run(run.test, repeat=2)
    response = viewer.get(reverse("campaign-stream", args=[run.campaign_id]))
    event = hear(response, 2)[1]
    assert json.loads(fields(event)["data"])["run"] == run.pk != waiting.pk


def test_strangers_and_people_without_an_account_hear_nothing(client, charlie, run):
    url = reverse("run-stream", args=[run.pk])
    assert client.get(url).status_code == 302
    client.force_login(charlie)
    assert client.get(url).status_code == 404
    assert client.get(reverse("campaign-stream", args=[run.campaign_id])).status_code == 404


class Clock:
    """Goes on only while a stream waits for news."""

    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class QuietFeed(Feed):
    """No points, and nobody sleeps."""

    def __init__(self, clock: Clock):
        super().__init__()
        self._clock = clock
        self.bell.wait = self._wait

    def _wait(self, heard, timeout_s):
        self._clock.now += timeout_s

    def news(self, run_id, after):
        return None


def quiet_talk(clock: Clock, may_go_on=lambda: True, look=lambda: None) -> list[str]:
    seen = Look(event=1, state="running", is_over=False, runs=(RunLook(5, "running"),))
    return list(
        talk(
            Cursor(1), "running", lambda: look() or seen, may_go_on,
            feed=QuietFeed(clock), clock=clock,
        )
    )  # fmt: skip


def test_where_seconds_come_a_beat_tells_only_how_many_viewers_there_are():
    clock = Clock()
    feed = QuietFeed(clock)
    feed.news = lambda run_id, after: News(run=run_id, points={"second": [after + 1]})
    seen = Look(event=1, state="running", is_over=False, runs=(RunLook(5, "running"),))
    stream = talk(Cursor(1), "running", lambda: seen, lambda: True, feed=feed, clock=clock)
    heard = [next(stream) for _ in range(40)]
    with feed.viewer():
        heard += [next(stream) for _ in range(20)]
    told = [json.loads(fields(text)["data"]) for text in heard if "event: beat" in text]
    assert [each["spread_ms"] for each in told] == [0, 10]


def test_a_silent_stream_shows_that_it_lives_and_ends_for_a_reconnect():
    clock = Clock()
    heard = quiet_talk(clock)
    assert any("event: beat" in text for text in heard)
    assert ": keepalive\n\n" in heard
    assert not any("event: end" in text for text in heard)
    assert clock.now == LIFETIME_S == 100


def asked_by(viewer, user, rf):
    """The request of an open stream: it knows the user as they were when it was opened."""
    request = rf.get("/")
    request.session, request.user = viewer.session, User.objects.get(pk=user.pk)
    return request


def test_a_viewer_is_looked_for_by_one_statement(viewer, vera, run, rf, django_assert_num_queries):
    request = asked_by(viewer, vera, rf)
    with django_assert_num_queries(1):
        assert still_sees(request, Run, run.pk)


def sign_out(viewer, vera):
    viewer.logout()


def stay_too_long(viewer, vera):
    Session.objects.update(expire_date=timezone.now())


def disable_the_account(viewer, vera):
    User.objects.filter(pk=vera.pk).update(is_active=False)


def set_a_new_password(viewer, vera):
    vera.set_password("another-Pass7")
    vera.save()


def leave_the_project(viewer, vera):
    Membership.objects.filter(user=vera).delete()


@pytest.mark.parametrize(
    "lose",
    [sign_out, stay_too_long, disable_the_account, set_a_new_password, leave_the_project],
)
def test_the_stream_of_a_viewer_who_loses_the_right_ends_within_ten_seconds(
    lose, viewer, vera, run, rf
):
    request = asked_by(viewer, vera, rf)
    clock, lost_at = Clock(), []

    def look():
        if clock.now >= 25 and not lost_at:
            lose(viewer, vera)
            lost_at.append(clock.now)

    heard = quiet_talk(clock, lambda: still_sees(request, Run, run.pk), look)
    assert clock.now - lost_at[0] <= 10
    assert not any("event: end" in text or "event: again" in text for text in heard)
