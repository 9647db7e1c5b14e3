import socket
import threading
import time

import pytest
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from campaigns.core import queue


@pytest.fixture
def sent(monkeypatch):
    messages = []
    monkeypatch.setattr(
        current_app, "send_task", lambda name, args, **_: messages.append((name, args))
    )
    return messages


@pytest.mark.django_db(transaction=True)
def test_it_sends_after_the_commit_and_not_before(sent):
    with transaction.atomic():
        queue.enqueue(queue.EXPORTER, [7])
        assert sent == []
    assert sent == [("workers.exporter", [7])]


@pytest.mark.django_db(transaction=True)
def test_it_sends_nothing_for_what_was_rolled_back(sent):
    with transaction.atomic():
        queue.enqueue(queue.EXPORTER, [7])
        transaction.set_rollback(True)
    assert sent == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("error", [OperationalError("refused"), TimeoutError("frozen")])
def test_a_broker_that_is_away_is_logged_and_never_raised(monkeypatch, caplog, error):
    def away(name, args, **_):
        raise error

    monkeypatch.setattr(current_app, "send_task", away)
    queue.enqueue(queue.INJECT)
    assert "did not take workers.inject" in caplog.text


@pytest.mark.parametrize("is_frozen", [True, False])
def test_without_redis_nobody_waits_for_more_than_a_second(monkeypatch, is_frozen):
    """Frozen: the kernel still accepts connections, and nobody ever answers. Else refused."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        if not is_frozen:
            listener.close()
            port = 1
        else:
            port = listener.getsockname()[1]
        monkeypatch.setattr(current_app.conf, "broker_write_url", f"redis://127.0.0.1:{port}/0")
        queue.send(queue.EXPORTER, [7])  # loads what is loaded once
        began = time.monotonic()
        assert not queue.send(queue.EXPORTER, [7])
        assert time.monotonic() - began < 1


def test_every_thread_knows_the_sites_broker(settings):
    urls = []
    thread = threading.Thread(target=lambda: urls.append(current_app.conf.broker_url))
    thread.start()
    thread.join()
    assert urls == [settings.CELERY_BROKER_URL]


def test_doorbells_for_injectors_go_to_their_own_queue():
    route = current_app.amqp.router.route({}, queue.INJECT)
    assert route["queue"].name == "inject"
    assert current_app.amqp.router.route({}, queue.EXPORTER)["queue"].name == "general"
