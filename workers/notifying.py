"""Sends notifications, beside the dispatcher's loop: a receiver may hang, and none may delay a run
or another receiver. Not a task of the general worker: that needs Redis, and makes large pages in
the same queue.
"""

import json
import logging
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

from django.conf import settings

from campaigns.machines import services as machines
from campaigns.notifications import delivery
from campaigns.notifications.delivery import SendOrder
from campaigns.notifications.domain import Result
from workers.database import UNREACHABLE, drop_connection
from workers.injector_process import bind_child
from workers.side_threads import SideThread

logger = logging.getLogger(__name__)

EVERY_S = 0.5
# What no change of state tells, and how often it is looked for.
WATCHES_S = {
    machines.ask_again: machines.ASK_AGAIN_EVERY_S,
    delivery.note_silent_agents: 60.0,
    delivery.note_expiring_certificates: 3600.0,
    delivery.forget_old_events: 3600.0,
}
AT_ONCE = 8
COMMAND = [sys.executable, "-m", "campaigns.notifications.sender"]
# The sender's children end by themselves before; on a busy machine the sender needs long to start.
ANSWER_WITHIN_S = 60.0
# A dispatcher that ends waits so long for what is under way.
LAST_ANSWERS_S = 4.0
_SILENT = Result("The receiver did not answer in time.")
_DIED = Result("The program that sends notifications ended. See the dispatcher's log.")


class Sender:
    """The process that sends; it starts with the first order. Any thread may call `send`."""

    def __init__(self):
        self._lock = threading.Lock()
        self._process: subprocess.Popen | None = None
        self._waiting: dict[int, Future[Result]] = {}  # for answers of this process
        self._numbers = count(1)

    def start(self) -> subprocess.Popen:
        """What is ready before it is needed answers a second earlier."""
        with self._lock:
            return self._running_process()

    def send(self, order: dict[str, Any]) -> Result:
        number, answer = next(self._numbers), Future()
        line = json.dumps({**order, "id": number}).encode() + b"\n"
        try:
            with self._lock:
                process = self._running_process()
                self._waiting[number] = answer
                process.stdin.write(line)
                process.stdin.flush()
            return answer.result(ANSWER_WITHIN_S)
        except TimeoutError:
            return _SILENT
        except OSError:
            return _DIED
        finally:
            self._waiting.pop(number, None)

    def end(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        self._close()

    def _running_process(self) -> subprocess.Popen:
        if self._process is None or self._process.poll() is not None:
            self._close()
            self._waiting = {}
            self._process = subprocess.Popen(
                COMMAND,
                cwd=settings.BASE_DIR,
                # The program needs none of our secrets.
                env={"PATH": os.environ.get("PATH", "")},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                preexec_fn=bind_child,
            )
            reads = partial(self._read, self._process, self._waiting)
            threading.Thread(target=reads, daemon=True).start()
        return self._process

    def _close(self) -> None:
        if self._process:
            with suppress(OSError):  # what it has not read is lost
                self._process.stdin.close()

    @staticmethod
    def _read(process: subprocess.Popen, waiting: dict[int, Future[Result]]) -> None:
        for line in process.stdout:
            reply = json.loads(line)
            if answer := waiting.get(reply["id"]):
                answer.set_result(Result(reply["problem"], reply.get("is_gone", False)))
        process.stdout.close()
        for answer in list(waiting.values()):
            with suppress(InvalidStateError):  # it has its answer
                answer.set_result(_DIED)


class NotificationsThread(SideThread):
    """Announces events, sends what is due, stores what came of it."""

    def __init__(self, shutdown: threading.Event, is_active: Callable[[], bool]):
        super().__init__("notifications", EVERY_S, shutdown, is_active)
        self._pool = ThreadPoolExecutor(AT_ONCE, "notification")
        self._sender = Sender()
        self._under_way: set[int] = set()
        self._results: queue.SimpleQueue[tuple[SendOrder, Result]] = queue.SimpleQueue()
        self._due_at = dict.fromkeys(WATCHES_S, 0.0)

    def run(self) -> None:
        super().run()
        self._pool.shutdown(wait=False)
        ends = time.monotonic() + LAST_ANSWERS_S
        with suppress(*UNREACHABLE):
            while self._under_way and time.monotonic() < ends:
                self._wake_up.wait(0.1)
                self._store()
        # What is under way now is tried again when its claim has ended.
        self._sender.end()
        drop_connection()

    def act(self) -> None:
        self._store()
        for watch, every_s in WATCHES_S.items():
            if time.monotonic() >= self._due_at[watch]:
                self._due_at[watch] = time.monotonic() + every_s
                watch()
                if delivery.has_channels():
                    self._sender.start()
        if delivery.is_idle() or delivery.is_restored():
            return
        delivery.announce_events()
        for order in delivery.claim_deliveries(AT_ONCE - len(self._under_way)):
            self._under_way.add(order.delivery)
            self._pool.submit(self._attempt, order)

    def _attempt(self, order: SendOrder) -> None:
        """In a thread of the pool, which has no connection to PostgreSQL."""
        try:
            if order.fault:
                result = Result(order.fault)
            elif order.email:
                result = email_result(order.email)
            else:
                result = self._sender.send(order.send)
        except Exception as error:  # whatever it is, the delivery must be tried again
            logger.exception("Delivery %s failed", order.delivery)
            result = Result(f"It could not be sent ({type(error).__name__}).")
        self._results.put((order, result))
        self.ask()

    def _store(self) -> None:
        """What PostgreSQL does not take now is stored at the next turn."""
        while not self._results.empty():
            order, result = self._results.get()
            try:
                delivery.finish_delivery(order=order, result=result)
            except UNREACHABLE:
                self._results.put((order, result))
                raise
            except Exception:  # its claim ends by itself
                logger.exception("The result of delivery %s is not stored", order.delivery)
            self._under_way.discard(order.delivery)


def email_result(email: Any) -> Result:
    """By the installation's own mail server."""
    if not settings.HAS_EMAIL:
        return Result("This site has no mail server. An administrator can set BENCHSITE_SMTP.")
    try:
        email.send()
    except OSError as error:  # SMTPException is one
        # Its text may repeat what was said to the server.
        return Result(f"The mail server did not take it ({type(error).__name__}).")
    return Result()
