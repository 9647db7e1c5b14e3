"""Which TLS session is offered next, by what servers made of the last ones."""

import pytest

from workers.injector.tls_client import Sessions

pytestmark = pytest.mark.pure


class Tls:
    """A secured connection whose session can be taken, and counts how often it is."""

    def __init__(self, has_ticket=True):
        self.has_ticket = has_ticket
        self.n_reads = 0

    def take_session(self):
        self.n_reads += 1
        return self if self.has_ticket else None


def test_nothing_is_offered_before_a_session_with_a_ticket_was_seen():
    sessions = Sessions()
    sessions.keep(Tls(has_ticket=False))
    assert sessions.offer() is None


def test_a_session_that_is_accepted_is_offered_again_and_no_other_is_taken():
    sessions, first, second = Sessions(), Tls(), Tls()
    sessions.keep(first)
    sessions.learn(sessions.offer(), was_taken=True)
    sessions.keep(second)
    assert sessions.offer() is first
    assert second.n_reads == 0


def test_a_session_that_is_not_taken_is_replaced_by_the_next():
    sessions, second = Sessions(), Tls()
    sessions.keep(Tls())
    sessions.learn(sessions.offer(), was_taken=False)
    assert sessions.offer() is None
    sessions.keep(second)
    assert sessions.offer() is second


def test_a_server_that_takes_each_session_once_gets_a_new_one_each_time():
    sessions = Sessions()
    sessions.keep(Tls())
    for was_taken in (True, False):
        sessions.learn(sessions.offer(), was_taken=was_taken)
    for _ in range(3):
        fresh = Tls()
        sessions.keep(fresh)
        assert sessions.offer() is fresh
        sessions.learn(fresh, was_taken=True)


def test_the_late_answer_to_an_older_session_says_nothing_of_the_present_one():
    sessions, older, present = Sessions(), Tls(), Tls()
    sessions.keep(older)
    sessions.learn(older, was_taken=False)
    sessions.keep(present)
    sessions.learn(older, was_taken=False)
    assert sessions.offer() is present
