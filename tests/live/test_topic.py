"""Of the streams that wait for a run's news one listens; all others wake and find it read."""

import threading

import pytest
from django.core.exceptions import ObjectDoesNotExist

from campaigns.live import waiting
from campaigns.live.change_signal import ChangeSignal
from campaigns.live.events import Cursor, Look, News, RunLook
from campaigns.live.feed import Topic
from tests.waiting import eventually

BEGUN = Cursor(1, 5, 0)
PLENTY_S = 20.0


class Story:
    """A run whose second grows by hand; counts how often it is looked at."""

    def __init__(self):
        self.second, self.n_looks, self.fault = 0, 0, None
        self.signal = CountingSignal()
        self.topic = Topic(self.look, self.news, self.signal)

    def look(self) -> Look:
        self.n_looks += 1
        if self.fault:
            raise self.fault
        return Look(event=1, state="running", is_over=False, runs=(RunLook(5, "running"),))

    def news(self, run_id: int, after: int) -> News | None:
        fresh = list(range(after + 1, self.second + 1))
        return News(run=run_id, points={"second": fresh}) if fresh else None

    def goes_on(self) -> None:
        self.second += 1
        self.signal.notify()


class CountingSignal(ChangeSignal):
    """Rung by hand, not by Redis; counts those who wait at the same time."""

    def __init__(self):
        super().__init__()
        self.n_waiting = self.n_waits = 0

    def wait(self, heard: int, timeout_s: float) -> None:
        self.n_waiting += 1
        self.n_waits += 1
        with self._rung:
            self._rung.wait_for(lambda: self.count != heard, timeout_s)
        self.n_waiting -= 1


class Stream(threading.Thread):
    """Waits once for news after what it was told; keeps what it then hears, or the fault."""

    def __init__(self, story: Story):
        super().__init__(daemon=True)
        self.story, self.heard, self.fault = story, None, None
        self.start()

    def run(self) -> None:
        topic = self.story.topic
        count = self.story.signal.count
        told = topic.update_for(BEGUN, "running")
        try:
            topic.wait(count, told, PLENTY_S)
            self.heard = topic.update_for(told.cursor, told.state).events
        except Exception as fault:
            self.fault = fault


def waiting_streams(story: Story, n: int) -> list[Stream]:
    streams = [Stream(story) for _ in range(n)]

    def all_wait() -> bool:
        news_sent = story.topic._news_sent
        n_others = len(news_sent._cond._waiters) if news_sent else 0
        return n_others == n - 1 and story.signal.n_waiting == 1

    eventually(all_wait, 10, "one listens and the others wait for it")
    return streams


def finish(streams: list[Stream]) -> None:
    for each in streams:
        each.join(10)
        assert not each.is_alive()


def test_a_new_second_is_looked_at_once_and_told_in_the_same_bytes_to_all():
    story = Story()
    streams = waiting_streams(story, 20)
    n_before = story.n_looks
    story.goes_on()
    finish(streams)
    assert story.n_looks == n_before + 1
    assert {id(each.heard) for each in streams} == {id(streams[0].heard)}
    assert b'"second":[1]' in streams[0].heard


def test_a_ring_for_another_run_wakes_only_the_one_who_listens():
    story = Story()
    streams = waiting_streams(story, 5)
    n_before = story.signal.n_waits
    story.signal.notify()
    eventually(lambda: story.signal.n_waits == n_before + 1, 10, "it listens again")
    assert all(each.is_alive() for each in streams)
    story.goes_on()
    finish(streams)
    assert all(b'"second":[1]' in each.heard for each in streams)


def test_a_ring_between_telling_and_waiting_is_not_missed():
    story = Story()
    told = story.topic.update_for(BEGUN, "running")
    story.goes_on()
    story.topic.wait(story.signal.count - 1, told, PLENTY_S)
    assert story.signal.n_waits == 0
    assert b'"second":[1]' in story.topic.update_for(told.cursor, told.state).events


def test_without_news_the_wait_ends_in_time():
    story = Story()
    told = story.topic.update_for(BEGUN, "running")
    story.topic.wait(story.signal.count, told, 0.01)
    assert story.signal.n_waits == 1


def test_without_a_ring_the_listener_looks_again_before_it_gives_up():
    clock = [0.0]
    story = Story()
    story.signal.wait = lambda heard, timeout_s: clock.__setitem__(0, clock[0] + timeout_s)
    topic = Topic(story.look, story.news, story.signal, lambda: clock[0])
    told = topic.update_for(BEGUN, "running")
    story.second = 1
    topic.wait(story.signal.count, told, 1.0)
    assert clock == [1.0]
    assert b'"second":[1]' in topic.update_for(told.cursor, told.state).events


def test_each_stream_finds_out_for_itself_that_the_run_was_deleted():
    story = Story()
    streams = waiting_streams(story, 5)
    story.fault = ObjectDoesNotExist()
    story.signal.notify()
    finish(streams)
    assert all(isinstance(each.fault, ObjectDoesNotExist) for each in streams)


def test_a_listener_who_fails_leaves_nobody_waiting():
    story = Story()
    streams = waiting_streams(story, 5)
    story.fault = ConnectionError("no database")
    story.signal.notify()
    finish(streams)
    story.fault = None
    assert b'"second":[1]' not in story.topic.update_for(BEGUN, "running").events
    assert story.topic._news_sent is None


@pytest.mark.parametrize("seen", ["running", "armed"])
def test_viewers_at_different_places_hear_what_each_has_missed(seen):
    story = Story()
    story.second = 3
    late, new = (
        story.topic.update_for(Cursor(1, 5, 2), seen),
        story.topic.update_for(Cursor(1, 5, 0), seen),
    )
    assert b'"second":[3]' in late.events
    assert b'"second":[1,2,3]' in new.events
    assert (b"event: state" in late.events) is (seen == "armed")


@pytest.mark.django_db
@pytest.mark.parametrize(("asks", "n_given_back"), [("look", 0), ("tell", 2)])
def test_a_stream_gives_its_connection_back_and_a_page_goes_on_with_its_own(
    asks, n_given_back, monkeypatch
):
    given_back = []
    monkeypatch.setattr(waiting, "release_connection", lambda: given_back.append(True))
    topic = Story().topic
    for _ in range(3):
        topic.look() if asks == "look" else topic.update_for(BEGUN, "running")
    assert len(given_back) == n_given_back, "after the look and after the news, once for all"
