"""Loops that keep the cores awake: on each core, below everything else, and gone afterwards."""

import os
import subprocess
import time

import pytest

from benchmarks.awake import awake

READ = {"capture_output": True, "text": True, "check": True}


def loops():
    """The process numbers of this process's loops."""
    done = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())], **READ)
    return [int(line.split()[0]) for line in done.stdout.splitlines() if "benchmarks.awake" in line]


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="only Linux has the idle class")
def test_each_core_has_a_loop_that_gives_way_to_everything():
    cores = os.sched_getaffinity(0)
    with awake():
        until = time.monotonic() + 30
        while {os.sched_getscheduler(each) for each in loops()} != {os.SCHED_IDLE}:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert [os.sched_getaffinity(each) for each in sorted(loops())] == [{c} for c in cores]
    assert not loops()
