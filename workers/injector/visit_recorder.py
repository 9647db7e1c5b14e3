"""Records how visits ended: counters and durations of sessions, per second.

A visit is what one arrival does: a session, or a connection with several calls. Only sessions are
counted; for both, the calls that were not made because a visit ended early are.
"""

from collections import Counter

from campaigns.domain.metrics.sessions import length_counter
from campaigns.domain.metrics.snapshot import SESSIONS, Timing, late
from workers.injector.recorder import NEVER

NS = 1_000_000_000


class VisitRecorder:
    """Times are CLOCK_MONOTONIC ns; `n_calls` is how many calls a complete visit makes, and
    `n_under_way` how many have begun and not ended."""

    def __init__(self, n_calls: int, has_sessions: bool):
        self.zero_ns, self.until_ns = 0, NEVER
        self.n_calls = n_calls
        self.n_under_way = 0
        self.has_sessions = has_sessions
        self._counters: dict[int, Counter[str]] = {}
        self._durations_us: dict[tuple[int, str], list[int]] = {}
        # As in a recorder: an event that arrives after its second was taken counts in the next.
        self._first_open: int | None = None

    def begun(self, instant: int) -> None:
        self.n_under_way += 1
        self._count_sessions(instant, "sessions_started")

    def ended(self, due: int, instant: int, n_ok: int, n_made: int, *, has_failed: bool) -> None:
        """A visit due at `due` ended; `n_made` of its calls were made, and `n_ok` were ok."""
        self.n_under_way -= 1
        self._count(instant, "calls_skipped", self.n_calls - n_made)
        if due < self.zero_ns <= instant:
            self._count_sessions(instant, "sessions_carried")
            return
        ending = "sessions_failed" if has_failed else "sessions_ok"
        self._count_sessions(instant, ending)
        if instant > self.until_ns:
            self._count_sessions(instant, late(ending))
        self._count_sessions(instant, length_counter(n_ok))
        if self.has_sessions:
            key = self._second_of(instant), "session_failed" if has_failed else "session"
            self._durations_us.setdefault(key, []).append(instant // 1000 - due // 1000)

    def retried(self, instant: int) -> None:
        """A failed call is retried."""
        self._count(instant, "calls_retried", 1)

    def dropped(self, instant: int) -> None:
        """An arrival was due and never started: one of its calls counts as dropped, the others as
        skipped.
        """
        self._count_sessions(instant, "sessions_started")
        self._count_sessions(instant, "sessions_dropped")
        self._count(instant, "calls_skipped", self.n_calls - 1)

    def take(self, second: int) -> tuple[Counter[str], dict[str, Timing]]:
        """(counters, timings) of a second that is over."""
        timings = {
            name: Timing.of(self._durations_us.pop((second, name)))
            for name in SESSIONS
            if (second, name) in self._durations_us
        }
        self._first_open = second + 1
        return self._counters.pop(second, Counter()), timings

    @property
    def last_second(self) -> int | None:
        """The latest second that something happened in and that was not taken yet."""
        return max(self._counters, default=None)

    def second_at(self, instant: int) -> int:
        return (instant - self.zero_ns) // NS

    def _second_of(self, instant: int) -> int:
        second = self.second_at(instant)
        return second if self._first_open is None else max(second, self._first_open)

    def _count_sessions(self, instant: int, name: str) -> None:
        if self.has_sessions:
            self._count(instant, name, 1)

    def _count(self, instant: int, name: str, count: int) -> None:
        if count:
            self._counters.setdefault(self._second_of(instant), Counter())[name] += count
