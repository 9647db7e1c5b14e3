"""One second of one shard at one step, and how seconds are merged.

A second is the only stored result. Counters and timings add up over seconds, shards and steps;
percentiles are read from the merged histogram and never averaged.

The sessions of a run: how many, how long, with how many calls.

The numbers of calls are counted in counters named `session_length_N`."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import sqrt
from typing import Any, Self

import numpy as np

from campaigns.domain.metrics.histogram import Histogram, SummedHistogram
from campaigns.domain.plan.step import MOST_REDIRECTS

# The measured time of a run, over which all its rates are, and the tail that comes after it.
#
# It ends at the planned end of the load. Where the plan has a fixed number of requests instead, it
# ends once nothing is left to send and nine of ten requests have ended; of fewer than ten, all,
# for a rate without one of them would be off by more than a tenth. It is never longer than until
# the last request has ended.
#
# A rate is what ended in this time, divided by it. What ends later is the tail: it counts as ok or
# failed, and has its response time, but is in no rate. Counters of `LATE` have a twin `late_…` that
# counts the part of the tail. A run of an older injector has none: its time lasts to its last end.
#
# `late_us`, beside these: how long attempts of the tail were in flight after the measured time.
LATE = (
    "ok", "failed", "replies", "bytes_sent", "bytes_received", "connections_opened",
    "messages_sent", "messages_received", "sessions_ok", "sessions_failed",
)  # fmt: skip
_MOST_LEFT = 10


def late(name: str) -> str:
    """The counter of what of a counter came in the tail."""
    return f"late_{name}"


def is_tail(n_left: int, n_all: int) -> bool:
    """Whether what is left of a fixed number of requests, all sent, is only the tail."""
    return n_left * _MOST_LEFT <= n_all


# Counted per second and step. `started` lies in the second of the start, the others in the second
# of the end. `queued` were due while all of `max_in_flight` were under way, and waited; they are in
# other counts as well. `carried` ended after the warm-up but began in it: in no other count than
# `started`, in no timing.
# `messages_other` were received, and are no replies.
# `uncompressed` WebSockets were to be compressed, but their server did not take it.
# `unsent` are failed attempts whose request was not written whole. `failed_…` are sizes, like those
# of ok replies, of whole replies that were not expected.
# `in_doubt` were counted as ok before the connection brought more replies than it was asked for.
# `head_…`, `body_…` and `framing_received` (chunk sizes, trailers) are bytes of ok replies; what is
# in `bytes_received` beyond them came with others. `body_squares` sums the bodies' squared sizes.
# `wire_…` and `segments_…` are what TCP carried, counted where a connection ends and at the end of
# the run.
# started = ok + failed + dropped + carried + (in flight at the end); so do those of sessions.
# `calls_skipped` were never due, for the session or connection that they belong to ended before.
# `replayed` were sent again, because the server had closed the kept connection before they reached
# it, or had not taken them over HTTP/2; each is one attempt.
# `socket_timeouts` are failures of kind connect_timeout that TCP ended, not a limit of the plan.
# `calls_retried` were made again after a failure; they are in other counts as well.
# `redirects` were followed; each is a part of the attempt that it belongs to, and none by itself.
# `late_…`: the part of a counter that came after the measured time, see above.
COUNTERS = (
    "started", "ok", "failed", "dropped", "queued", "carried", "bytes_sent", "bytes_received",
    "head_received", "body_received", "framing_received", "body_squares", "wire_sent",
    "wire_received", "segments_sent", "segments_resent", "connections_opened", "tls_full",
    "tls_resumed", "tls_ragged_eof", "replayed", "socket_timeouts", "messages_sent",
    "messages_received", "window_throttled", "extract_missed", "window_resumed", "in_doubt",
    "cookies_too_large", "calls_skipped", "calls_retried", "sessions_started", "sessions_ok",
    "sessions_failed", "sessions_dropped", "sessions_carried", "unsent", "failed_head_received",
    "failed_body_received", "failed_framing_received", "messages_other", "uncompressed",
    "redirects", *map(late, LATE), "late_us",
)  # fmt: skip
# Of every ok attempt. A part that did not happen (connect on a kept connection) is absent, not 0.
# An HTTP attempt has send, wait and receive; a WebSocket one handshake, exchange and close.
# `redirects`: all before the last request, whose are the other parts.
PARTS = (
    "redirects", "dns", "connect", "tls", "send", "wait", "receive", "handshake", "exchange",
    "close",
)  # fmt: skip
# lateness = own_delay + slot_wait: the injector's own fault, and waiting for a free connection
# (only of those that waited). hub_lag is of the injector's event loop, not of attempts.
# `sampled` are the response times of some ok attempts, `undelayed` the same attempts' without what
# the injector added: its own_delay, and how long it left their replies unread.
LATENESS = ("lateness", "own_delay", "slot_wait")
SAMPLE = ("sampled", "undelayed")
# Sums of parts per attempt, as other tools count them: from the connection being ready to the last
# byte (HTTP), and TCP plus TLS (if there is TLS).
COMBINED = ("processing", "connect_tls")
# `message`: the round trips of an exchange's messages, which lie within its attempt.
# `failed` is of every failed attempt, `failed_reply` of those whose reply came whole.
# `session` and `session_failed`: from when a session was due to its end, pauses included.
SESSIONS = ("session", "session_failed")


def hop(nth: int) -> str:
    """The timing of one request of each attempt that was redirected: 0 is the plan's own, n the
    one that the n-th redirect asked for."""
    return f"hop_{nth}"


HOPS = tuple(map(hop, range(MOST_REDIRECTS + 1)))
TIMINGS = (
    "response", "service", *LATENESS, *PARTS, *COMBINED, "message", "failed", "failed_reply",
    "hub_lag", *SAMPLE, *SESSIONS, *HOPS,
)  # fmt: skip


# Of one kind in one second, and in one row of failures.
MOST_DETAILS = 8
MOMENTS = ("n", "sum_us", "sum_squares", "min_us", "max_us")


@dataclass(slots=True)
class Timing:
    """A set of durations: exact moments beside the histogram. Microseconds throughout."""

    n: int = 0
    sum_us: int = 0
    sum_squares: int = 0
    min_us: int | None = None
    max_us: int | None = None
    histogram: Histogram = field(default_factory=Histogram)

    @classmethod
    def of(cls, values_us: Any) -> Self:
        """A timing of whole microseconds, shape (k,)."""
        values = np.asarray(values_us, dtype=np.int64)
        return cls._of_rows(values.reshape(1, -1))[0] if values.size else cls()

    @classmethod
    def of_each(cls, values_us: dict[str, np.ndarray]) -> dict[str, Self]:
        """The timings of named sets of int64, shape (k,); empty sets have none.

        Sets of the same size are computed together: for some hundred durations most of numpy's time
        is call overhead.
        """
        by_size: dict[int, list[str]] = {}
        for name, values in values_us.items():
            by_size.setdefault(len(values), []).append(name)
        by_size.pop(0, None)
        timings: dict[str, Self] = {}
        for names in by_size.values():
            rows = np.array([values_us[name] for name in names])
            timings |= zip(names, cls._of_rows(rows), strict=True)
        return {name: timings[name] for name in values_us if name in timings}

    @classmethod
    def _of_rows(cls, values: np.ndarray) -> list[Self]:
        moments = (
            values.sum(axis=1).tolist(),
            # Floats: squares of hours overflow 64 bits after a few million values.
            map(int, np.square(values.astype(np.float64)).sum(axis=1).tolist()),
            values.min(axis=1).tolist(),
            values.max(axis=1).tolist(),
        )
        n = values.shape[1]
        histograms = Histogram.of_rows(values)
        return [cls(n, *each) for each in zip(*moments, histograms, strict=True)]

    def merged(self, other: Self) -> Self:
        """The timing of both sets of durations."""
        if not self.n:
            return other
        if not other.n:
            return self
        return type(self)(
            n=self.n + other.n,
            sum_us=self.sum_us + other.sum_us,
            sum_squares=self.sum_squares + other.sum_squares,
            min_us=min(self.min_us, other.min_us),
            max_us=max(self.max_us, other.max_us),
            histogram=self.histogram.merged(other.histogram),
        )

    @classmethod
    def together(cls, timings: Iterable[Self]) -> Self:
        """The timing of all these sets of durations. Their histograms are added up when somebody
        asks for a percentile: averages need none."""
        parts = [timing for timing in timings if timing.n]
        if not parts:
            return cls()
        return cls(
            n=sum(timing.n for timing in parts),
            sum_us=sum(timing.sum_us for timing in parts),
            sum_squares=sum(timing.sum_squares for timing in parts),
            min_us=min(timing.min_us for timing in parts),
            max_us=max(timing.max_us for timing in parts),
            histogram=SummedHistogram(timing.histogram for timing in parts),
        )

    @property
    def mean_us(self) -> float | None:
        return self.sum_us / self.n if self.n else None

    @property
    def sd_us(self) -> float | None:
        """The sample standard deviation (n − 1); None below two values."""
        if self.n < 2:
            return None
        return sqrt(max(0.0, (self.sum_squares - self.sum_us**2 / self.n) / (self.n - 1)))

    def percentile_us(self, per_100k: int) -> float | None:
        """Nearest rank ⌈q·n⌉, q given in 1/100,000 (p99.9 is 99900); None where n is 0."""
        if not self.n:
            return None
        rank = max(1, -(-per_100k * self.n // 100_000))
        if rank == self.n:
            return float(self.max_us)
        return min(max(self.histogram.value_at_rank(rank), self.min_us), self.max_us)

    def jump_us(self, per_100k: int) -> tuple[float, float] | None:
        """The two sides of the jump that the percentile lies at: repeats of it are now on one, now
        on the other. None without one, or where too few values tell."""
        return self.histogram.jump_at(per_100k) if self.n else None

    def to_json(self) -> dict[str, Any]:
        moments = {name: getattr(self, name) for name in MOMENTS}
        return {**moments, "histogram": self.histogram.encode()}

    @classmethod
    def from_json(cls, data: dict[str, Any] | None) -> Self:
        """Raises CorruptHistogram for a payload that is not ours."""
        if not data or not data["n"]:
            return cls()
        moments = {name: data[name] for name in MOMENTS}
        return cls(**moments, histogram=Histogram.decode(data["histogram"]))


@dataclass(slots=True)
class Second:
    """What one shard measured in one second at one step.

    `second` counts from the start of the measurement; the warm-up has negative seconds.
    `errors` and `statuses` count by kind and by status code, `details` of a kind what its failures
    said beyond it, the first MOST_DETAILS; `in_flight` is read at the second's end.

    Only the row of step 0 has `vitals`. `examples` of failures travel with it and are stored
    apart; docs/injector.md has their fields.
    """

    second: int
    step: int
    counters: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    in_flight: int = 0
    timings: dict[str, Timing] = field(default_factory=dict)
    vitals: dict[str, float] | None = None
    examples: list[dict[str, Any]] = field(default_factory=list)
    details: dict[str, dict[str, int]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "second": self.second,
            "step": self.step,
            "counters": {name: count for name, count in self.counters.items() if count},
            "errors": self.errors,
            "statuses": self.statuses,
            "in_flight": self.in_flight,
            "timings": _json_of(self.timings),
            "vitals": self.vitals,
            **({"examples": self.examples} if self.examples else {}),
            **({"details": self.details} if self.details else {}),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        values = {name: data[name] for name in cls.__slots__ if name in data}
        counts = {name: dict(data[name]) for name in ("counters", "errors", "statuses")}
        return cls(**values | counts | {"timings": _timings_of(data)})


def _json_of(timings: dict[str, Timing]) -> dict[str, Any]:
    return {name: timing.to_json() for name, timing in timings.items() if timing.n}


def _timings_of(data: dict[str, Any]) -> dict[str, Timing]:
    return {name: Timing.from_json(each) for name, each in data["timings"].items()}


@dataclass(slots=True)
class Total:
    """Any number of seconds merged: one second over shards, one run, or several runs."""

    counters: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    timings: dict[str, Timing] = field(default_factory=dict)

    def add(self, part: "Second | Total") -> None:
        for name in ("counters", "errors", "statuses"):
            mine = getattr(self, name)
            for key, count in getattr(part, name).items():
                mine[key] = mine.get(key, 0) + count
        for name, timing in part.timings.items():
            self.timings[name] = self.timing(name).merged(timing)

    def timing(self, name: str) -> Timing:
        return self.timings.get(name) or Timing()

    def count(self, name: str) -> int:
        return self.counters.get(name, 0)

    def in_time(self, name: str) -> int:
        """Of a counter of `LATE`, without the tail."""
        return self.count(name) - self.count(late(name))

    def per_s(self, name: str, duration_s: float) -> float | None:
        """The rate of a counter of `LATE` over the measured time; None if there was none."""
        return self.in_time(name) / duration_s if duration_s > 0 else None

    def to_json(self) -> dict[str, Any]:
        return {
            "counters": self.counters,
            "errors": self.errors,
            "statuses": self.statuses,
            "timings": _json_of(self.timings),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        counts = (dict(data[name]) for name in ("counters", "errors", "statuses"))
        return cls(*counts, _timings_of(data))


def joined(totals: Iterable[Total]) -> Total:
    """All totals merged into one; histograms are added up when somebody asks for a percentile."""
    parts = list(totals)
    total = total_of(replace(part, timings={}) for part in parts)
    for name in dict.fromkeys(name for part in parts for name in part.timings):
        total.timings[name] = Timing.together(part.timing(name) for part in parts)
    return total


def total_of(parts: Iterable[Second | Total]) -> Total:
    """All parts merged into one."""
    total = Total()
    for part in parts:
        total.add(part)
    return total


_PREFIX = "session_length_"
# Up to here every length has its own counter; longer ones are grouped by their first two digits, so
# that a run has at most some hundreds of counters.
_EXACT_LENGTH = 100


def length_counter(n_calls: int) -> str:
    """The counter's name for a session of `n_calls` ok calls."""
    unit = 1
    while n_calls // unit >= _EXACT_LENGTH:
        unit *= 10
    return f"{_PREFIX}{n_calls // unit * unit}"


