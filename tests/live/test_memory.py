"""What was computed is remembered as long as nothing changed."""

import threading
import time

import pytest

from campaigns.live.memory import Memory, answer_of, report_of
from tests.factories import make_campaign, make_run, make_test
from tests.queries.measured import measure


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
