"""Channels, and a thread of the dispatcher that delivers to them."""

import atexit
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from django.contrib.auth.models import User

from campaigns.models import Project
from campaigns.notifications.domain import CHOICES, new_secret
from campaigns.notifications.models import ChannelKind, NotificationChannel
from campaigns.projects.services import encrypt
from tests.waiting import eventually
from workers.notifying import NotificationsThread, Sender


def make_channel(
    project: Project | None = None, address: str = "http://127.0.0.1:9/", **fields: Any
) -> NotificationChannel:
    """Of a webhook that gets everything, where the test does not say otherwise."""
    user: User | None = fields.pop("user", None)
    values = {
        "kind": ChannelKind.WEBHOOK,
        "label": "#perf",
        "kinds": [str(kind) for kind in CHOICES],
        "secrets": encrypt(fields.pop("secret", "") or new_secret()),
        **fields,
    }
    return NotificationChannel.objects.create(
        project=project, user=user, address=encrypt(address), **values
    )


class SharedSender(Sender):
    """To start its program takes more than most deliveries. What hangs in it nobody ends."""

    def end(self) -> None:
        """It ends with the tests."""


SHARED = SharedSender()
atexit.register(Sender.end, SHARED)


@contextlib.contextmanager
def delivering(
    is_active: Callable[[], bool] = lambda: True, sender: Sender = SHARED
) -> Iterator[NotificationsThread]:
    is_over = threading.Event()
    thread = NotificationsThread(is_over, is_active)
    thread._sender = sender
    if sender is SHARED:
        sender.start()  # a program ends with the thread that started it
    thread.start()
    try:
        yield thread
    finally:
        is_over.set()
        thread.ask()
        thread.join(15)
        assert not thread.is_alive()


def arrives(has: Callable[[], Any], what: str = "the message arrives", within_s: float = 15) -> Any:
    return eventually(has, within_s, what)
