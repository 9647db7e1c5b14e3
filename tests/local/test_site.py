"""A whole installation: it answers, it mends what is killed, and it leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.process_tree import children, command_of, descendants
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def installation():
    """One for all tests of this file; at its end nothing of it may be left."""
    process = subprocess.Popen(
        [sys.executable, "-m", "local", "site"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    line = process.stdout.readline()
    assert line, "the installation did not start"
    facts = json.loads(line)
    yield process, facts
    started = descendants(process.pid)
    assert len(started) >= len(facts["pids"])
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert [command_of(pid) for pid in started if command_of(pid)] == []
    assert not Path(facts["env"]["BENCHSITE_VAR"]).exists()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def test_it_answers(installation):
    _process, facts = installation
    assert answers(facts["url"])


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("web", "gunicorn"),
        ("launcher", "-Q inject"),
        ("dispatcher", "workers.dispatcher"),
        ("general", "-Q general"),
        ("beat", "benchsite beat"),
        ("demo-target", "workers.echo"),
    ],
)
def test_a_killed_process_is_mended(installation, name, command):
    process, facts = installation
    os.kill(facts["pids"][name], signal.SIGKILL)

    def is_mended() -> bool:
        others = set(children(process.pid)) - {facts["pids"][name]}
        return any(command in command_of(pid) for pid in others)

    eventually(is_mended, 30, f"{name} runs again")
    eventually(lambda: answers(facts["url"]), 30, "the site answers")
