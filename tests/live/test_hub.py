"""What is read once for all who watch, who is told when, and who no more."""

import json
import threading
from itertools import count

import pytest
from django.core.exceptions import ObjectDoesNotExist
from django.urls import reverse
from django.utils import timezone

from campaigns.accounts.tokens import create_share
from campaigns.compare.queries.columns import Viewer
from campaigns.core import database
from campaigns.live import hub as hubs
from campaigns.live.hub import (
    ASK_EVERY_S,
    HUB,
    LIFETIME_S,
    POLL_S,
    Cursor,
    Hub,
    Snapshot,
    Update,
    who_may_watch,
)
from campaigns.live.notify import SIGNAL, Signal
from campaigns.models import Campaign, Probe, Run, ShareLink
from tests.engine.scenes import host, others_use
from tests.factories import begin_run, make_campaign, make_run, make_test, store_second
from tests.measured import measure
from tests.values import make_second
from tests.waiting import eventually

pytestmark = pytest.mark.django_db
RUN, OTHER = ("run", 5), ("run", 6)
BEGUN = Cursor(1, 5, 0)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class QuietSignal(Signal):
    """Notified by hand, not by Redis; counts those who wait."""

    n_waiting = n_waits = 0

    def wait(self, topic, version, timeout_s):
        self.n_waits += 1
        self.n_waiting += 1
        with self._changed:
            self._changed.wait_for(lambda: self.version(topic) > version, timeout_s)
        self.n_waiting -= 1


class PassingSignal(Signal):
    """Nobody sleeps: time goes on only while a stream waits, and without notices."""

    def wait(self, topic, version, timeout_s):
        self._clock.now += timeout_s


class Story(Hub):
    """A hub whose run 5 grows by hand; counts how often it is read."""

    def __init__(self, monkeypatch, signal, still_may=lambda topic, viewers: viewers):
        super().__init__(still_may, self.seconds, signal, signal._clock)
        self.signal, self.second, self.n_reads, self.fault = signal, 0, 0, None
        self.now = Snapshot(1, "running", False, [(5, "running")])
        monkeypatch.setattr(hubs, "_READERS", dict.fromkeys(("run", "campaign"), self.read))

    def read(self, pk):
        self.n_reads += 1
        if self.fault:
            raise self.fault
        return self.now

    def seconds(self, run_id, after):
        fresh = list(range(max(after, -1) + 1, self.second + 1))
        return {"run": run_id, "points": {"second": fresh}} if fresh else None

    def at(self, cursor, state="running"):
        """A viewer who has just come."""
        return Update(b"", cursor, state, False, self.signal.version(RUN) - 1)

    def goes_on(self):
        self.second += 1
        self.signal.notify(RUN)


@pytest.fixture
def story(monkeypatch) -> Story:
    """No second passes by itself."""
    for name in ("POLL_S", "BEAT_EVERY_S"):
        monkeypatch.setattr(hubs, name, 20.0)
    story = Story(monkeypatch, QuietSignal(Clock()))
    story._clock = count().__next__  # of its waits: each begins a second later
    return story


@pytest.fixture
def passing(monkeypatch) -> Story:
    return Story(monkeypatch, PassingSignal(Clock()))


class Stream(threading.Thread):
    """Waits once for what comes after BEGUN; keeps it, or the fault."""

    def __init__(self, story: Story):
        super().__init__(daemon=True)
        self.story, self.events, self.fault = story, None, None
        self.start()

    def run(self) -> None:
        try:
            self.events = self.story.next_update(RUN, self.story.at(BEGUN)).events
        except Exception as fault:
            self.fault = fault


def waiting_streams(story: Story, n: int) -> list[Stream]:
    streams = [Stream(story) for _ in range(n)]

    def all_wait() -> bool:
        entries = list(story._updates._entries.values())
        return sum(len(each.is_made._cond._waiters) for each in entries) == n - 1

    eventually(all_wait, 10, "the others wait for the one who listens")
    assert story.signal.n_waiting == 1
    return streams


def finish(threads) -> None:
    for each in threads:
        each.join(10)
        assert not each.is_alive()


def test_a_new_second_is_read_once_and_sent_in_the_same_bytes_to_all(story):
    streams = waiting_streams(story, 20)
    n_before = story.n_reads
    story.goes_on()
    finish(streams)
    assert story.n_reads == n_before + 1
    assert {id(each.events) for each in streams} == {id(streams[0].events)}
    assert b'"second":[1]' in streams[0].events


