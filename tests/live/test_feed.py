"""One reader per process for many viewers, who are asked for all at once. Of the streams that wait
for a run's news one listens; all others wake and find it read."""

import gc
import threading
import weakref

import pytest
from django.core.exceptions import ObjectDoesNotExist

from campaigns.domain.presentation.run_points import LAST_S, MOST_POINTS
from campaigns.live import waiting
from campaigns.live.change_signal import ChangeSignal
from campaigns.live.events import BEFORE_ALL, Cursor, Look, News, RunLook
from campaigns.live.feed import Feed, Topic
from campaigns.live.waiting import ASK_EVERY_S, Audience, audience_of
from campaigns.models import Run, ShardSecond
from tests.engine.scenes import host, others_use
from tests.factories import make_campaign, make_run, make_test, store_second
from tests.measured import measure
from tests.values import make_second
from tests.waiting import eventually

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(run):
    Run.objects.filter(pk=run.pk).update(state="preparing")
    return run


def seconds(news):
    return news["points"]["second"]


def test_a_second_is_decoded_once_for_a_hundred_viewers(run, monkeypatch):
    decoded = []
    real = ShardSecond.value

    def watched(row):
        decoded.append(row.second)
        return real(row)

    monkeypatch.setattr(ShardSecond, "value", watched)
    store_second(run, make_second(0, [10_000]))
    feed = Feed()
    for _ in range(100):
        assert seconds(feed.news(run.pk, BEFORE_ALL)) == [0]
    store_second(run, make_second(1, [10_000]))
    feed.signal.notify()
    for _ in range(100):
        assert seconds(feed.news(run.pk, 0)) == [1]
        assert feed.report(run).tiles
    assert decoded == [0, 1]


def test_a_second_is_told_in_one_text_to_all_who_wait_for_it(run):
    feed = Feed()
    store_second(run, make_second(0, [10_000]))
    told = [feed.news(run.pk, BEFORE_ALL).text for _ in range(100)]
    assert len({id(text) for text in told}) == 1
    store_second(run, make_second(1, [10_000]))
    feed.signal.notify()
    assert seconds(feed.news(run.pk, 0)) == [1]
    assert seconds(feed.news(run.pk, BEFORE_ALL)) == [0, 1], "who comes later is told more"


def test_a_finished_run_is_told_with_its_late_seconds(project):
    run = make_run(make_test(make_campaign(project)))
    feed = Feed()
    store_second(run, make_second(12, [10_000]))
    assert seconds(feed.news(run.pk, BEFORE_ALL)) == [12]
    measure(run, 12_000)
    feed.signal.notify()
    assert seconds(feed.news(run.pk, BEFORE_ALL)) == [*range(10), 12]
    assert seconds(feed.news(run.pk, 8)) == [9, 12]


def test_a_long_run_is_told_anew_every_five_minutes_in_a_thousand_points(run):
    feed, n_seconds = Feed(), MOST_POINTS + LAST_S
    row = store_second(run, make_second(0, [10_000]))
    later = [ShardSecond(**{**fields_of(row), "second": each}) for each in range(1, n_seconds)]
    ShardSecond.objects.bulk_create(later)
    told = feed.news(run.pk, BEFORE_ALL)
    assert told["all"]
    assert len(seconds(told)) <= MOST_POINTS
    assert seconds(feed.news(run.pk, n_seconds - 2)) == [n_seconds - 1]
    crossed = (n_seconds - 1) // LAST_S * LAST_S - 1
    assert seconds(feed.news(run.pk, crossed - 1))[0] == 0
    assert feed.news(run.pk, crossed - 1)["all"]
    assert not feed.news(run.pk, n_seconds - 2)["all"]


def fields_of(row: ShardSecond) -> dict:
    names = [each.attname for each in row._meta.fields if each.name != "pk"]
    return {name: getattr(row, name) for name in names}


def test_a_look_names_the_newest_event_and_the_runs_in_order(run):
    second = make_run(run.test, repeat=2)
    look = Feed().campaign(run.campaign_id).look()
    assert [each.id for each in look.runs] == [run.pk, second.pk]
    assert look.event == run.events.latest("pk").pk
    assert not look.is_over


