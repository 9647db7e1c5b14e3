"""The signal that notifications give, and values that are read once for all who want them."""

import json
import socket
import threading
import time

import pytest
import redis
from django.conf import settings
from django.db import transaction

from campaigns.live import notify
from campaigns.live.change_signal import ChangeSignal, Shared
from campaigns.live.notify import CHANNEL


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def counting():
    reads = []

    def read(previous):
        reads.append(previous)
        return len(reads)

    return reads, read


def test_a_shared_value_is_read_once_until_the_bell_rings():
    signal, clock = ChangeSignal(), Clock()
    shared = Shared(signal, clock)
    reads, read = counting()
    assert [shared.get(read) for _ in range(100)] == [1] * 100
    signal.notify()
    assert [shared.get(read) for _ in range(100)] == [2] * 100
    assert reads == [None, 1]


def test_without_any_ring_it_is_read_again_after_a_second():
    clock = Clock()
    shared = Shared(ChangeSignal(), clock)
    _, read = counting()
    shared.get(read)
    clock.now += 1.0
    assert shared.get(read) == 2


def test_viewers_who_come_at_once_wait_for_one_reading():
    shared = Shared(ChangeSignal(), Clock())
    reads, read = counting()

    def slow(previous):
        time.sleep(0.05)
        return read(previous)

    threads = [threading.Thread(target=shared.get, args=(slow,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reads) == 1


def test_a_failed_reading_is_tried_again():
    shared = Shared(ChangeSignal(), Clock())

    def fail(_):
        raise ConnectionError

    with pytest.raises(ConnectionError):
        shared.get(fail)
    assert shared.get(lambda _: 7) == 7


def test_a_ring_that_came_before_the_wait_is_not_missed():
    signal = ChangeSignal()
    heard = signal.count
    signal.notify()
    begun = time.monotonic()
    signal.wait(heard, 5.0)
    assert time.monotonic() - begun < 1.0


def test_a_poke_through_redis_rings_the_bell():
    signal = ChangeSignal()
    signal.wait(signal.count, 0.01)
    client = redis.Redis.from_url(settings.REDIS_URL)
    heard, until = signal.count, time.monotonic() + 5
    while signal.count == heard and time.monotonic() < until:
        client.publish(CHANNEL, '{"run": 1}')
        signal.wait(heard, 0.1)
    assert signal.count > heard


def test_without_redis_the_wait_just_ends(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    signal = ChangeSignal()
    begun = time.monotonic()
    signal.wait(signal.count, 0.1)
    assert time.monotonic() - begun < 2


def test_a_reader_that_a_fault_has_ended_is_begun_again(monkeypatch):
    faults = [ValueError("a bug")]

    def read(signal):
        if faults:
            raise faults.pop()
        signal.notify()
        threading.Event().wait()

    monkeypatch.setattr(ChangeSignal, "_read", read)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)  # pytest would warn of the fault
    signal = ChangeSignal()
    signal.wait(heard=0, timeout_s=0)
    signal._reader.join(5)
    signal.wait(heard=0, timeout_s=5)
    assert signal.count == 1


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(notify, "_rest_until", 0.0)
    notify._client.cache_clear()
    yield
    notify._client.cache_clear()


@pytest.fixture
def heard(settings):
    """What is published; a call waits for the next message, at most a second."""
    client = redis.Redis.from_url(settings.REDIS_URL, protocol=2, retry=None)
    with client.pubsub(ignore_subscribe_messages=True) as channel:
        channel.subscribe(notify.CHANNEL)
        channel.get_message(timeout=1)

        def next_message():
            message = channel.get_message(timeout=1)
            return message and json.loads(message["data"])

        yield next_message


@pytest.mark.django_db(transaction=True)
def test_a_poke_carries_ids_after_the_commit(heard):
    with transaction.atomic():
        notify.notify_viewers(run_id=14, campaign_id=119)
        assert heard() is None
    assert heard() == {"run": 14, "campaign": 119}


@pytest.mark.django_db(transaction=True)
def test_what_is_not_known_is_left_out(heard):
    notify.notify_viewers(campaign_id=119)
    assert heard() == {"campaign": 119}


@pytest.mark.django_db(transaction=True)
def test_a_frozen_redis_costs_half_a_second_once_and_raises_nothing(settings, caplog):
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        settings.REDIS_URL = f"redis://127.0.0.1:{frozen.getsockname()[1]}/0"
        began = time.monotonic()
        for _ in range(10):
            notify.notify_viewers(run_id=1)
    assert time.monotonic() - began < 1.5
    assert caplog.text.count("Redis does not answer") == 1
