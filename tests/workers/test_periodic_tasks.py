"""Periodic tasks are due by the active dispatcher's own monotonic clock."""

import threading

import pytest
from celery import current_app
from kombu.exceptions import OperationalError

from campaigns import queue
from workers.side_threads import PERIODIC_TASKS_S, MessagesThread

pytestmark = pytest.mark.django_db
HOUR_S = 3600


class Broker:
    def __init__(self):
        self.is_away = False
        self.messages: list[tuple[str, float]] = []

    def send(self, task, *, expires, **_):
        if self.is_away:
            raise OperationalError("frozen")
        self.messages.append((task, expires))

    def taken(self) -> list[str]:
        tasks = [task for task, _ in self.messages]
        self.messages.clear()
        return tasks


@pytest.fixture
def broker(monkeypatch):
    broker = Broker()
    monkeypatch.setattr(current_app, "send_task", broker.send)
    return broker


@pytest.fixture
def now_s():
    return [500.0]


@pytest.fixture
def thread(now_s):
    return MessagesThread(threading.Event(), is_active=lambda: True, clock=lambda: now_s[0])


def test_every_task_exists_and_each_is_due_when_a_dispatcher_takes_over(thread, broker):
    thread.act()
    assert set(broker.taken()) == set(PERIODIC_TASKS_S) <= set(current_app.tasks)


def test_each_is_sent_once_in_its_interval(thread, broker, now_s):
    n_sent = dict.fromkeys(PERIODIC_TASKS_S, 0)
    for _ in range(2 * HOUR_S // 5):
        thread.act()
        now_s[0] += 5
        for task in broker.taken():
            n_sent[task] += 1
    assert n_sent == {task: 2 * HOUR_S / every_s for task, every_s in PERIODIC_TASKS_S.items()}


def test_what_was_missed_is_sent_once(thread, broker, now_s):
    thread.act()
    broker.taken()
    now_s[0] += 3 * HOUR_S
    thread.act()
    thread.act()
    assert sorted(broker.taken()) == sorted(PERIODIC_TASKS_S)


def test_what_a_frozen_broker_did_not_take_is_sent_once_when_it_is_back(thread, broker, now_s):
    broker.is_away = True
    for _ in range(100):
        thread.act()
        now_s[0] += 5
    broker.is_away = False
    thread.act()
    thread.act()
    assert sorted(broker.taken()) == sorted(PERIODIC_TASKS_S)


def test_a_message_expires_when_the_next_is_due(thread, broker):
    thread.act()
    assert dict(broker.messages) == PERIODIC_TASKS_S
    assert PERIODIC_TASKS_S[queue.SO_FAR] == 30
