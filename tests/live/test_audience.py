"""An audience is asked for all of its viewers at once, and who is refused hears no more."""

import gc
import weakref

import pytest

from campaigns.live.waiting import ASK_EVERY_S, Audience, audience_of

pytestmark = pytest.mark.django_db


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
