"""Loops that keep the cores awake: on each core, below everything else, and gone afterwards."""

import os

from benchmarks.awake import awake
from tests.process_tree import children, command_of
from tests.waiting import eventually


def loops():
    """The process numbers of this process's loops."""
    return [each for each in children(os.getpid()) if "benchmarks.awake" in command_of(each)]


def are_idle():
    return {os.sched_getscheduler(each) for each in loops()} == {os.SCHED_IDLE}


def test_each_core_has_a_loop_that_gives_way_to_everything():
    with awake():
        eventually(are_idle, 30, "the loops give way")
        places = [os.sched_getaffinity(each) for each in loops()]
        assert sorted(places, key=min) == [{core} for core in sorted(os.sched_getaffinity(0))]
    assert not loops()
