"""A worker's pulse: as long as its loop goes on or waits for Redis, and no longer."""

import signal
import time
from pathlib import Path

import pytest

from tests.waiting import eventually
from workers.celery_worker import PULSE_EVERY_S

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
BUSY_S = 20


def next_beat(pulse: Path) -> None:
    before = pulse.stat().st_mtime_ns
    eventually(lambda: pulse.stat().st_mtime_ns != before, PULSE_EVERY_S + BUSY_S, "the next beat")


def is_silent(pulse: Path) -> bool:
    before = pulse.stat().st_mtime_ns
    time.sleep(2.5 * PULSE_EVERY_S)
    return pulse.stat().st_mtime_ns == before


def test_a_worker_has_a_pulse_also_without_redis_but_not_when_it_is_frozen(site, redis_server):
    pulse = site.folder / "worker.pulse"
    eventually(pulse.exists, PULSE_EVERY_S + BUSY_S, "the first beat")
    redis_server.kill()
    try:
        for _ in range(4):  # more than one attempt to connect
            next_beat(pulse)
    finally:
        redis_server.start()
    for _ in range(2):
        next_beat(pulse)
    site.worker.send(signal.SIGSTOP)
    try:
        eventually(lambda: is_silent(pulse), BUSY_S, "silence")
    finally:
        site.worker.send(signal.SIGCONT)
    next_beat(pulse)
