"""Notices from the commit to the topics that they name."""

import json
import socket
import threading
import time

import pytest
import redis
from django.conf import settings as django_settings
from django.db import transaction

from campaigns.core import cache
from campaigns.live import notify
from campaigns.live.notify import CHANNEL, Signal

RUN, OTHER = ("run", 14), ("run", 15)


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(cache, "_rest_until", 0.0)
    notify._client.cache_clear()
    yield
    notify._client.cache_clear()


def test_a_notice_changes_the_version_of_what_it_names_alone():
    signal = Signal(Clock())
    before = [signal.version(each) for each in (RUN, OTHER)]
    signal.notify(RUN)
    after = [signal.version(each) for each in (RUN, OTHER)]
    assert (after[0] > before[0], after[1] == before[1]) == (True, True)
    signal.notify()
    assert min(signal.version(each) for each in (RUN, OTHER)) > max(after)


def test_without_any_notice_each_second_has_another_version():
    clock = Clock()
    signal = Signal(clock)
    signal.notify(RUN)
    before = signal.version(RUN)
    assert signal.version(RUN) == before
    clock.now += 1.0
    assert signal.version(RUN) > before


def test_a_notice_that_came_before_the_wait_is_not_missed():
    signal = Signal()
    version = signal.version(RUN)
    signal.notify(RUN)
    began = time.monotonic()
    signal.wait(RUN, version, 5.0)
    assert time.monotonic() - began < 1.0


def test_a_notice_through_redis_ends_the_wait_for_what_it_names():
    clock = Clock()  # so that no second passes
    signal = Signal(clock)
    signal.wait(RUN, signal.version(RUN), 0.01)
    client = redis.Redis.from_url(django_settings.REDIS_URL)
    version, other = signal.version(RUN), signal.version(OTHER)
    until = time.monotonic() + 5
    while signal.version(RUN) == version and time.monotonic() < until:
        client.publish(CHANNEL, '{"run": 14}')
        signal.wait(RUN, version, 0.1)
    assert signal.version(RUN) > version
    assert signal.version(OTHER) == other


def test_without_redis_the_wait_just_ends(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    signal = Signal(Clock())
    began = time.monotonic()
    signal.wait(RUN, signal.version(RUN), 0.1)
    assert time.monotonic() - began < 2


def test_a_reader_that_a_fault_has_ended_is_begun_again(monkeypatch):
    faults = [ValueError("a bug")]

    def read(signal):
        if faults:
            raise faults.pop()
        signal.notify(RUN)
        threading.Event().wait()

    monkeypatch.setattr(Signal, "_read", read)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)  # pytest would warn of the fault
    signal = Signal(Clock())
    version = signal.version(RUN)
    signal.wait(RUN, version, 0)
    signal._reader.join(5)
    signal.wait(RUN, version, 5)
    assert signal.version(RUN) > version


@pytest.mark.django_db(transaction=True)
def test_a_notice_is_sent_after_the_commit_with_the_ids_that_are_known():
    client = redis.Redis.from_url(django_settings.REDIS_URL, protocol=2, retry=None)
    with client.pubsub(ignore_subscribe_messages=True) as channel:
        channel.subscribe(CHANNEL)
        channel.get_message(timeout=1)

        def next_notice():
            message = channel.get_message(timeout=1)
            return message and json.loads(message["data"])

        with transaction.atomic():
            notify.notify_viewers(run_id=14, campaign_id=119)
            assert next_notice() is None
        assert next_notice() == {"run": 14, "campaign": 119}
        notify.notify_viewers(campaign_id=119)
        assert next_notice() == {"campaign": 119}


@pytest.mark.django_db(transaction=True)
def test_a_frozen_redis_costs_half_a_second_once_and_raises_nothing(settings, caplog):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.REDIS_URL = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        began = time.monotonic()
        for _ in range(10):
            notify.notify_viewers(run_id=1)
    assert time.monotonic() - began < 1.5
    assert caplog.text.count("Redis does not answer") == 1
