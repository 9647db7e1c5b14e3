"""A whole installation: it answers, it mends what is killed, and it leaves nothing behind."""

import os
import signal
import urllib.request
from pathlib import Path

import pytest

from tests.process_tree import children, command_of, descendants
from tests.staged_site import staged
from tests.waiting import eventually

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def installation():
    """One for all tests of this file; at its end nothing of it may be left."""
    with staged("BENCHSITE_INJECTOR_SLOTS=2") as (process, facts):
        yield process, facts
        pids = descendants(process.pid)
        assert len(pids) >= len(facts["pids"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert [command_of(pid) for pid in pids if command_of(pid)] == []
    assert not Path(facts["env"]["BENCHSITE_VAR"]).exists()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


OURS = {
    "web": "gunicorn",
    "launcher": "-Q inject",
    "dispatcher": "workers.dispatcher",
    "general": "-Q general",
    "demo-target": "workers.echo",
}


def test_whatever_is_killed_is_mended(installation):
    process, facts = installation
    assert answers(facts["url"])
    pids = {facts["pids"][name] for name in OURS}
    for pid in pids:
        os.kill(pid, signal.SIGKILL)

    def missing() -> list[str]:
        commands = [command_of(pid) for pid in set(children(process.pid)) - pids]
        return [name for name, words in OURS.items() if not any(words in each for each in commands)]

    eventually(lambda: not missing(), 30, "all of them run again")
    eventually(lambda: answers(facts["url"]), 30, "the site answers")
