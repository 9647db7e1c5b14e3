"""A whole installation: it answers, it mends what is killed, and it leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

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
    started = descendants_of(process.pid)
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


def children_of(pid: int) -> set[int]:
    return {int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except FileNotFoundError:
        return ""


def descendants_of(pid: int) -> set[int]:
    found = children_of(pid)
    for child in list(found):
        found |= descendants_of(child)
    return found


def wait_for(condition, seconds: float = 30.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "did not come about in time"
        time.sleep(0.05)


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
        others = children_of(process.pid) - {facts["pids"][name]}
        return any(command in command_of(pid) for pid in others)

    wait_for(is_mended)
    wait_for(lambda: answers(facts["url"]))
