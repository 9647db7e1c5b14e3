"""Runs orders from the command line: one in this process, or several in child processes."""

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import gevent
from gevent.subprocess import PIPE, Popen

from campaigns.domain.lifecycle import StopReason
from campaigns.domain.metrics.injector_end import InjectorEnd
from campaigns.domain.metrics.snapshot import Second
from campaigns.domain.plan.plan import Plan
from workers.injector.connection import NS, now
from workers.injector.engine import Engine
from workers.injector.key_log import KeyLog
from workers.injector.order import Order, Refusal
from workers.injector.summary import LocalRun

START_DELAY_NS = NS // 20
Show = Callable[[Second], None]


def run_here(order: dict[str, Any], show: Show, key_log: KeyLog | None = None) -> LocalRun:
    """Run one injector in this process; Ctrl-C ends it and keeps the results. Raises Refusal."""
    parsed = Order.from_json(order)
    run = LocalRun(parsed.plan, show=show)
    engine = Engine(parsed, run, key_log)
    warn(engine.prepare())
    handlers = [
        gevent.signal_handler(number, engine.stop, StopReason.USER)
        for number in (signal.SIGINT, signal.SIGTERM)
    ]
    start_ns = now() + START_DELAY_NS
    run.started_at = _wall_clock_s(start_ns, parsed.plan)
    run.ends.append(engine.run(start_ns))
    for handler in handlers:
        handler.cancel()
    return run


def run_processes(order: dict[str, Any], count: int, show: Show) -> LocalRun:
    """Split the order among `count` processes with a common start. Raises Refusal."""
    run = LocalRun(Order.from_json(order).plan, show=show)
    children = [_Child(each) for each in shared_orders(order, count)]
    handler = gevent.signal_handler(signal.SIGINT, lambda: [each.stop() for each in children])
    try:
        for child in children:
            child.await_ready()
        start_ns = now() + START_DELAY_NS
        run.started_at = _wall_clock_s(start_ns, run.plan)
        followers = [gevent.spawn(each.follow, start_ns, run) for each in children]
        gevent.joinall(followers)
    finally:
        handler.cancel()
        for child in children:
            child.end()
    if not all(child.has_ended for child in children):
        raise Refusal("client_other", "An injector process ended before its run was over.")
    return run


def shared_orders(order: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The order of each of `count` processes."""
    shared = {"count": count, "weights": order["plan"]["load"].get("shares", [])}
    return [order | {"shard": {"index": index, **shared}} for index in range(count)]


def tell(line: str) -> None:
    """On standard error. Nobody may be listening any more: a measurement does not end by that."""
    try:
        print(line, file=sys.stderr)
    except OSError:
        # What is left in its buffer would fail again at the exit, which would then have status 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def warn(facts: dict[str, Any]) -> None:
    for text in facts.get("warnings", ()):
        tell(f"Warning: {text}")


def _wall_clock_s(start_ns: int, plan: Plan) -> float:
    """When measuring begins. Asked once: durations never come from this clock."""
    return time.time() + (start_ns - now()) / NS + plan.warm_up_s


class _Child:
    """One injector process and its two ends of the protocol."""

    def __init__(self, order: dict[str, Any]):
        command = [sys.executable, "-m", "workers.injector"]
        # In a new session: Ctrl-C only reaches this process, which then stops the children.
        self.has_ended = False
        self._number = order["shard"]["index"]
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, start_new_session=True)
        self._say(order)

    def _say(self, message: dict[str, Any]) -> None:
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def await_ready(self) -> None:
        line = self._process.stdout.readline()
        message = (
            json.loads(line)
            if line
            else {"type": "", "reason": "The injector process ended without a message."}
        )
        if message["type"] != "ready":
            raise Refusal(message.get("kind", "client_other"), message["reason"])
        warn(message["facts"])

    def follow(self, start_ns: int, run: LocalRun) -> None:
        self._say({"start_at_ns": start_ns})
        for line in self._process.stdout:
            message = json.loads(line)
            if message["type"] == "second":
                run.second(Second.from_json(message), self._number)
            elif message["type"] == "requests":
                run.requests(message, self._number)
            elif message["type"] == "end":
                run.ends.append(InjectorEnd.from_json(message))
                self.has_ended = True

    def stop(self) -> None:
        """Unless its run is over: a process with a small share may have ended before others."""
        if not self.has_ended:
            with contextlib.suppress(BrokenPipeError):
                self._say({"stop": StopReason.USER})

    def end(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