def lengths_of(counters: Mapping[str, int]) -> dict[int, int]:
    """Sessions by their number of ok calls, shortest first."""
    lengths = {
        int(name.removeprefix(_PREFIX)): count
        for name, count in counters.items()
        if name.startswith(_PREFIX)
    }
    return dict(sorted(lengths.items()))


@dataclass(frozen=True, slots=True)
class SessionFigures:
    """The figures of a measurement's sessions.

    `rate_per_s`: ok sessions/s. `connections_each`: connections opened per started session; None
    without any. `lengths`: ended sessions by their number of ok calls.
    """

    started: int
    ok: int
    failed: int
    dropped: int
    calls_skipped: int
    calls_retried: int
    rate_per_s: float | None
    connections_each: float | None
    lengths: dict[int, int]

    @property
    def open_at_end(self) -> int:
        """Sessions started but neither ended nor dropped when the run was stopped."""
        return max(0, self.started - self.ok - self.failed - self.dropped)

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        return data | {"lengths": {str(n): count for n, count in self.lengths.items()}}


def session_figures(total: Total, duration_s: float) -> SessionFigures | None:
    """None if no sessions arrived."""
    count = total.count
    if not count("sessions_started") + count("sessions_carried"):
        return None
    n_started = count("sessions_started") - count("sessions_dropped")
    return SessionFigures(
        started=count("sessions_started"),
        ok=count("sessions_ok"),
        failed=count("sessions_failed"),
        dropped=count("sessions_dropped"),
        calls_skipped=count("calls_skipped"),
        calls_retried=count("calls_retried"),
        rate_per_s=total.per_s("sessions_ok", duration_s),
        connections_each=count("connections_opened") / n_started if n_started > 0 else None,
        lengths=lengths_of(total.counters),
    )


def length_words(lengths: Mapping[int, int]) -> str:
    """Such as 2 calls: 10, 5 calls: 990; a grouped length is marked as such."""
    return ", ".join(f"{length_name(n)}: {count:,}" for n, count in lengths.items())


def length_name(n_calls: int) -> str:
    """Such as 5 calls, or about 120 calls if a counter groups several lengths."""
    about = "about " if n_calls >= _EXACT_LENGTH else ""
    return f"{about}{n_calls:,} {'call' if n_calls == 1 else 'calls'}"
