"""What every test has. Nothing here needs Django: the pure tests run without settings."""

import gc
import os
import socket
import subprocess
from pathlib import Path
from unittest import mock

import hypothesis
import pytest

# Algebra has no deadline: on a busy machine one example may well take a second.
hypothesis.settings.register_profile("algebra", deadline=None)
hypothesis.settings.load_profile("algebra")

HAS_SETTINGS = "DJANGO_SETTINGS_MODULE" in os.environ
pytest_plugins = ["tests.cast"] if HAS_SETTINGS else []


# These wait most: begun last, they would be waited for alone.
FIRST = ("faults", "local", "workers", "injector")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    def rank(item):
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        return FIRST.index(folder) if folder in FIRST else len(FIRST)

    items.sort(key=rank)


def pytest_report_header():
    if not HAS_SETTINGS:
        return 'no settings: tests that need Django or a database run with `make test ARGS="…"`'
    return None


@pytest.fixture(scope="session", autouse=True)
def _only_what_tests_make_is_collected():
    """An engine collects garbage before its start, and thaws what it froze at its end.

    Beside pytest's million objects that took longer than most tests.
    """
    gc.collect()
    gc.freeze()
    with mock.patch("gc.unfreeze"):
        yield


@pytest.fixture(autouse=True)
def _pure_tests_open_nothing(request, monkeypatch):
    """What `make test-fast` runs stays fast: a socket or a process fails such a test."""

    def refuse(*_args, **_kwargs):
        raise AssertionError("a pure test opens no socket and starts no process")

    marks = {mark.name for mark in request.node.iter_markers()}
    if "pure" in marks and "sockets" not in marks:
        monkeypatch.setattr(socket.socket, "__init__", refuse)
        monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