def test_a_notice_without_news_wakes_the_one_who_listens_and_that_of_another_run_nobody(story):
    streams = waiting_streams(story, 5)
    n_reads, n_waits = story.n_reads, story.signal.n_waits
    story.signal.notify(OTHER)
    story.signal.notify(RUN)
    eventually(lambda: story.signal.n_waits == n_waits + 1, 10, "it listens again")
    assert story.n_reads == n_reads + 1
    assert all(each.is_alive() for each in streams)
    story.goes_on()
    finish(streams)
    assert all(b'"second":[1]' in each.events for each in streams)


def test_a_second_that_came_before_the_wait_is_not_missed(story):
    story.goes_on()
    last = story.next_update(RUN, story.at(BEGUN))
    story.goes_on()
    assert b'"second":[2]' in story.next_update(RUN, last).events


@pytest.mark.parametrize("fault", [ObjectDoesNotExist(), ConnectionError("no database")])
def test_a_fault_of_the_one_who_listens_leaves_nobody_waiting(story, fault):
    streams = waiting_streams(story, 5)
    story.fault = fault
    story.signal.notify(RUN)
    finish(streams)
    assert {type(each.fault) for each in streams} == {type(fault)}
    story.fault = None
    story.goes_on()
    assert b'"second":[1]' in story.next_update(RUN, story.at(BEGUN)).events


def test_viewers_at_different_places_are_sent_what_each_has_missed(story):
    story.second = 3
    late, new = (story.next_update(RUN, story.at(Cursor(1, 5, last))) for last in (2, 0))
    assert b'"second":[3]' in late.events
    assert b'"second":[1,2,3]' in new.events


def test_whoever_was_sent_an_update_has_no_connection(story, monkeypatch):
    releases = []
    monkeypatch.setattr(database, "release_connection", lambda: releases.append(True))
    story.goes_on()
    for _ in range(3):
        story.next_update(RUN, story.at(BEGUN))
    assert len(releases) == 1


def test_all_who_wait_for_an_end_read_it_once_with_each_notice(story):
    threads = [threading.Thread(target=story.wait_for_end, args=(5, 10_000)) for _ in range(30)]
    for each in threads:
        each.start()
    eventually(lambda: story.signal.n_waiting == 30, 10, "all wait")
    assert story.n_reads == 1
    story.now = Snapshot(1, "held, 1", False, (), is_held=True)
    story.signal.notify(("campaign", 5))
    finish(threads)
    assert story.n_reads == 2


def fields(event: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in event.strip().splitlines())


def kinds(texts) -> list[str]:
    events = b"".join(texts).decode().split("\n\n")[1:-1]
    return [fields(each)["event"] for each in events]


def test_one_stream_after_another_is_sent_each_second_once(passing, monkeypatch):
    wait = passing.signal.wait

    def wait_while_it_goes_on(*args):
        wait(*args)
        passing.second += 1

    monkeypatch.setattr(passing.signal, "wait", wait_while_it_goes_on)
    cursor, state, sent = Cursor(1), "running", []
    for _ in range(3):
        for text in passing.stream(RUN, cursor, state, "vera"):
            data = json.loads(fields(text.decode()).get("data", "{}"))
            sent += data.get("points", {}).get("second", [])
        cursor, state = Cursor.parse(data["after"]), data["state"]
    assert sent == list(range(len(sent)))
    assert len(sent) == pytest.approx(3 * LIFETIME_S / POLL_S, abs=5)


def test_a_slow_viewer_is_sent_what_all_others_have_had(story):
    slow = fast = story.at(BEGUN)
    for second in (1, 2, 3):
        story.goes_on()
        fast = story.next_update(RUN, fast)
        assert f'"second":[{second}]'.encode() in fast.events
    sent = b""
    while slow.cursor != fast.cursor:
        slow = story.next_update(RUN, slow)
        sent += slow.events
    assert [f'"second":[{second}]'.encode() in sent for second in (1, 2, 3)] == [True] * 3


