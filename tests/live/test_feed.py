"""One reader per process for many viewers, who are asked for all at once."""

import gc
import weakref

import pytest

from campaigns.domain.presentation.run_points import LAST_S, MOST_POINTS
from campaigns.live.events import BEFORE_ALL
from campaigns.live.feed import Feed
from campaigns.live.waiting import ASK_EVERY_S, Audience, audience_of
from campaigns.models import Run, ShardSecond
from tests.factories import make_campaign, make_run, make_test, store_second
from tests.queries.measured import measure
from tests.services.engine import host, others_use
from tests.values import make_second

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
