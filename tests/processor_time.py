"""At the end of a run: the processor time of each test file, of pytest and of what it started.

Time that passes says little on a machine that does other things as well. A process that goes on
after its test, as a browser does, counts for each test in which it works. Not in it: PostgreSQL and
Redis, which pytest does not start.
"""

import os
from collections import Counter

import pytest

MOST = 15
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
USED = {"s": 0.0}  # of this process and its children, until the report before
BY_FILE: Counter[str] = Counter()
ENDS_FILE = pytest.StashKey[bool]()


def used_s() -> float:
    """Of this process, of those that it has waited for, and of all below it that still live."""
    return sum(os.times()[:4]) + sum(map(_below_s, _children("self")))


def _below_s(pid: str) -> float:
    ticks = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()[11:15]
    return sum(map(int, ticks)) / TICKS_PER_S + sum(map(_below_s, _children(pid)))


def _children(pid: str) -> list[str]:
    """Of all its threads. One that has ended has none: what waits for it counts its time."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # pathlib takes ten times as long
    except OSError:
        return []
    return "".join(_read(f"/proc/{pid}/task/{each}/children") for each in threads).split()


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def pytest_collection_finish():
    USED["s"] = used_s()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    item.stash[ENDS_FILE] = nextitem is None or nextitem.path != item.path


def pytest_runtest_makereport(item, call):
    """Once a file, with its last report, which takes it to the process that writes them all: to
    read it after each test took a tenth of what pytest does around the shortest ones.
    """
    if call.when == "teardown" and item.stash[ENDS_FILE]:
        began, USED["s"] = USED["s"], used_s()
        # Less than before where an installation has ended whose processes nobody waited for.
        item.user_properties.append(("processor_s", max(0.0, USED["s"] - began)))


def pytest_runtest_logreport(report):
    BY_FILE[report.nodeid.partition("::")[0]] += dict(report.user_properties).get("processor_s", 0)


def pytest_terminal_summary(terminalreporter):
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    whole_s = sum(BY_FILE.values())
    terminalreporter.write_line(f"processor time of {len(BY_FILE)} files: {whole_s:.0f} s")
    for file, file_s in BY_FILE.most_common(MOST):
        terminalreporter.write_line(f"  {file_s:6.1f} s  {file}")
