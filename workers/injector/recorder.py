"""What the attempts of one step were, gathered into seconds.

While a request is on its way nothing happens here but one `list.extend` when it ends. The list is
turned into numpy arrays now and then, and into a `Second` once a second has passed. Times are
CLOCK_MONOTONIC ns; each is floored to µs before differences are taken, so that the parts add up to
the response exactly.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from campaigns.domain.outcomes import Kind
from campaigns.domain.snapshot import Second, Timing

NS = 1_000_000_000
# One ended ok attempt. A part that did not happen has the time 0: connected and secured on a kept
# connection, secured without TLS. `received` are all bytes of the reply, `head` and `body` those
# of its head and of its body without framing; a WebSocket has neither.
FIELDS = (
    "intended", "start", "connected", "secured", "sent", "first", "end", "status", "head", "body",
    "received",
)  # fmt: skip
_WIDTH = len(FIELDS)
(
    _INTENDED, _START, _CONNECTED, _SECURED, _SENT, _FIRST, _END, _STATUS, _HEAD, _BODY, _RECEIVED,
) = range(_WIDTH)  # fmt: skip
_COMPACT_AT = 500 * _WIDTH
EVENTS = (
    "connections_opened", "tls_full", "tls_resumed", "tls_ragged_eof", "queued", "dropped",
    "window_throttled", "window_resumed", "extract_missed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that ended in an error; times in ns, `status` 0 where there was no reply."""

    intended: int
    start: int
    end: int
    kind: Kind
    status: int
    sent_bytes: int
    received_bytes: int


