"""What a test took includes the processes that go on after it, once."""

import subprocess
import sys

from tests.processor_time import used_s

# The kernel counts in hundredths of a second: an interpreter that does nothing may take none.
WORKS = """
import time
while time.process_time() < 0.05:
    pass
"""
WORKS_AND_STAYS = """
import time
while time.process_time() < 0.3:
    pass
print("worked", flush=True)
input()
"""


def test_a_process_that_goes_on_is_counted_for_what_it_worked_and_only_once():
    before_s = used_s()
    command = [sys.executable, "-c", WORKS_AND_STAYS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        alive_s = used_s() - before_s
        child.communicate(b"\n")
    ended_s = used_s() - before_s
    assert 0.28 <= alive_s <= ended_s <= alive_s + 0.2


def test_a_process_that_was_waited_for_counts_once():
    before_s = used_s()
    subprocess.run([sys.executable, "-c", WORKS], check=True)
    once_s = used_s()
    assert before_s < once_s <= used_s() < once_s + 0.2
