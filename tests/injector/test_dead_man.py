"""A parent that stands still does not let its injector send on."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from tests.injector.servers import OK_REPLY, always, make_order, scripted

LIMIT_S = 1.0
# A parent as a launcher is: gives the order, the start, and a sign of life now and then.
PARENT = """
import json, subprocess, sys, time
order, says_alive = json.loads(sys.argv[1]), sys.argv[2] == "True"
child = subprocess.Popen([sys.executable, "-m", "workers.injector"], stdin=-1, stdout=-1, text=True)
def say(message):
    child.stdin.write(json.dumps(message) + "\\n")
    child.stdin.flush()
say(order)
child.stdout.readline()
say({"start_at_ns": time.monotonic_ns() + 50_000_000})
print(child.pid, flush=True)
for _ in range(300 if says_alive else 0):
    time.sleep(0.2)
    say({"alive": True})
for line in child.stdout:
    print(line, end="", flush=True)
"""


@contextlib.contextmanager
def parent_of(order, *, says_alive=True):
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, json.dumps(order), str(says_alive)],
        stdout=subprocess.PIPE,
        text=True,
    )
    injector = int(process.stdout.readline())
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(injector, signal.SIGKILL)
        process.kill()
        process.wait()
        process.stdout.close()


def open_order(server, **given):
    load = {"model": "open", "rate_per_s": 100, "duration_s": 60}
    return make_order(server.port, load=load, **given)


def keeps_sending(server, for_s):
    before = server.n_requests
    time.sleep(for_s)
    return server.n_requests > before


def goes_silent(server, within_s):
    until = time.monotonic() + within_s
    while keeps_sending(server, 0.3):
        if time.monotonic() > until:
            return False
    return True


def test_a_frozen_parent_stops_the_sending_after_the_limit():
    with (
        scripted(always(OK_REPLY)) as server,
        parent_of(open_order(server, dead_man_s=LIMIT_S)) as parent,
    ):
        time.sleep(1.5 * LIMIT_S)
        assert keeps_sending(server, 0.3), "signs of life must keep it sending beyond the limit"
        os.kill(parent.pid, signal.SIGSTOP)
        time.sleep(0.3)
        assert keeps_sending(server, 0.2), "it must not stop before the limit"
        assert goes_silent(server, 2 * LIMIT_S)


def test_without_the_field_the_parent_may_be_silent():
    with (
        scripted(always(OK_REPLY)) as server,
        parent_of(open_order(server), says_alive=False),
    ):
        time.sleep(1.5 * LIMIT_S)
        assert keeps_sending(server, 0.3)