def test_pages_hear_when_the_machine_becomes_busy_and_when_it_is_quiet(run):
    states = []
    for share in (0.1, 0.9, 0.1):
        host(slots=1, use=others_use(share))
        states.append(Feed().campaign(run.campaign_id).look().state)
    assert states[0] == states[2] != states[1]


class Door:
    """Lets in whom it names; keeps for whom it was asked."""

    def __init__(self, *names):
        self.names, self.asked, self.now, self.fault = set(names), [], 0.0, None
        self.audience = Audience(self.still_may, lambda: self.now)

    def still_may(self, viewers):
        self.asked.append(viewers)
        if self.fault:
            raise self.fault
        return viewers & self.names


def test_hundreds_of_viewers_are_asked_for_together_every_eight_seconds():
    names = {f"viewer {n}" for n in range(300)}
    door = Door(*names)
    joined = [door.audience.joined(each) for each in names]
    for each in joined:
        each.__enter__()
    for _ in range(20):
        assert all(door.audience.has(each) for each in names)
        door.now += 1
    assert door.asked == [names, names]


def test_who_lost_the_right_is_refused_and_the_others_go_on():
    door = Door("ann", "bob")
    with door.audience.joined("ann"), door.audience.joined("bob"):
        door.names.discard("bob")
        door.now += ASK_EVERY_S - 0.1
        assert door.audience.has("bob")
        door.now += 0.1
        assert door.audience.has("ann")
        assert not door.audience.has("bob")


def test_who_was_refused_and_is_let_in_again_goes_on():
    door = Door("ann")
    with door.audience.joined("bob"):
        door.now += ASK_EVERY_S
        assert not door.audience.has("bob")
    with door.audience.joined("bob"):
        assert door.audience.has("bob")


def test_who_left_is_not_asked_for_unless_another_stream_of_theirs_is_open():
    door = Door("ann", "bob")
    with door.audience.joined("ann"), door.audience.joined("bob"):
        with door.audience.joined("bob"):
            pass
        door.now += ASK_EVERY_S
        door.audience.has("ann")
        with door.audience.joined("cyd"):
            pass
    with door.audience.joined("ann"):
        door.now += ASK_EVERY_S
        door.audience.has("ann")
    assert door.asked == [{"ann", "bob"}, {"ann"}]


def test_after_a_failed_question_the_next_stream_asks_again():
    door = Door("ann")
    door.fault = ConnectionError()
    with door.audience.joined("ann"):
        door.now += ASK_EVERY_S
        with pytest.raises(ConnectionError):
            door.audience.has("ann")
        door.fault = None
        assert door.audience.has("ann")
    assert len(door.asked) == 2


def test_a_subject_has_one_audience_as_long_as_somebody_has_it():
    first = audience_of("a subject", lambda viewers: viewers)
    assert audience_of("a subject", lambda viewers: set()) is first
    assert audience_of("another", lambda viewers: viewers) is not first
    gone = weakref.ref(first)
    del first
    gc.collect()
    assert gone() is None
    assert audience_of("a subject", lambda viewers: viewers)


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


def test_viewers_at_different_places_hear_what_each_has_missed():
    for seen in ["running", "armed"]:
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


def test_all_who_wait_for_an_end_look_once_after_each_ring(monkeypatch):
    story, looks = Story(), []
    monkeypatch.setattr("campaigns.live.feed._look_at_campaign", lambda pk: looks.append(pk) or now)
    monkeypatch.setattr("campaigns.live.change_signal._OLDEST_S", PLENTY_S)
    feed, now = Feed(), Look(1, "running", False, ())
    feed.signal = story.signal
    waiters = [threading.Thread(target=feed.wait_for_end, args=(7, PLENTY_S)) for _ in range(30)]
    for each in waiters:
        each.start()
    eventually(lambda: story.signal.n_waiting == 30, 10, "all wait")
    assert looks == [7]
    now = Look(1, "held, 1", False, (), is_held=True)
    story.signal.notify()
    for each in waiters:
        each.join(10)
    assert looks == [7, 7]