@dataclass(slots=True)
class _Unfinished:
    """A second that is still being counted; `starts` counts what ended in it by second of start."""

    starts: dict[int, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    timings: dict[str, Timing] = field(default_factory=dict)

    def count(self, name: str, number: int) -> None:
        if number:
            self.counters[name] = self.counters.get(name, 0) + number

    def time(self, name: str, values_us: np.ndarray) -> None:
        timing = Timing.of(values_us)
        self.timings[name] = self.timings[name].merged(timing) if name in self.timings else timing


class StepRecorder:
    """Everything about one step of the plan that is not yet written out."""

    def __init__(
        self,
        step: int,
        request_size_bytes: int,
        is_scheduled: bool,
        *,
        has_calls_between: bool = False,
    ):
        """`has_calls_between`: only some calls are scheduled, others follow from replies."""
        self.step = step
        self.zero_ns = 0
        self.last_end_ns = self.last_start_ns = 0
        self._request_size_bytes = request_size_bytes
        self._is_scheduled = is_scheduled
        self._has_calls_between = has_calls_between
        self._rows: list[int] = []
        self._unfinished: dict[int, _Unfinished] = {}
        self.record = self._rows.extend
        self.failures: list[Failure] = []
        self.events: dict[str, list[int]] = {name: [] for name in EVENTS}
        self.extra_sent_bytes = 0
        # Of arrivals that found all connections busy: intended start → when they were handed over.
        self.queued_at: dict[int, int] = {}
        # Of attempts that looked the name up: start → how long that took.
        self.lookups_us: dict[int, int] = {}

    def compact_if_long(self) -> None:
        if len(self._rows) > _COMPACT_AT:
            self.compact()

    def compact(self) -> None:
        """Move what was noted down into the seconds in which it ended."""
        if self._rows:
            rows = np.array(self._rows, dtype=np.int64).reshape(-1, _WIDTH)
            self._rows.clear()
            self._add_rows(rows)
        failures = self.failures[:]
        self.failures.clear()
        for failure in failures:
            self._add_failure(failure)
        self._add_events()

    def _second_of(self, instant_ns: int) -> int:
        return (instant_ns - self.zero_ns) // NS

    def _at(self, second: int) -> _Unfinished:
        return self._unfinished.setdefault(int(second), _Unfinished())

    def _add_rows(self, rows: np.ndarray) -> None:
        self.last_end_ns = max(self.last_end_ns, int(rows[:, _END].max()))
        self.last_start_ns = max(self.last_start_ns, int(rows[:, _START].max()))
        ended = (rows[:, _END] - self.zero_ns) // NS
        first, last = int(ended.min()), int(ended.max())
        for second in range(first, last + 1):
            part = rows if first == last else rows[ended == second]
            if len(part):
                self._add_ended(self._at(second), part)

    def _add_ended(self, second: _Unfinished, rows: np.ndarray) -> None:
        started, counts = np.unique((rows[:, _START] - self.zero_ns) // NS, return_counts=True)
        for start, count in zip(started.tolist(), counts.tolist(), strict=True):
            second.starts[start] = second.starts.get(start, 0) + count
        is_carried = (rows[:, _INTENDED] < self.zero_ns) & (rows[:, _END] >= self.zero_ns)
        if is_carried.any():
            second.count("carried", int(is_carried.sum()))
            rows = rows[~is_carried]
        if len(rows):
            self._add_ok(second, rows)

    def _add_ok(self, second: _Unfinished, rows: np.ndarray) -> None:
        second.count("ok", len(rows))
        second.count("bytes_sent", len(rows) * self._request_size_bytes)
        second.count("bytes_received", int(rows[:, _RECEIVED].sum()))
        _add_sizes(second, rows)
        by_status = np.bincount(rows[:, _STATUS])
        for status in np.flatnonzero(by_status).tolist():
            key = str(status)
            second.statuses[key] = second.statuses.get(key, 0) + int(by_status[status])
        durations = self.durations_us(rows)
        if self.lookups_us:
            self._split_lookups(rows, durations)
        lateness = durations.pop("lateness")
        if self._is_scheduled:
            if self._has_calls_between:
                is_arrival = rows[:, _INTENDED] < rows[:, _START]
                rows, lateness = rows[is_arrival], lateness[is_arrival]
            durations |= {"lateness": lateness, **self._split(rows, lateness)}
        for name, values_us in durations.items():
            if len(values_us):
                second.time(name, values_us)

    def _split_lookups(self, rows: np.ndarray, durations: dict[str, np.ndarray]) -> None:
        """Take the lookup of the name out of the connecting, as a part of its own."""
        is_new = rows[:, _CONNECTED] > 0
        if not is_new.any():
            return
        take = self.lookups_us.pop
        looked = [take(start, 0) for start in rows[is_new, _START].tolist()]
        durations["dns"] = np.array(looked, dtype=np.int64)
        durations["connect"] = durations["connect"] - durations["dns"]
        if "connect_tls" in durations:
            is_tls = rows[is_new, _SECURED] > 0
            durations["connect_tls"] = durations["connect_tls"] - durations["dns"][is_tls]

    def _split(self, rows: np.ndarray, lateness_us: np.ndarray) -> dict[str, np.ndarray]:
        """The lateness as the injector's own delay, and as waiting for a connection to be free."""
        if not self.queued_at:
            return {"own_delay": lateness_us}
        take = self.queued_at.pop
        queued = np.array([take(due, 0) for due in rows[:, _INTENDED].tolist()], dtype=np.int64)
        waited = queued > 0
        slot_wait = rows[waited, _START] // 1000 - queued[waited] // 1000
        own_delay = lateness_us.copy()
        own_delay[waited] -= slot_wait
        return {"own_delay": own_delay, "slot_wait": slot_wait}

    def durations_us(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        return durations_us(rows)

    def _add_failure(self, failure: Failure) -> None:
        self.last_end_ns = max(self.last_end_ns, failure.end)
        self.last_start_ns = max(self.last_start_ns, failure.start)
        self.queued_at.pop(failure.intended, None)
        self.lookups_us.pop(failure.start, None)
        second = self._at(self._second_of(failure.end))
        start = self._second_of(failure.start)
        second.starts[start] = second.starts.get(start, 0) + 1
        if failure.intended < self.zero_ns <= failure.end:
            second.count("carried", 1)
            return
        second.count("failed", 1)
        second.count("bytes_sent", failure.sent_bytes)
        second.count("bytes_received", failure.received_bytes)
        second.errors[failure.kind.value] = second.errors.get(failure.kind.value, 0) + 1
        if failure.status:
            key = str(failure.status)
            second.statuses[key] = second.statuses.get(key, 0) + 1
        second.time("failed", np.array([failure.end // 1000 - failure.intended // 1000]))

    def _add_events(self) -> None:
        for name, instants in self.events.items():
            for second, count in Counter(map(self._second_of, instants)).items():
                self._at(second).count(name, count)
            instants.clear()
        if self.extra_sent_bytes and self._unfinished:
            self._at(max(self._unfinished)).count("bytes_sent", self.extra_sent_bytes)
            self.extra_sent_bytes = 0

    def note_doubt(self, instant: int, count: int) -> None:
        """So many replies may have been those to other requests, as was seen now."""
        self._at(self._second_of(instant)).count("in_doubt", count)

    def finish(self, number: int, starts_in_flight: list[int], dropped: int = 0) -> Second:
        """The second `number`, which is over; `starts_in_flight`: when attempts under way began.

        Call `compact` before. `dropped` arrivals count as started, and as nothing else.
        """
        in_flight = [self._second_of(start) for start in starts_in_flight]
        parts = self._unfinished.items()
        begun = sum(part.starts.get(number, 0) for second, part in parts if second >= number)
        over_the_edge = sum(
            count
            for second, part in parts
            if second > number
            for start, count in part.starts.items()
            if start <= number
        )
        done = self._unfinished.pop(number, None) or _Unfinished()
        done.count("dropped", dropped)
        never_sent = done.counters.get("dropped", 0)
        done.count("started", begun + in_flight.count(number) + never_sent)
        return Second(
            second=number,
            step=self.step,
            counters=done.counters,
            errors=done.errors,
            statuses=done.statuses,
            in_flight=over_the_edge + sum(1 for start in in_flight if start <= number),
            timings=done.timings,
        )

    @property
    def last_second(self) -> int | None:
        """The latest second that something ended in and that is not finished yet."""
        return max(self._unfinished, default=None)


def _add_sizes(second: _Unfinished, rows: np.ndarray) -> None:
    """Of what ok replies consist; what a WebSocket received is no reply with a head."""
    head, body, whole = rows[:, _HEAD:].sum(axis=0).tolist()
    if head:
        second.count("head_received", head)
        second.count("body_received", body)
        second.count("framing_received", whole - head - body)
        second.count("body_squares", int(np.square(rows[:, _BODY].astype(np.float64)).sum()))


def durations_us(rows: np.ndarray) -> dict[str, np.ndarray]:
    """The timings of ok attempts, rows of FIELDS; response = lateness + the parts, row by row."""
    us = rows[:, : _END + 1] // 1000
    ready, parts = _connection_parts(rows, us)
    return {
        "response": us[:, _END] - us[:, _INTENDED],
        "service": us[:, _END] - us[:, _START],
        "lateness": us[:, _START] - us[:, _INTENDED],
        **parts,
        "send": us[:, _SENT] - ready,
        "wait": us[:, _FIRST] - us[:, _SENT],
        "receive": us[:, _END] - us[:, _FIRST],
        "processing": us[:, _END] - ready,
    }


def _connection_parts(rows: np.ndarray, us: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(when each connection was ready, µs; the parts that made it ready, where it was new)."""
    is_new = rows[:, _CONNECTED] > 0
    if not is_new.any():
        return us[:, _START], {}
    is_tls = rows[:, _SECURED] > 0
    new, tls = us[is_new], us[is_tls]
    ready = np.where(is_new, us[:, _CONNECTED], us[:, _START])
    return np.where(is_tls, us[:, _SECURED], ready), {
        "connect": new[:, _CONNECTED] - new[:, _START],
        "tls": tls[:, _SECURED] - tls[:, _CONNECTED],
        "connect_tls": tls[:, _SECURED] - tls[:, _START],
    }
