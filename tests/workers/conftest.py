"""What tests of launchers share."""

import threading
import time

import pytest

from tests.engine.scenes import preparing
from workers import launcher
from workers.dispatching import Dispatcher


@pytest.fixture
def dispatcher():
    """The real one, in a thread, and what ends it; it makes no doorbell that anybody hears."""
    end = threading.Event()
    thread = threading.Thread(target=Dispatcher(end).run)
    thread.start()
    yield thread, end
    end.set()
    thread.join(15)


@pytest.fixture
def messages(monkeypatch) -> list[tuple[float, dict]]:
    """What launchers tell their injectors, each with its instant."""
    messages, tell = [], launcher.InjectorProcess.tell

    def tell_and_note(self, message):
        messages.append((time.monotonic(), message))
        tell(self, message)

    monkeypatch.setattr(launcher.InjectorProcess, "tell", tell_and_note)
    return messages


@pytest.fixture
def run(project):
    """One whose shard waits for a launcher."""
    return preparing(project)


@pytest.fixture
def spool_folder(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path
