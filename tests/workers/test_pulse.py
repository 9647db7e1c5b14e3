"""What touches a worker's file: its loop, or while there is no connection to Redis a thread."""

import threading
from types import SimpleNamespace

import pytest

from workers import celery_worker
from workers.celery_worker import WorkerPulse, touch_pulse


class Timer:
    """The loop's, which turns by hand."""

    def call_repeatedly(self, every_s, act):
        self.turn = act


@pytest.fixture
def file(tmp_path, settings):
    settings.PULSE_FILE = str(tmp_path / "pulse")
    return tmp_path / "pulse"


@pytest.fixture
def worker():
    return SimpleNamespace(timer=Timer(), consumer=SimpleNamespace(connection="a connection"))


@pytest.fixture
def step(worker, monkeypatch):
    monkeypatch.setattr(celery_worker, "PULSE_EVERY_S", 0.01)
    step = WorkerPulse(worker)
    step.start(worker)
    yield step
    step.stop(worker)


def is_touched(file, within_s: float) -> bool:
    file.unlink(missing_ok=True)
    waited = threading.Event()
    for _ in range(int(within_s / 0.01)):
        if file.exists():
            return True
        waited.wait(0.01)
    return False


def test_a_turn_of_the_loop_touches_the_file(file, worker, step):
    worker.timer.turn()
    assert file.exists()


def test_a_loop_that_hangs_with_a_connection_does_not(file, step):
    assert not is_touched(file, 0.2)


def test_without_a_connection_it_is_not_the_loop_that_hangs(file, worker, step):
    worker.consumer.connection = None
    assert is_touched(file, 10)


def test_a_worker_that_has_not_begun_has_none(file, worker, step):
    worker.consumer = None
    assert is_touched(file, 10), "and it begins by connecting"


def test_nothing_is_touched_where_nobody_looks(tmp_path, settings):
    settings.PULSE_FILE = ""
    touch_pulse()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_has_gone_ends_nothing(tmp_path, settings):
    settings.PULSE_FILE = str(tmp_path / "gone" / "pulse")
    touch_pulse()
    assert not (tmp_path / "gone").exists()