def test_a_silent_stream_shows_that_it_lives_and_ends_where_the_next_one_begins(passing):
    texts = list(passing.stream(RUN, Cursor(1), "running", "vera"))
    [second, *beats, last] = kinds(texts)
    assert (second, set(beats), last) == ("second", {"beat"}, "again")
    assert len(beats) == pytest.approx(LIFETIME_S / (2 * POLL_S), abs=2)
    assert LIFETIME_S == 100 <= passing._clock.now <= 103
    again = json.loads(fields(texts[-1].decode())["data"])
    stream = passing.stream(RUN, Cursor.parse(again["after"]), again["state"], "vera")
    assert kinds(next(stream) for _ in range(2)) == ["beat"]


def test_without_notices_a_stream_polls_each_second(passing):
    stream = passing.stream(RUN, Cursor(1), "running", "vera")
    for _ in range(10):
        passing.second += 1
        next(stream)
    assert passing._clock.now <= 12


def test_where_seconds_come_a_beat_tells_only_how_many_viewers_there_are(passing):
    def texts():
        while True:
            passing.second += 1
            yield next(stream)

    stream, text = passing.stream(RUN, Cursor(1), "running", "vera"), texts()
    sent = [next(text) for _ in range(30)]
    other = passing.stream(RUN, Cursor(1), "running", "victor")
    next(other)
    sent += [next(text) for _ in range(20)]
    beats = [fields(each.decode())["data"] for each in sent if b"event: beat" in each]
    assert [json.loads(each)["spread_ms"] for each in beats] == [0, 10]
    other.close()
    assert passing.pace["spread_ms"] == 0


def test_many_viewers_take_longer_to_ask_and_one_asks_at_once(passing):
    streams = [passing.stream(RUN, Cursor(1), "running", n) for n in range(201)]
    assert next(streams[0])
    assert passing.pace["spread_ms"] == 0
    for each in streams[1:]:
        next(each)
    assert passing.pace == {"spread_ms": 2000, "refresh_s": pytest.approx(20.1)}


def test_whoever_loses_the_right_is_sent_nothing_after_ten_seconds_and_the_others_go_on(
    monkeypatch,
):
    questions, lost_at = [], []

    def still_may(topic, viewers):
        questions.append((topic, set(viewers)))
        return viewers - ({"bob"} if lost_at else set())

    story = Story(monkeypatch, PassingSignal(Clock()), still_may)
    everybody = {"bob", *range(300)}
    streams = {each: story.stream(RUN, Cursor(1), "running", each) for each in everybody}
    for each in streams.values():
        next(each)
    n_sent = sum(1 for _ in zip(streams["bob"], range(3), strict=False))
    assert n_sent == 3, "the stream is open"
    lost_at.append(story._clock.now)
    assert not any(b"again" in text for text in streams["bob"])
    assert story._clock.now - lost_at[0] <= 10
    story.second += 1
    assert any(b"event: second" in next(streams[1]) for _ in range(2)), "after a beat"
    assert questions[-1] == (RUN, everybody), "one question for all of them"
    n_asked = len(questions)
    assert n_asked <= 1 + story._clock.now // ASK_EVERY_S
    back = story.stream(RUN, Cursor(1), "running", "bob")
    assert b"event: second" in [next(back), next(back)][1], "whoever was let in again goes on"


@pytest.fixture
def run(project) -> Run:
    run = make_run(make_test(make_campaign(project, started_at=timezone.now())))
    begin_run(run)
    SIGNAL.notify()  # another test's rows have the same numbers
    return run


def fresh_hub() -> Hub:
    return Hub(who_may_watch)


def test_a_snapshot_names_the_newest_event_and_the_runs_in_order(run):
    queued = make_run(run.test, repeat=2)
    snapshot = fresh_hub().snapshot(("campaign", run.campaign_id))
    assert snapshot.runs == [(run.pk, "running"), (queued.pk, "queued")]
    assert snapshot.event == run.events.latest("pk").pk
    assert not snapshot.is_over


def test_pages_hear_when_the_machine_becomes_busy_and_when_it_is_quiet(run):
    states = []
    for share in (0.1, 0.9, 0.1):
        host(slots=1, use=others_use(share))
        states.append(fresh_hub().snapshot(("campaign", run.campaign_id)).state)
    assert states[0] == states[2] != states[1]


