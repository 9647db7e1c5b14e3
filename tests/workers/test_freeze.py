"""A frozen process is told from one that waits."""

import os
import signal
import subprocess
import sys
import time

PROGRAM = """
import sys, time
from workers.launcher import FreezeDetector
seen = FreezeDetector()
print("begun", flush=True)
sys.stdin.readline()
print(seen.longest_s(2) > 0.9, flush=True)
time.sleep(1)
print(seen.longest_s(0.5) > 0.9, flush=True)
"""


def test_only_what_stops_the_whole_process_is_a_standstill():
    command = [sys.executable, "-c", PROGRAM]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline() == "begun\n"
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(1)  # a freeze takes its time
        os.kill(process.pid, signal.SIGCONT)
        process.stdin.write("go on\n")
        process.stdin.flush()
        assert process.stdout.readline() == "True\n"
        assert process.stdout.readline() == "False\n"
