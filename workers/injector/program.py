"""The program as a launcher starts it: order and control on standard input, lines on output."""

import json
import os
from typing import Any

from gevent.event import AsyncResult

from campaigns.domain.stop_reasons import StopReason, as_told_to_injectors
from workers.injector import probe
from workers.injector.connection import now
from workers.injector.control import Control, DeadManSwitch, die_with_parent, read_line
from workers.injector.engine import Engine
from workers.injector.order import PROTOCOL, Order, Refusal
from workers.injector.output import LineWriter

OK, REFUSED = 0, 2


def main() -> int:
    """Run one order; returns the exit status."""
    die_with_parent()
    line, unread = read_line()
    writer = LineWriter()
    try:
        return _run_order(line, unread, writer)
    except Refusal as refusal:
        writer.message({"type": "refused", "kind": refusal.kind, "reason": str(refusal)})
        return REFUSED
    finally:
        writer.close()


def _run_order(line: bytes, unread: bytes, writer: LineWriter) -> int:
    order = Order.from_json(_parse(line))
    if order.is_probe:
        writer.message({"type": "probing"})
        writer.message(probe.run(order))
        return OK
    engine = Engine(order, writer)
    facts = engine.prepare()
    start: AsyncResult = AsyncResult()
    dead_man = order.dead_man_s and DeadManSwitch(
        order.dead_man_s, lambda: _stop_at_once(StopReason.DEAD_MAN, engine, start)
    )
    control = Control(
        on_message=lambda message: _handle_message(message, engine, start, dead_man),
        on_end=lambda: _stop_at_once(StopReason.PARENT_GONE, engine, start),
        unread=unread,
    )
    writer.message({"type": "ready", "protocol": PROTOCOL, "pid": os.getpid(), "facts": facts})
    end = engine.run(start.get())
    control.close()
    if dead_man:
        dead_man.close()
    writer.message(end.to_json())
    return OK


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Refusal("bad_order", f"The order is not JSON: {error}.") from None


def _handle_message(
    message: dict[str, Any], engine: Engine, start: AsyncResult, dead_man: DeadManSwitch | None
) -> None:
    if dead_man:
        dead_man.reset()
    if "stop" in message:
        engine.stop(as_told_to_injectors(str(message["stop"])))
        _start_if_waiting(start)
    elif isinstance(message.get("start_at_ns"), int) and not start.ready():
        start.set(message["start_at_ns"])


def _stop_at_once(reason: StopReason, engine: Engine, start: AsyncResult) -> None:
    engine.stop(reason, drain_s=0.0)
    _start_if_waiting(start)


def _start_if_waiting(start: AsyncResult) -> None:
    """A run that is stopped before its start still ends properly, with nothing sent."""
    if not start.ready():
        start.set(now())
