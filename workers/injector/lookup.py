"""Resolves the host name per connection, in threads: a resolver may hang, the hub must not."""

import threading
from collections import deque
from queue import SimpleQueue
from typing import Any, Protocol

import gevent

from campaigns.domain.metrics.outcomes import Kind
from workers.injector.faults import AttemptFailed
from workers.injector.guard import RESOLVE_LIMIT_S, look_up

# Concurrent lookups; further ones wait, and their wait is part of their time.
_THREADS = 16


class Waiter(Protocol):
    """The worker that asks; `park` waits in the hub and raises AttemptFailed at its limit."""

    switch: Any

    def park(self, kind: Kind) -> None: ...


class _Question:
    """`answer` is the addresses or the error; `waiter` is None once nobody waits any more."""

    __slots__ = ("answer", "waiter")

    def __init__(self, waiter: Waiter):
        self.waiter: Waiter | None = waiter
        self.answer: list[str] | Exception | None = None


class Lookups:
    """The lookups of one name. `ask` belongs to the hub's thread."""

    limit_s = RESOLVE_LIMIT_S

    def __init__(self, host: str, port: int):
        self._host, self._port = host, port
        self._questions: SimpleQueue[_Question | None] = SimpleQueue()
        self._answers: deque[_Question] = deque()
        self._n_questions = 0
        self._n_threads = 0
        self._async = gevent.get_hub().loop.async_(ref=False)
        self._async.start(self._wake)

    def ask(self, waiter: Waiter) -> list[str]:
        """The current addresses, in the resolver's order. Raises AttemptFailed."""
        question = _Question(waiter)
        self._n_questions += 1
        if self._n_threads < min(_THREADS, self._n_questions):
            self._n_threads += 1
            threading.Thread(target=self._answer_all, daemon=True).start()
        self._questions.put(question)
        try:
            while question.answer is None:
                waiter.park(Kind.DNS_FAILED)
        finally:
            question.waiter = None
            self._n_questions -= 1
        if isinstance(question.answer, Exception):
            raise AttemptFailed(Kind.DNS_FAILED, str(question.answer))
        return question.answer

    def close(self) -> None:
        """Let the threads exit as soon as the resolver returns."""
        for _ in range(self._n_threads):
            self._questions.put(None)
        self._async.stop()

    def _answer_all(self) -> None:
        """Runs in a thread: must not touch workers or the hub, except through `_async`."""
        while (question := self._questions.get()) is not None:
            if question.waiter is None:
                continue
            try:
                question.answer = look_up(self._host, self._port)
            except (OSError, UnicodeError) as error:
                question.answer = error
            self._answers.append(question)
            self._async.send()

    def _wake(self) -> None:
        while self._answers:
            waiter = self._answers.popleft().waiter
            if waiter is not None:
                waiter.switch()
