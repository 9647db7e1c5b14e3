"""A second injector, written from docs/injector.md and docs/plan.md alone.

Plain blocking Python, a thread for each connection, nothing of ours imported: what this needed and
the documents did not say was added to them. It does closed and sequential HTTP plans, and refuses
the rest.
"""

import json
import os
import queue
import resource
import sys
import threading

from load import NS, Run, now
from order import Cannot, check
from seen import say


class Control(threading.Thread):
    """Lines of the launcher: the start, a stop, a sign of life, or the end of all."""

    def __init__(self, run, dead_man_s):
        super().__init__(daemon=True)
        self.run_, self.dead_man_s, self.start_at = run, dead_man_s, queue.SimpleQueue()
        self.lines = queue.SimpleQueue()

    def run(self):
        threading.Thread(target=self.read, daemon=True).start()
        while True:
            try:
                line = self.lines.get(timeout=self.dead_man_s)
            except queue.Empty:
                return self.give_up("dead_man")
            if not line:
                return self.give_up("parent_gone")
            message = json.loads(line)
            if "stop" in message:
                self.run_.stop(message["stop"])
                self.start_at.put(now())
            elif "start_at_ns" in message:
                self.start_at.put(message["start_at_ns"])

    def read(self):
        for line in sys.stdin:
            self.lines.put(line)
        self.lines.put("")

    def give_up(self, why):
        self.run_.stop(why)
        self.run_.stopped_at -= NS
        self.start_at.put(now())


def main():
    order = json.loads(sys.stdin.readline())
    try:
        run = Run(order, check(order))
    except Cannot as refusal:
        kind, reason = refusal.args
        say("refused", kind=kind, reason=reason)
        return 2
    control = Control(run, order.get("dead_man_s"))
    control.start()
    facts = {"resolved": run.addresses, "connections": run.n_connections,
             "descriptors": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
             "planned_requests": run.planned}  # fmt: skip
    say("ready", protocol=1, pid=os.getpid(), facts=facts)
    run.begin(control.start_at.get())
    run.send()
    return 0


if __name__ == "__main__":
    sys.exit(main())
