"""The lines that tell what grows with runs, history and hosts."""

import subprocess
import sys

import pytest

from benchmarks.engine_costs import pss_mb
from benchmarks.page_costs import page_lines

pytestmark = pytest.mark.pure

# A process with 50 MB and its child, which has the same 50 MB, until their input ends.
SHARING = """
import os, sys
shared = bytearray(b"x") * 50_000_000
if os.fork():
    print("forked", flush=True)
sys.stdin.read()
"""


def cost(**other: float) -> dict:
    met = {"made_ms": 170, "first_ms": 150, "p95_ms": 60, "sent_kb": 150}
    return {"warm_ms": 40, "kb": 900, "statements": 30, **met, **other}


@pytest.mark.parametrize(
    ("missed", "expected"),
    [
        ({}, [True, True, True]),
        ({"first_ms": 151}, [False, True, True]),
        ({"p95_ms": 61}, [True, False, True]),
        ({"sent_kb": 151}, [True, True, False]),
    ],
)
def test_a_page_is_held_to_its_first_view_to_its_later_ones_and_to_what_is_sent(missed, expected):
    assert [line.is_met for line in page_lines("campaign", cost(**missed), 60)] == expected


@pytest.mark.sockets
def test_what_processes_share_is_counted_once():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", SHARING], **pipes) as process:
        process.stdout.readline()
        assert 50 < pss_mb(process.pid) < 100
