"""Loops that keep the cores awake: on each core, below everything else, and gone afterwards."""

import os
import time
from pathlib import Path

from benchmarks.awake import awake


def loops():
    """The process numbers of this process's loops."""
    pid = os.getpid()
    children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return [each for each in children if b"benchmarks.awake" in command_of(each)]


def command_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_each_core_has_a_loop_that_gives_way_to_everything():
    with awake():
        until = time.monotonic() + 30
        while {os.sched_getscheduler(each) for each in loops()} != {os.SCHED_IDLE}:
            assert time.monotonic() < until
            time.sleep(0.05)
        places = [os.sched_getaffinity(each) for each in loops()]
        assert sorted(places, key=min) == [{core} for core in sorted(os.sched_getaffinity(0))]
    assert not loops()
