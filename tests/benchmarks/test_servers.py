"""Which core a server of the benchmarks runs on."""

import os
import subprocess
import sys

import pytest

from benchmarks.servers import pin

_SAY = "import os; print(sorted(os.sched_getaffinity(0)))"


def affinity_of_a_child_pinned_to(core: int) -> str:
    command = [sys.executable, "-c", _SAY]
    done = subprocess.run(
        command, preexec_fn=lambda: pin(core), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def cores():
    before = os.sched_getaffinity(0)
    yield sorted(before)
    os.sched_setaffinity(0, before)


def test_a_process_pinned_to_one_core_starts_a_server_on_another(cores):
    first, last = cores[0], cores[-1]
    pin(first)
    assert affinity_of_a_child_pinned_to(last) == f"[{last}]"


def test_a_core_that_is_not_there_changes_nothing(cores):
    assert affinity_of_a_child_pinned_to(4095) == f"{cores}"
