"""What the attempts of one step were, gathered into seconds.

While a request is on its way nothing happens here but one `list.extend` when it ends. The list is
turned into numpy arrays now and then, and into a `Second` once a second has passed.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.metrics.snapshot import LATE, MOST_DETAILS, Second, Timing, late
from workers.injector.attempt_row import (
    BODY,
    CONNECTED,
    END,
    FIELDS,
    FIRST,
    HEAD,
    INTENDED,
    RECEIVED,
    SECURED,
    SENT,
    START,
    STATUS,
    Hops,
    PeerTally,
    durations_us,
    redirected_us,
    take_hops,
)
from workers.injector.read_delay import ReadStamp, waited_ns
from workers.injector.request_keeper import Examples, RequestKeeper


@dataclass(slots=True)
class OpenSecond:
    """`starts` counts the attempts that ended in it, by the second they started in.

    `ok_rows` and `durations_us` were counted but are not in the timings yet.
    """

    starts: dict[int, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    details: dict[str, dict[str, int]] = field(default_factory=dict)
    timings: dict[str, Timing] = field(default_factory=dict)
    ok_rows: list[np.ndarray] = field(default_factory=list)
    durations_us: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def count(self, name: str, number: int) -> None:
        if number:
            self.counters[name] = self.counters.get(name, 0) + number

    def count_detail(self, kind: Kind, detail: str) -> None:
        counts = self.details.setdefault(kind.value, {})
        if detail in counts or len(counts) < MOST_DETAILS:
            counts[detail] = counts.get(detail, 0) + 1

    def note(self, name: str, values_us: np.ndarray) -> None:
        self.durations_us.setdefault(name, []).append(values_us)

    def take_ok_rows(self) -> np.ndarray:
        rows = np.concatenate(self.ok_rows)
        self.ok_rows.clear()
        return rows

    def make_timings(self) -> None:
        """Put the durations that were noted into the timings."""
        durations_us = {name: np.concatenate(parts) for name, parts in self.durations_us.items()}
        self.durations_us.clear()
        for name, timing in Timing.of_each(durations_us).items():
            earlier = self.timings.get(name)
            self.timings[name] = timing if earlier is None else earlier.merged(timing)


NS = 1_000_000_000
NEVER = 1 << 62
_WIDTH = len(FIELDS)
_COMPACT_AT = 500 * _WIDTH
EVENTS = (
    "connections_opened", "tls_full", "tls_resumed", "tls_ragged_eof", "replayed",
    "queued", "dropped", "window_throttled", "window_resumed", "extract_missed",
    "cookies_too_large",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that ended in an error; times in ns, `status` 0 where there was no reply.

    `by_kernel`: TCP gave up (ETIMEDOUT), not one of the plan's limits. `detail`: what went wrong
    beyond the kind, without secrets. `head_bytes`, `body_bytes`: of a whole reply.
    """

    intended: int
    start: int
    end: int
    kind: Kind
    status: int
    sent_bytes: int
    received_bytes: int
    by_kernel: bool = False
    detail: str = ""
    head_bytes: int = 0
    body_bytes: int = 0


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
        # When the measured time ends: what ends later is the tail.
        self.until_ns = NEVER
        self._request_size_bytes = request_size_bytes
        self._is_scheduled = is_scheduled
        self._has_calls_between = has_calls_between
        self._rows: list[int] = []
        self._open_seconds: dict[int, OpenSecond] = {}
        # What is found only now to have happened in a second that is written counts in the next.
        self._first_open: int | None = None
        # Those with durations that are in no timing yet, even if they are finished.
        self._untimed: dict[int, OpenSecond] = {}
        self.record = self._rows.extend
        self.failures: list[Failure] = []
        self.events: dict[str, list[int]] = {name: [] for name in EVENTS}
        self._sent: list[int] = []
        # (end, by how many bytes more or fewer were sent than the step's own), of an attempt.
        self.note_sent = self._sent.extend
        self.examples = Examples()
        self.keeper: RequestKeeper | None = None
        # Of arrivals that found all connections busy: actual start → when they were handed over.
        self.queued_at: dict[int, int] = {}
        # Of attempts that looked the name up: start → how long that took.
        self.lookups_us: dict[int, int] = {}
        # Of attempts that were redirected: start → by which redirects.
        self.hops: dict[int, Hops] = {}
        # Of parts that only some attempts have: which of the rows that are being timed.
        self.had: dict[str, np.ndarray] = {}
        self.by_peer = PeerTally()
        # Of attempts whose reading was timed: start → how long what came before the reply lay
        # unread, ns, and what was noted when the reply was read.
        self.read_stamps: dict[int, tuple[int, ReadStamp]] = {}

    def compact_if_long(self) -> None:
        if len(self._rows) > _COMPACT_AT:
            self.compact()

    def compact(self) -> None:
        """Move what was noted down into the seconds in which it ended."""
        self.gather()
        self.make_timings()

    def gather(self) -> None:
        """Count what was noted down; its timings, which cost more, can wait a moment."""
        if self._rows:
            rows = np.fromiter(self._rows, np.int64, len(self._rows)).reshape(-1, _WIDTH)
            self._rows.clear()
            self.last_end_ns = max(self.last_end_ns, int(rows[:, END].max()))
            self.last_start_ns = max(self.last_start_ns, int(rows[:, START].max()))
            end_seconds = self.seconds_of(rows[:, END])
            first, last = int(end_seconds.min()), int(end_seconds.max())
            for second in range(first, last + 1):
                part = rows if first == last else rows[end_seconds == second]
                if len(part):
                    self._add_ended(self._untimed_at(second), part)
        failures = self.failures[:]
        self.failures.clear()
        for failure in failures:
            self._add_failure(failure)
        for name, instants in self.events.items():
            if not instants:
                continue
            ends = np.array(instants, dtype=np.int64)
            instants.clear()
            self._count_events(name, ends)
            if name in LATE:
                self._count_events(late(name), ends[ends > self.until_ns])
        if self._sent:
            pairs = np.array(self._sent, dtype=np.int64).reshape(-1, 2)
            self._sent.clear()
            seconds = self.seconds_of(pairs[:, 0])
            for second in np.unique(seconds).tolist():
                part = pairs[seconds == second]
                self._at(second).count("bytes_sent", int(part[:, 1].sum()))
                is_late = part[:, 0] > self.until_ns
                self._at(second).count("late_bytes_sent", int(part[is_late, 1].sum()))

    def _count_events(self, name: str, instants: np.ndarray) -> None:
        for second, count in zip(
            *np.unique(self.seconds_of(instants), return_counts=True), strict=True
        ):
            self._at(int(second)).count(name, int(count))

    def make_timings(self, up_to: int | None = None) -> None:
        """The timings of what was gathered, as far as it ended in the second `up_to` or before."""
        for number, second in sorted(self._untimed.items()):
            if up_to is None or number <= up_to:
                del self._untimed[number]
                if second.ok_rows:
                    self._time_ok(second, second.take_ok_rows())
                second.make_timings()

    def seconds_of(self, instants_ns: Any) -> Any:
        """Of one instant or an array of them."""
        return (instants_ns - self.zero_ns) // NS

    def offsets_us(self, instants_ns: np.ndarray) -> np.ndarray:
        """From the start of the measurement."""
        return (instants_ns - self.zero_ns) // 1000

    @property
    def oldest_untimed_ns(self) -> int:
        """When the first of those began that have ended and are in no timing yet."""
        parts = (rows for second in self._untimed.values() for rows in second.ok_rows)
        return min((int(rows[:, START].min()) for rows in parts), default=NEVER)

    def _open(self, second: int) -> int:
        return int(second) if self._first_open is None else max(int(second), self._first_open)

    def _at(self, second: int) -> OpenSecond:
        return self._open_seconds.setdefault(self._open(second), OpenSecond())

    def _untimed_at(self, second: int) -> OpenSecond:
        """The same, about to get durations."""
        return self._untimed.setdefault(self._open(second), self._at(second))

    def _add_ended(self, second: OpenSecond, rows: np.ndarray) -> None:
        start_seconds = self.seconds_of(rows[:, START])
        first = int(start_seconds.min())
        for start, count in enumerate(np.bincount(start_seconds - first).tolist(), first):
            second.starts[start] = second.starts.get(start, 0) + count
        is_carried = self.is_carried(rows[:, INTENDED], rows[:, END])
        if is_carried.any():
            second.count("carried", int(is_carried.sum()))
            if self.hops:
                take_hops(self.hops, rows[is_carried])
            if self.by_peer.at:
                self.by_peer.forget(rows[is_carried])
            rows = rows[~is_carried]
        if len(rows):
            if self.keeper is not None and rows[0, INTENDED] >= self.zero_ns:
                self.keeper.note_starts(rows[:, START].copy())
            second.count("ok", len(rows))
            second.count("bytes_sent", len(rows) * self._request_size_bytes)
            second.count("bytes_received", int(rows[:, RECEIVED].sum()))
            late_rows = rows[self.is_late(rows)]
            second.count("late_ok", len(late_rows))
            second.count("late_replies", len(late_rows))
            second.count("late_bytes_sent", len(late_rows) * self._request_size_bytes)
            second.count("late_bytes_received", int(late_rows[:, RECEIVED].sum()))
            if self.hops:
                for start, end in rows[:, (START, END)].tolist():
                    self._count_hops(second, self.hops.get(start), end)
            # What a WebSocket received is no reply with a head.
            head, body, whole = rows[:, HEAD:].sum(axis=0).tolist()
            if head:
                second.count("head_received", head)
                second.count("body_received", body)
                second.count("framing_received", whole - head - body)
                second.count("body_squares", int(np.square(rows[:, BODY].astype(np.float64)).sum()))
            by_status = np.bincount(rows[:, STATUS])
            by_status[0] = 0  # of messages, which have none
            for status in np.flatnonzero(by_status).tolist():
                key = str(status)
                second.statuses[key] = second.statuses.get(key, 0) + int(by_status[status])
            second.ok_rows.append(rows)

    def is_carried(self, intended: Any, end: Any) -> Any:
        """Whether what was due at an instant, or at each of some, is no part of the measurement,
        which has begun before it ended."""
        return (intended < self.zero_ns) & (end >= self.zero_ns)

    def _is_measured(self, rows: np.ndarray) -> np.ndarray:
        return self.seconds_of(rows[:, END]) >= 0

    def is_late(self, rows: np.ndarray) -> np.ndarray:
        """Which rows are of the tail."""
        return rows[:, END] > self.until_ns

    def _count_hops(self, second: OpenSecond, hops: Hops | None, end: int) -> None:
        if hops is None:
            return
        second.count("redirects", len(hops.ends))
        for prefix in ("", "late_") if end > self.until_ns else ("",):
            second.count(f"{prefix}bytes_sent", hops.sent_bytes)
            second.count(f"{prefix}bytes_received", hops.received_bytes)

    def _time_ok(self, second: OpenSecond, rows: np.ndarray) -> None:
        if self.hops:
            hops_by_row = take_hops(self.hops, rows)
            durations = redirected_us(rows, hops_by_row, self.durations_us)
            self.had["redirects"] = np.isin(np.arange(len(rows)), list(hops_by_row))
        else:
            durations = self.durations_us(rows)
        late_us = (rows[:, END] - self.until_ns) // 1000
        second.count("late_us", int(np.clip(late_us, 0, durations["service"]).sum()))
        if self.lookups_us:
            self._split_lookups(rows, durations)
        if self.keeper is not None:
            self.keeper.take(self, rows, durations)
        lateness = durations.pop("lateness")
        own_delay, slot_wait = self._split(rows, lateness)
        durations |= self._sampled(rows, durations, own_delay)
        if self.by_peer.at:
            times = durations["response"], self._is_measured(rows), self.is_late(rows)
            self.by_peer.add_ok(rows, *times)
        if self._is_scheduled:
            if self._has_calls_between:
                is_arrival = rows[:, INTENDED] < rows[:, START]
                lateness, own_delay = lateness[is_arrival], own_delay[is_arrival]
            durations |= {"lateness": lateness, "own_delay": own_delay, "slot_wait": slot_wait}
        for name, values_us in durations.items():
            second.note(name, values_us)

    def _split_lookups(self, rows: np.ndarray, durations: dict[str, np.ndarray]) -> None:
        """Take the lookup of the name out of the connecting, as a part of its own."""
        is_new = rows[:, CONNECTED] > 0
        if not is_new.any():
            return
        take = self.lookups_us.pop
        lookups_us = np.array([take(start, -1) for start in rows[is_new, START].tolist()], np.int64)
        self.had["dns"] = is_new.copy()
        self.had["dns"][is_new] = lookups_us >= 0
        durations["dns"], dns_us = lookups_us[lookups_us >= 0], np.maximum(lookups_us, 0)
        durations["connect"] = durations["connect"] - dns_us
        if "connect_tls" in durations:
            is_tls = rows[is_new, SECURED] > 0
            durations["connect_tls"] = durations["connect_tls"] - dns_us[is_tls]

    def _split(self, rows: np.ndarray, lateness_us: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The lateness as the injector's own delay, and as waiting for a connection to be free,
        which is only of those that waited.
        """
        if not self.queued_at:
            return lateness_us, lateness_us[:0]
        take = self.queued_at.pop
        queued_ns = np.array([take(start, 0) for start in rows[:, START].tolist()], dtype=np.int64)
        is_queued = queued_ns > 0
        slot_wait = rows[is_queued, START] // 1000 - queued_ns[is_queued] // 1000
        own_delay = lateness_us.copy()
        own_delay[is_queued] -= slot_wait
        return own_delay, slot_wait

    def _sampled(
        self, rows: np.ndarray, durations: dict[str, np.ndarray], own_delay_us: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Of the attempts whose reading was timed: response times with and without our delays."""
        at, unread_us = self._unread(rows, durations, own_delay_us)
        if not len(at):
            return {}
        sample_us = durations["response"][at]
        undelayed_us = sample_us - np.minimum(own_delay_us[at] + unread_us.sum(axis=1), sample_us)
        if self.by_peer.at:
            sample_rows = rows[at]
            self.by_peer.add_undelayed(sample_rows, undelayed_us, self._is_measured(sample_rows))
        return {"sampled": sample_us, "undelayed": undelayed_us}

    def _unread(
        self, rows: np.ndarray, durations: dict[str, np.ndarray], own_delay_us: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(which attempts' reading was timed, how long the handshake and the reply of each lay
        unread, shape (k, 2))."""
        if not self.read_stamps:
            return rows[:0, START], np.empty((0, 2), np.int64)
        starts = np.array(sorted(self.read_stamps), dtype=np.int64)
        nearest = np.minimum(np.searchsorted(starts, rows[:, START]), len(starts) - 1)
        at = np.flatnonzero(starts[nearest] == rows[:, START])
        reads = [self.read_stamps.pop(start) for start in rows[at, START].tolist()]
        unread_ns = [(before_ns, waited_ns(stamp)) for before_ns, stamp in reads]
        return at, np.array(unread_ns, dtype=np.int64).reshape(-1, 2) // 1000

    def had_part(self, part: str, rows: np.ndarray) -> np.ndarray | slice:
        """Which of the rows that are being timed have a duration of this part."""
        match part:
            case "connect":
                return rows[:, CONNECTED] > 0
            case "tls":
                return rows[:, SECURED] > 0
            case "exchange":
                return rows[:, FIRST] > rows[:, SENT]
        return self.had.get(part, slice(None))

    def durations_us(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        return durations_us(rows)

    def _add_failure(self, failure: Failure) -> None:
        self.last_end_ns = max(self.last_end_ns, failure.end)
        self.last_start_ns = max(self.last_start_ns, failure.start)
        self.queued_at.pop(failure.start, None)
        self.lookups_us.pop(failure.start, None)
        self.read_stamps.pop(failure.start, None)
        hops = self.hops.pop(failure.start, None)
        second = self._untimed_at(self.seconds_of(failure.end))
        start = self.seconds_of(failure.start)
        second.starts[start] = second.starts.get(start, 0) + 1
        is_carried = self.is_carried(failure.intended, failure.end)
        is_late = failure.end > self.until_ns
        is_counted = not is_carried and self.seconds_of(failure.end) >= 0
        self.by_peer.fail(failure.start, failure.kind, is_counted=is_counted, is_late=is_late)
        if is_carried:
            second.count("carried", 1)
            return
        if self.keeper is not None:
            self.keeper.take_failed(self, failure)
        second.count("failed", 1)
        second.count("unsent", int(not failure.sent_bytes))
        if failure.head_bytes:
            head, body = failure.head_bytes, failure.body_bytes
            second.count("failed_head_received", head)
            second.count("failed_body_received", body)
            second.count("failed_framing_received", failure.received_bytes - head - body)
        second.count("bytes_sent", failure.sent_bytes)
        second.count("bytes_received", failure.received_bytes)
        self._count_hops(second, hops, failure.end)
        second.errors[failure.kind.value] = second.errors.get(failure.kind.value, 0) + 1
        if failure.detail:
            second.count_detail(failure.kind, failure.detail)
        if failure.by_kernel:
            second.count("socket_timeouts", 1)
        if failure.status:
            key = str(failure.status)
            second.statuses[key] = second.statuses.get(key, 0) + 1
        took_us = failure.end // 1000 - failure.intended // 1000
        if is_late:
            second.count("late_failed", 1)
            second.count("late_replies", int(failure.status > 0))
            second.count("late_bytes_sent", failure.sent_bytes)
            second.count("late_bytes_received", failure.received_bytes)
            second.count("late_us", min(took_us, (failure.end - self.until_ns) // 1000))
        second.note("failed", np.array([took_us]))
        if failure.status:
            second.note("failed_reply", np.array([took_us]))

    def note_doubt(self, instant: int, count: int) -> None:
        """So many replies may have been those to other requests, as was seen now."""
        self._at(self.seconds_of(instant)).count("in_doubt", count)

    def finish(self, number: int, starts_in_flight: list[int], dropped: int = 0) -> Second:
        """The second `number`, which is over; `starts_in_flight`: when attempts under way began.

        Call `gather` before; `make_timings` may come after, and fills in the timings. `dropped`
        arrivals count as started, and as nothing else.
        """
        in_flight = [self.seconds_of(start) for start in starts_in_flight]
        parts = self._open_seconds.items()
        n_begun = sum(part.starts.get(number, 0) for second, part in parts if second >= number)
        over_the_edge = sum(
            count
            for second, part in parts
            if second > number
            for start, count in part.starts.items()
            if start <= number
        )
        pending = self._open_seconds.pop(number, None) or OpenSecond()
        self._first_open = number + 1
        pending.count("dropped", dropped)
        never_sent = pending.counters.get("dropped", 0)
        pending.count("started", n_begun + in_flight.count(number) + never_sent)
        return Second(
            second=number,
            step=self.step,
            counters=pending.counters,
            errors=pending.errors,
            statuses=pending.statuses,
            in_flight=over_the_edge + sum(1 for start in in_flight if start <= number),
            timings=pending.timings,
            details=pending.details,
            examples=self.examples.take(),
        )

    @property
    def last_second(self) -> int | None:
        """The latest second that something ended in and that is not finished yet."""
        return max(self._open_seconds, default=None)
