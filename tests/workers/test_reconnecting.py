"""A Celery worker that cannot open a file to reach Redis again, or whose Redis has a full disk."""

import errno
from types import SimpleNamespace

import pytest
from celery import current_app
from celery.bootsteps import CLOSE
from celery.utils.imports import symbol_by_name
from celery.worker.consumer import Consumer
from kombu.exceptions import OperationalError
from redis.exceptions import ResponseError

from workers import celery_worker
from workers.celery_worker import PatientConsumer


class Step:
    """Of the start of a connection: fails with an error a few times, then the loop is over."""

    alias = "connecting"

    def __init__(self, error: Exception, times: int):
        self.error, self.left, self.n_starts = error, times, 0

    def start(self, consumer) -> None:
        self.n_starts += 1
        if self.left:
            self.left -= 1
            raise self.error
        consumer.blueprint.state = CLOSE


@pytest.fixture
def waited_s(monkeypatch):
    """How long each wait was; none takes any time."""
    waits: list[float] = []
    monkeypatch.setattr(celery_worker.time, "sleep", waits.append)
    return waits


def start(kind: type[Consumer], step: Step) -> None:
    pool = SimpleNamespace(num_processes=1, is_green=True, flush=list)
    worker = SimpleNamespace(use_eventloop=False, semaphore=None)
    consumer = kind(print, app=current_app, pool=pool, controller=worker)
    consumer.steps = [step]
    consumer.start()


def of_the_broker_s_library() -> OperationalError:
    """Where it cannot even make the epoll for a connection."""
    error = OperationalError("[Errno 24] Too many open files")
    error.__cause__ = no_file()
    return error


def no_file() -> OSError:
    return OSError(errno.EMFILE, "Too many open files")


def full_disk() -> ResponseError:
    return ResponseError("MISCONF Errors writing to the AOF file: No space left on device")


@pytest.mark.parametrize("error", [no_file(), of_the_broker_s_library(), full_disk()])
def test_it_tries_again_until_a_file_can_be_opened_and_redis_takes_something(error, waited_s):
    step = Step(error, times=3)
    start(PatientConsumer, step)
    assert step.n_starts == 4
    assert waited_s == [celery_worker.RETRY_S] * 3


def test_another_error_of_the_broker_s_library_is_no_reason_to_wait(waited_s):
    with pytest.raises(OperationalError):
        start(PatientConsumer, Step(OperationalError("WRONGPASS"), times=1))
    assert not waited_s


def test_another_error_is_celerys_to_answer(waited_s):
    step = Step(ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), times=1)
    start(PatientConsumer, step)
    assert step.n_starts == 2
    assert not waited_s


def test_every_worker_of_ours_is_one():
    assert symbol_by_name(current_app.conf.worker_consumer) is PatientConsumer
