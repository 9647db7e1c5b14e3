"""At the end of a run: the processor time of each test file, of pytest and of what it started.

Time that passes says little on a machine that does other things as well. Not in it: PostgreSQL and
Redis, which pytest does not start, and a process that goes on after its test, which counts where it
is waited for.
"""

import os
from collections import Counter

MOST = 15
USED = {"s": 0.0}  # of this process and its children, until the report before
BY_FILE: Counter[str] = Counter()


def used_s() -> float:
    return sum(os.times()[:4])


def pytest_collection_finish():
    USED["s"] = used_s()


def pytest_runtest_makereport(item, call):
    """Before the report is made, which takes it to the process that writes them all."""
    began, USED["s"] = USED["s"], used_s()
    item.user_properties[:] = [("processor_s", USED["s"] - began)]


def pytest_runtest_logreport(report):
    BY_FILE[report.nodeid.partition("::")[0]] += dict(report.user_properties).get("processor_s", 0)


def pytest_terminal_summary(terminalreporter):
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    whole_s = sum(BY_FILE.values())
    terminalreporter.write_line(f"processor time of {len(BY_FILE)} files: {whole_s:.0f} s")
    for file, file_s in BY_FILE.most_common(MOST):
        terminalreporter.write_line(f"  {file_s:6.1f} s  {file}")
