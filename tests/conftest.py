"""What every test has. Nothing here needs Django: the pure tests run without settings."""

import gc
import os
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import hypothesis
import pytest

# Algebra has no deadline: on a busy machine one example may well take a second. Each run draws
# other examples.
hypothesis.settings.register_profile("algebra", deadline=None, max_examples=50)
hypothesis.settings.load_profile("algebra")

HAS_SETTINGS = "DJANGO_SETTINGS_MODULE" in os.environ
pytest_plugins = ["tests.processor_time", "tests.fewer_fixtures"]
if HAS_SETTINGS:
    pytest_plugins += [
        "tests.cast",
        "tests.emptying",
        "tests.kept_rows",
        "tests.access_checks",
        "tests.frozen_backends",
        "tests.searches",
    ]


# These wait for processes and sockets: among the others they leave them the processor.
WAITING = (
    "workers",
    "injector",
    "faults",
    "local",
    "notifications/test_faults.py",
    "notifications/test_delivery.py",
    "schedules/test_kills.py",
    "agent",
)
# These take longest: begun last, they would be waited for alone.
FIRST = (
    "test_statements.py",
    "engine/test_engine_model.py",
    "migrations",
    "test_access.py",
    "test_access_of_rest.py",
    "injector/test_side_by_side.py",
    "injector/websocket/test_messages_in_turns.py",
    "workers/test_side_by_side.py",
    "workers/test_scraping.py",
    "workers/test_launcher_storing.py",
    "injector/test_memory.py",
    "local/test_site.py",
    "injector/test_documented_cases.py",
    "browser/test_accessibility.py",
    "browser/test_first_result.py",
    "browser/test_stop_and_kill.py",
    "browser/test_journey.py",
    "browser/test_long_run.py",
    "browser/test_first_line.py",
)
HERE = Path(__file__).parent


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """The files that wait are spread evenly among the others, the longest of both first."""
    files = sorted({item.path for item in items}, key=lambda path: (place(path, FIRST), path))
    places = {}
    for is_waiting in (True, False):
        group = [path for path in files if (place(path, WAITING) < len(WAITING)) is is_waiting]
        places |= {path: nth / len(group) for nth, path in enumerate(group)}
    items.sort(key=lambda item: (places[item.path], item.path))


def place(path: Path, names: Sequence[str]) -> int:
    """Of the first of these that the file is or is in; their number if it is in none."""
    here = path.as_posix().removeprefix(f"{HERE.as_posix()}/")
    return next((i for i, name in enumerate(names) if here.startswith(name)), len(names))


LAST_HEARD: dict[str, float] = {}  # by worker; filled where the reports of all come together


def pytest_runtest_logreport(report):
    if worker := getattr(report, "worker_id", None):
        LAST_HEARD[worker] = time.monotonic()


def pytest_terminal_summary(terminalreporter):
    """How well a parallel run was balanced."""
    if len(LAST_HEARD) > 1 and "PYTEST_XDIST_WORKER" not in os.environ:
        end = max(LAST_HEARD.values())
        idle = ", ".join(f"{name} {end - at:.0f} s" for name, at in sorted(LAST_HEARD.items()))
        terminalreporter.write_line(f"idle at the end: {idle}")


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
    """What `make test-fast` runs stays fast: a socket or a process fails such a test. Threads that
    an earlier test left, such as one that waits for pokes, open what they need."""
    whose = threading.current_thread()

    def refuse(original):
        def make(*args, **options):
            if threading.current_thread() is whose:
                raise AssertionError("a pure test opens no socket and starts no process")
            original(*args, **options)

        return make

    marks = {mark.name for mark in request.node.iter_markers()}
    if "pure" in marks and "sockets" not in marks:
        for kind in (socket.socket, subprocess.Popen):
            monkeypatch.setattr(kind, "__init__", refuse(kind.__init__))
