"""Those who ask at once take turns at the database, and wait for it without a connection."""

import threading
import time

import pytest
from django.db import connection

from campaigns.live import waiting
from campaigns.live.memory import Memory, answer_of, report_of
from campaigns.live.waiting import release_connection, turn
from tests.factories import make_campaign, make_run, make_test
from tests.measured import measure
from tests.waiting import eventually

pytestmark = pytest.mark.django_db


class Asker(threading.Thread):
    """Has a turn from `is_in` until `may_go` is set; in between it may give its connection back."""

    def __init__(self, gives_back: bool = False):
        super().__init__(daemon=True)
        self._gives_back = gives_back
        self.is_in, self.may_go = threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        with turn():
            if self._gives_back:
                release_connection()
            self.is_in.set()
            self.may_go.wait(20)


@pytest.fixture
def two_at_once(monkeypatch) -> None:
    monkeypatch.setattr(waiting, "_turns", threading.BoundedSemaphore(2))


def test_the_third_waits_until_one_of_two_has_gone(two_at_once):
    askers = [Asker() for _ in range(3)]
    eventually(lambda: sum(each.is_in.is_set() for each in askers) == 2, 10, "two have a turn")
    (last,) = [each for each in askers if not each.is_in.is_set()]
    assert not last.is_in.wait(0.1)
    next(each for each in askers if each is not last).may_go.set()
    assert last.is_in.wait(10)
    finish(askers)


def test_who_gives_its_connection_back_gives_its_turn_to_the_next(two_at_once):
    askers = [Asker(gives_back=True) for _ in range(5)]
    assert all(each.is_in.wait(10) for each in askers)
    finish(askers)
    free = [waiting._turns.acquire(blocking=False) for _ in range(3)]
    assert free == [True, True, False], "and it gave it back once"


def finish(askers: list[Asker]) -> None:
    for each in askers:
        each.may_go.set()
        each.join(10)
        assert not each.is_alive()


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_another_gives_its_connection_back(monkeypatch):
    lock, is_waiting, seen = threading.Lock(), threading.Event(), []
    give_back = waiting.release_connection
    monkeypatch.setattr(waiting, "release_connection", lambda: (give_back(), is_waiting.set()))

    def look():
        connection.ensure_connection()
        seen.append(connection.connection)
        with waiting.held(lock):
            seen.append(connection.connection)

    with lock:
        viewer = threading.Thread(target=look)
        viewer.start()
        assert is_waiting.wait(10)
    viewer.join()
    assert seen[0] is not None
    assert seen[1] is None


def test_a_value_is_made_once():
    memory, made = Memory(2), []
    for _ in range(3):
        assert memory.get("a", lambda: made.append(1) or len(made)) == 1


def test_many_at_once_wait_for_one_making():
    memory, made = Memory(2), []

    def make():
        time.sleep(0.05)
        made.append(1)
        return 1

    threads = [threading.Thread(target=memory.get, args=("a", make)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_the_least_used_falls_out():
    memory = Memory(2)
    for key in ("a", "b", "a", "c"):
        memory.get(key, lambda key=key: key)
    assert memory.get("a", lambda: "new") == "a"
    assert memory.get("b", lambda: "new") == "new"


def test_what_failed_is_made_again():
    memory = Memory(2)
    with pytest.raises(ZeroDivisionError):
        memory.get("a", lambda: 1 / 0)
    assert memory.get("a", lambda: 5) == 5


@pytest.mark.django_db
def test_an_answer_is_new_when_a_run_has_finished(project):
    campaign = make_campaign(project)
    test = make_test(campaign)
    first, second = make_run(test, 1), make_run(test, 2)
    measure(first, 12_000)
    assert answer_of(campaign) is answer_of(campaign)
    before = answer_of(campaign).n_done
    measure(second, 12_000)
    assert answer_of(campaign).n_done == before + 1


@pytest.mark.django_db
def test_a_report_is_new_when_the_run_has(project):
    run = make_run(make_test(make_campaign(project)))
    before = report_of(run)
    measure(run, 12_000)
    assert report_of(run) is not before
