"""A process that measures how its memory grows by failures: orders as lines in, bytes as lines out.

Each order runs twice, first with WARM_UP requests for what is only made once.
"""

import json
import os
import sys

from workers.injector import machine
from workers.injector.machine import ProcFiles
from workers.injector.summary import run_here

WARM_UP = 300


def growth_bytes(order) -> dict[str, int]:
    """By how much the peak of the measured run is above the memory before it."""
    load = order["plan"]["load"]
    run_here(order | {"plan": order["plan"] | {"load": load | {"requests": WARM_UP}}}, discard)
    with ProcFiles() as files:
        before = machine.memory_bytes(files)[0]
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins anew
    errors = run_here(order, discard).total.errors
    return {"bytes": peak_bytes() - before, "failed": sum(errors.values()), "errors": errors}


def discard(_) -> None:
    """A second, as it comes."""


def peak_bytes() -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


if __name__ == "__main__":
    os.environ["PYTHONUNBUFFERED"] = "1"
    for line in sys.stdin:
        print(json.dumps(growth_bytes(json.loads(line))), flush=True)
