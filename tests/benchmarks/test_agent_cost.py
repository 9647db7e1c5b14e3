"""How the agent's own cost is read, and when its goals are met."""

import os
import signal
import subprocess
import sys

import pytest

from benchmarks.agent_cost import cpu_line, cpu_s, memory_line, memory_mb
from benchmarks.selection import Selection
from tests.waiting import eventually

# A child of its own computes, and takes memory.
FAMILY = """
import subprocess, sys
busy = "held = bytearray(30_000_000)\\nwhile True: pass"
subprocess.run([sys.executable, "-c", busy])
"""


@pytest.mark.pure
@pytest.mark.parametrize(("share", "is_met"), [(0.0031, True), (0.01, True), (0.0101, False)])
def test_a_hundredth_of_a_core_is_the_most(share, is_met):
    assert cpu_line("agent", share).is_met is is_met


@pytest.mark.pure
@pytest.mark.parametrize(("mb", "is_met"), [(20.5, True), (40.1, False)])
def test_forty_megabytes_are_the_most(mb, is_met):
    line = memory_line("agent", mb)
    assert (line.measured, line.is_met) == (f"{mb} MB resident", is_met)


def test_what_its_children_use_counts_with_it():
    with subprocess.Popen([sys.executable, "-c", FAMILY], start_new_session=True) as family:
        try:
            eventually(lambda: cpu_s(family.pid) > 0.5, 30, "the child's CPU time is counted")
            assert memory_mb(family.pid) > 30
        finally:
            os.killpg(family.pid, signal.SIGKILL)


@pytest.mark.pure
def test_it_is_a_part_of_the_table_that_needs_no_other_server():
    selection = Selection(frozenset({"agent-cost"}))
    assert selection.wants("agent-cost")
    assert not selection.wants_the_injector
