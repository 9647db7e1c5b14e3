"""Redis is frozen or killed: a run under way does not notice, and whoever waits is told in time."""

import re
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import redis
from celery import current_app
from django.conf import settings as django_settings
from kombu.exceptions import OperationalError

from campaigns.core import cache, queue
from campaigns.domain.lifecycle import StopReason
from campaigns.engine.services.endings import StopCall, call
from campaigns.live import notify
from campaigns.models import InjectorHost
from campaigns.operations import views as health
from tests.engine.scenes import age
from tests.faults.runs import (
    RATE_PER_S,
    await_admission,
    await_end,
    await_workers,
    in_the_middle,
    stored_requests,
)
from tests.waiting import eventually
from workers import watch
from workers.tasks import UNHEARD_AFTER_S

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


def test_a_run_begins_soon_after_a_frozen_redis_is_back(site, begin, redis_server):
    eventually(lambda: InjectorHost.objects.exists(), 30, "the host is there")
    redis_server.freeze()
    try:
        run = begin(2)
        await_admission(run)
        time.sleep(1)  # five ticks of the dispatcher
        run.refresh_from_db()
        assert run.state == "preparing", "admitted, and nobody has heard of it"
    finally:
        redis_server.thaw()
    await_workers(run, within_s=9)  # sooner than by the worker's own look
    await_end(run)
    assert run.outcome == "complete"


def test_a_run_begins_although_redis_is_away_and_a_worker_that_is_to_end_waits_for_it(
    site, begin, redis_server
):
    """Nobody hears a doorbell; the worker looks by itself."""
    redis_server.kill()
    try:
        run = begin(4)
        await_admission(run)
        age(run, UNHEARD_AFTER_S + 1)
        await_workers(run, within_s=20)
        in_the_middle(run, site)
        site.worker.send(signal.SIGTERM)
        await_end(run)
    finally:
        redis_server.start()
    assert (run.outcome, run.reason) == ("complete", "")
    eventually(lambda: site.worker.has_ended, 15, "the worker ends after its run")


def test_redis_frozen_in_the_middle_of_a_run_does_not_touch_it(site, begin, redis_server, echo):
    n_before = echo.n_arrived()
    run = begin(4)
    in_the_middle(run, site)
    redis_server.freeze()
    try:
        await_end(run)
    finally:
        redis_server.thaw()
    assert run.outcome == "complete"
    assert stored_requests(run) == 4 * RATE_PER_S == echo.n_arrived() - n_before


def test_a_killed_redis_that_comes_back_empty_delays_the_next_run_by_seconds(
    site, begin, redis_server
):
    eventually(lambda: InjectorHost.objects.exists(), 30, "the host is there")
    redis_server.kill()
    run = begin(1)
    await_admission(run)
    redis_server.start()
    await_workers(run, within_s=12)
    await_end(run)
    assert run.outcome == "complete"


# By the module that asks Redis: how, and the longest that it may take, s.
ASKS: dict[str, tuple[Callable[[], object], float]] = {
    "campaigns/core/cache.py": (partial(cache.get_many, ["any"]), 1),
    "campaigns/live/notify.py": (partial(notify._publish, "{}"), notify.TIMEOUT_S),
    "those who wait for notices": (lambda: notify.Signal()._read(), 5),
    "campaigns/core/queue.py": (partial(queue.send, queue.RESULTS), 1),
    "campaigns/engine/services/endings.py": (
        lambda: call(*[StopCall(StopReason.USER, run=0)] * 20),
        1,
    ),
    "campaigns/operations/views.py": (health._ask_redis, health.PING_TIMEOUT_S),
    "workers/watch.py": (lambda: listen_once(), 4 * watch.LISTEN_S),
    "a worker's broker": (lambda: ask_as_a_worker(), 5),
}
# Of a machine that has something else to do as well.
BUSY_S = 4


def listen_once() -> None:
    ear = watch.StopListener(print)
    ear.close()
    ear._listen()


def ask_as_a_worker() -> None:
    with current_app.connection_for_read() as connection:
        connection.default_channel.client.ping()


@pytest.fixture
def frozen_redis(redis_server, on_own_redis):
    redis_server.freeze()
    yield
    redis_server.thaw()


def test_whoever_asks_it_gives_up_in_time(frozen_redis):
    took_s: dict[str, float] = {}

    def ask(name: str, act: Callable[[], object]) -> None:
        began = time.monotonic()
        with suppress(redis.RedisError, OperationalError):
            act()
        took_s[name] = time.monotonic() - began

    threads = [threading.Thread(target=ask, args=[name, act]) for name, (act, _) in ASKS.items()]
    for thread in threads:
        thread.start()
    longest_s = max(most_s for _, most_s in ASKS.values()) + BUSY_S
    until = time.monotonic() + longest_s
    for thread in threads:
        thread.join(max(0, until - time.monotonic()))
    late = {name: most_s for name, (_, most_s) in ASKS.items()
            if took_s.get(name, longest_s) >= most_s + BUSY_S}  # fmt: skip
    assert not late


def test_nobody_else_asks_it():
    asks = r"^import redis|caches\[|current_app\.(connection|send_task)|from_url"
    speaks = re.compile(asks, re.MULTILINE)
    askers = {
        str(path.relative_to(django_settings.BASE_DIR))
        for layer in ("campaigns", "workers", "benchsite")
        for path in Path(django_settings.BASE_DIR, layer).rglob("*.py")
        if speaks.search(path.read_text())
    }
    assert askers == {name for name in ASKS if name.endswith(".py")}
