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


def have_a_core_each():
    places = sorted((os.sched_getaffinity(each) for each in loops()), key=min)
    return places == [{core} for core in sorted(os.sched_getaffinity(0))]


def test_each_core_has_a_loop_that_gives_way_to_everything():
    with awake():
        # Where the tests give way themselves, the loops do from their start.
        eventually(lambda: have_a_core_each() and are_idle(), 30, "each core has its loop")
    assert not loops()
