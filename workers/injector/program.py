"""The program as a launcher starts it: order and control on standard input, lines on output."""

import ctypes
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import gevent
from gevent.event import AsyncResult

from campaigns.domain.lifecycle import StopReason, as_told_to_injectors
from campaigns.domain.metrics.injector_end import ArmsRound
from campaigns.domain.metrics.snapshot import Second
from workers.injector import probe
from workers.injector.connection import NS, now
from workers.injector.engine import Engine
from workers.injector.order import PROTOCOL, PROTOCOL_OF_ARMS, ArmsOrder, Order, Refusal
from workers.injector.rounds import Rounds

_WRITE = 2
_SLICE_S = 0.002


class LineWriter:
    """Encodes a second in slices of less than a millisecond and never blocks on a full pipe."""

    def __init__(self, fd: int = 1):
        self._fd = fd
        self._loop = gevent.get_hub().loop
        self._slices: deque[Iterator[None]] = deque()
        self._timer = self._loop.timer(_SLICE_S, _SLICE_S)
        self._watcher = self._loop.io(fd, _WRITE)
        self._unwritten = bytearray()
        os.set_blocking(fd, False)

    def second(self, second: Second, arm: int | None = None) -> None:
        self._slices.append(self._encode(second, arm))
        if not self._timer.active:
            self._timer.start(self._encode_slice)

    def requests(self, line: dict[str, Any], arm: int | None = None) -> None:
        whose = {} if arm is None else {"arm": arm}
        self.message({"type": "requests", **whose, **line})

    def pace(self, facts: dict[str, Any]) -> None:
        self.message({"type": "pace", **facts})

    def round(self, each: ArmsRound) -> None:
        self._queue({"type": "round", **each.to_json()})
        self._flush()

    def message(self, message: dict[str, Any]) -> None:
        """Write everything that waits, then this message, at once."""
        self._finish_slices()
        self._queue(message)
        self._flush()

    def close(self) -> None:
        """Write what is left; waits for a slow parent, but not for one that is gone."""
        self._finish_slices()
        self._timer.stop()
        self._watcher.stop()
        os.set_blocking(self._fd, True)
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._fd, self._unwritten)]
        except OSError as error:
            print(f"The parent has stopped reading: {error}", file=sys.stderr)

    def _encode(self, second: Second, arm: int | None) -> Iterator[None]:
        timings = {}
        for name, timing in second.timings.items():
            if timing.n:
                timings[name] = timing.to_json()
                yield
        data = Second(
            second.second,
            second.step,
            second.counters,
            second.errors,
            second.statuses,
            second.in_flight,
            vitals=second.vitals,
            examples=second.examples,
            details=second.details,
        ).to_json()
        whose = {} if arm is None else {"arm": arm}
        self._queue({"type": "second", **whose, **data, "timings": timings})
        self._flush()

    def _encode_slice(self) -> None:
        if not self._slices:
            self._timer.stop()
        elif next(self._slices[0], self) is self:
            self._slices.popleft()

    def _finish_slices(self) -> None:
        while self._slices:
            for _ in self._slices.popleft():
                pass

    def _queue(self, message: dict[str, Any]) -> None:
        self._unwritten += json.dumps(message, separators=(",", ":")).encode() + b"\n"

    def _flush(self) -> None:
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._fd, self._unwritten)]
            self._watcher.stop()
        except BlockingIOError:
            if not self._watcher.active:
                self._watcher.start(self._flush)
        except OSError:
            self._unwritten.clear()


_READ = 1
_LOOKS = 20
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def read_line() -> tuple[bytes, bytes]:
    """(the first line, bytes read beyond it); blocks, so call it before the hub runs."""
    data = b""
    while b"\n" not in data:
        more = os.read(0, 65536)
        if not more:
            break
        data += more
    line, _, rest = data.partition(b"\n")
    return line, rest


class DeadManSwitch:
    """Calls `on_silence` once when `reset` was not called for `limit_s`."""

    def __init__(self, limit_s: float, on_silence: Callable[[], None]):
        self._limit_ns = int(limit_s * NS)
        self._on_silence = on_silence
        self._reset_ns = now()
        every_s = limit_s / _LOOKS
        self._timer = gevent.get_hub().loop.timer(every_s, every_s)
        self._timer.start(self._look)

    def reset(self) -> None:
        """The parent is alive."""
        self._reset_ns = now()

    def _look(self) -> None:
        if now() - self._reset_ns > self._limit_ns:
            self.close()
            self._on_silence()

    def close(self) -> None:
        self._timer.stop()


class Control:
    """Calls `on_message` with each JSON object and `on_end` when the input ends."""

    def __init__(
        self,
        on_message: Callable[[dict[str, Any]], None],
        on_end: Callable[[], None],
        unread: bytes = b"",
        fd: int = 0,
    ):
        self._on_message = on_message
        self._on_end = on_end
        self._fd = fd
        self._rest = b""
        self._take(unread)
        self._watcher = gevent.get_hub().loop.io(fd, _READ)
        self._watcher.start(self._readable)

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, 65536)
        except BlockingIOError:
            return
        if not data:
            self.close()
            self._on_end()
            return
        self._take(data)

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict):
                self._on_message(message)
            else:
                text = "Ignored a line on standard input that is not a JSON object"
                print(f"{text}: {line[:200]!r}", file=sys.stderr)

    def close(self) -> None:
        self._watcher.stop()


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
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Refusal("bad_order", f"The order is not JSON: {error}.") from None
    protocol = data.get("protocol") if isinstance(data, dict) else None
    if protocol == PROTOCOL_OF_ARMS:
        order = ArmsOrder.from_json(data)
        engine = Rounds(order, writer)
    else:
        protocol, order = PROTOCOL, Order.from_json(data)
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
    writer.message({"type": "ready", "protocol": protocol, "pid": os.getpid(), "facts": facts})
    end = engine.run(start.get())
    control.close()
    if dead_man:
        dead_man.close()
    writer.message(end.to_json())
    return OK


def _handle_message(
    message: dict[str, Any],
    engine: Engine | Rounds,
    start: AsyncResult,
    dead_man: DeadManSwitch | None,
) -> None:
    if dead_man:
        dead_man.reset()
    if "stop" in message:
        engine.stop(as_told_to_injectors(str(message["stop"])))
        _start_if_waiting(start)
    elif isinstance(message.get("start_at_ns"), int) and not start.ready():
        start.set(message["start_at_ns"])
    elif isinstance(engine, Rounds):
        engine.hear(message)


def _stop_at_once(reason: StopReason, engine: Engine | Rounds, start: AsyncResult) -> None:
    engine.stop(reason, drain_s=0.0)
    _start_if_waiting(start)


def _start_if_waiting(start: AsyncResult) -> None:
    """A run that is stopped before its start still ends properly, with nothing sent."""
    if not start.ready():
        start.set(now())