def test_pages_hear_of_each_first_request_that_comes_back(project):
    test = make_test(make_campaign(project, started_at=timezone.now()))
    Campaign.objects.update(opened_at=None)
    topic, states = ("campaign", test.campaign_id), []
    place = {"endpoint": test.endpoint, "plan_version": test.plan_version}
    Probe.objects.create(campaign=test.campaign, request={}, **place)
    for finished_at in (None, timezone.now()):
        Probe.objects.update(finished_at=finished_at)
        states.append(fresh_hub().snapshot(topic).state)
    assert states == ["checking, 0", "checking, 1"]


def first_events(response, n: int) -> list[str]:
    """The first n events, without waiting for more."""
    stream, events = iter(response.streaming_content), []
    while len(events) < n:
        events += next(stream).decode().split("\n\n")[:-1]
    response.close()
    return events[:n]


@pytest.fixture
def stream_url(run) -> str:
    for second in range(3):
        store_second(run, make_second(second, [10_000]))
    return reverse("run-stream", args=[run.pk])


def test_a_new_viewer_is_sent_all_seconds_so_far(viewer, run, stream_url):
    response = viewer.get(stream_url, {"state": "running"})
    assert response["Content-Type"] == "text/event-stream"
    assert (response["Cache-Control"], response["X-Accel-Buffering"]) == ("no-store", "no")
    retry, event = first_events(response, 2)
    assert retry == "retry: 1000"
    assert json.loads(fields(event)["data"])["points"]["second"] == [0, 1, 2]
    assert fields(event)["id"].endswith(f".r{run.pk}.s2")


def test_a_browser_that_comes_back_is_sent_what_it_has_not(viewer, run, stream_url):
    query = {"state": "running", "after": "e0.r0.s0"}
    last_id = f"e{run.events.latest('pk').pk}.r{run.pk}.s1"
    _, event = first_events(viewer.get(stream_url, query, headers={"Last-Event-ID": last_id}), 2)
    assert json.loads(fields(event)["data"])["points"]["second"] == [2]


def test_a_page_that_shows_an_old_state_is_told(viewer, run):
    after = f"e{run.events.latest('pk').pk}.r{run.pk}.s2"
    url = reverse("run-stream", args=[run.pk])
    _, event = first_events(viewer.get(url, {"state": "armed", "after": after}), 2)
    assert fields(event)["event"] == "state"


def test_a_finished_run_ends_its_stream(viewer, project):
    run = measure(make_run(make_test(make_campaign(project))), 12_000)
    response = viewer.get(reverse("run-stream", args=[run.pk]))
    assert kinds(response.streaming_content) == ["second", "state", "end"]


def test_a_campaign_streams_the_run_under_way(viewer, run):
    waiting = make_run(run.test, repeat=2)
    store_second(run, make_second(0, [10_000]))
    _, event = first_events(viewer.get(reverse("campaign-stream", args=[run.campaign_id])), 2)
    assert json.loads(fields(event)["data"])["run"] == run.pk != waiting.pk


def test_who_may_watch_is_who_is_signed_in_and_sees_it_or_has_a_valid_link(
    viewer, vera, as_bob, project, run
):
    link, _ = create_share(by=as_bob, project=project, run=run, days=1)
    own = Viewer(viewer.session.session_key, vera.pk, vera.password)
    viewers = {own, link.pk, link.pk + 1}
    for topic in (("run", run.pk), ("campaign", run.campaign_id)):
        assert who_may_watch(topic, viewers) == {own, link.pk}
    ShareLink.objects.update(revoked_at=timezone.now())
    viewer.logout()
    assert who_may_watch(("run", run.pk), viewers) == set()


@pytest.mark.parametrize("name", ["run-stream", "campaign-stream", "share-stream"])
def test_a_stream_is_of_its_viewer(name, viewer, vera, as_bob, project, run, monkeypatch):
    link, token = create_share(by=as_bob, project=project, run=run, days=1)
    streams = []
    monkeypatch.setattr(HUB, "stream", lambda *args: streams.append(args) or iter([]))
    pk = {"run-stream": run.pk, "campaign-stream": run.campaign_id, "share-stream": token}[name]
    viewer.get(reverse(name, args=[pk]))
    [(topic, _, _, who)] = streams
    own = Viewer(viewer.session.session_key, vera.pk, vera.password)
    assert topic == (("campaign", pk) if name.startswith("campaign") else ("run", run.pk))
    assert who == (link.pk if name.startswith("share") else own)
