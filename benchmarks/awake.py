"""Keeps the cores from sleeping, by loops of the lowest class that give way to everything.

A virtual core that sleeps is woken by its host, which takes a tenth of a millisecond or more: time
that any client waits, whatever it is. Without it, what is left is the injector's own.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.servers import pin

_LONGEST_S = 300.0


@contextlib.contextmanager
def awake() -> Iterator[None]:
    """All cores are busy with nothing for the length of a `with` block."""
    cores = sorted(os.sched_getaffinity(0))
    command = [sys.executable, "-m", "benchmarks.awake"]
    loops = [subprocess.Popen([*command, str(core)]) for core in cores]
    try:
        yield
    finally:
        for loop in loops:
            # Ending takes CPU time, too, which its class gets only when nobody else wants it.
            with contextlib.suppress(OSError):
                os.sched_setscheduler(loop.pid, os.SCHED_OTHER, os.sched_param(0))
            loop.kill()
            loop.wait()


def _do_nothing_on(core: int) -> None:
    pin(core)
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    parent, until = os.getppid(), time.monotonic() + _LONGEST_S
    while os.getppid() == parent and time.monotonic() < until:
        pass


if __name__ == "__main__":
    _do_nothing_on(int(sys.argv[1]))
