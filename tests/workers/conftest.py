"""The dispatcher for tests of launchers."""

import threading

import pytest

from workers.dispatching import Dispatcher


@pytest.fixture
def dispatcher():
    """The real one, in a thread; it makes no doorbell that anybody hears."""
    ended = threading.Event()
    thread = threading.Thread(target=Dispatcher(ended).run)
    thread.start()
    yield
    ended.set()
    thread.join(15)
