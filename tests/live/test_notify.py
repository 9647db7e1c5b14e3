import json
import socket
import time

import pytest
import redis
from django.db import transaction

from campaigns.live import notify


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
