"""The turns of an arm that is measured side by side with others, and what was seen in each.

An arm sends as if it were alone, but its clock stands still while others have their turn. A request
belongs to the turn in which it was due, also if it ends later; what happens between turns belongs
to the second in which the clock stands.

How long turns must be, and how hard the arms can be pressed, so that none spills into others.

A turn is as short as possible, because the noise of a machine comes in spells. It must hold enough
requests for a median, and nearly all of them must end in it."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Any

import numpy as np

from campaigns.domain.analysis.side_by_side import (
    FEWEST_REQUESTS,
    MOST_SPILLED,
    builds_up,
    spilled_share,
)
from campaigns.domain.metrics.injector_end import ArmRound, ArmsRound
from campaigns.domain.metrics.snapshot import PARTS
from campaigns.domain.plan.turns import REQUESTS_OF_A_TURN, SHORTEST_TURN_S
from workers.injector.attempt_row import END, FIELDS, INTENDED, RECEIVED, SENT, START
from workers.injector.connection import NS
from workers.injector.recorder import NEVER, Failure, StepRecorder
from workers.injector.users import VisitRecorder
from workers.injector.websocket.exchange_context import ExchangeRecorder

WARM_UP = -1  # all of the trial is just before zero
_UNKNOWN = -1
_SWITCHING = 101
_COMPACT_AT = 4 * 500  # numbers of messages
_FEWEST_OF_QUARTER = 2
# Of a row of an ok request, in ns and µs: own part -1 where it was not timed. Then its PARTS.
_DUE, _END, RESPONSE, _OWN, _HANDSHAKE_UNREAD, _REPLY_UNREAD, _LATENESS, _PARTS = range(8)
OK_FIELDS = _PARTS + len(PARTS)
# Which parts what lay unread was counted in, the likeliest first.
_HANDSHAKE_PARTS, _REPLY_PARTS = ("tls", "connect"), ("wait", "exchange", "receive", "handshake")


@dataclass(slots=True)
class ArmTurn:
    """From `begin_ns` on, on the machine's clock and on the arm's own. `n_extra` requests come on
    top, at once, on connections of their own. `gap_ns` after it nobody sends.

    `ok` has rows of OK_FIELDS.
    """

    begin_ns: int
    own_begin_ns: int
    length_ns: int
    gap_ns: int = 0
    n_extra: int = 0
    n_begun: int = 0
    n_ended: int = 0
    n_failed: int = 0
    n_spilled: int = 0
    n_in_pause: int = 0
    ok: list[np.ndarray] = field(default_factory=list)

    @property
    def end_ns(self) -> int:
        return self.begin_ns + self.length_ns

    def is_complete(self, instant: int) -> bool:
        """Whether all that was due in it has ended, as far as recorders have told."""
        return instant >= self.end_ns and self.n_ended == self.n_begun

    def note_ends(self, ends: np.ndarray) -> None:
        self.n_ended += len(ends)
        late = ends[ends > self.end_ns]
        if len(late):
            n_spilled = int((late > self.end_ns + self.gap_ns).sum())
            self.n_spilled += n_spilled
            self.n_in_pause += len(late) - n_spilled

    def figures(self) -> ArmRound:
        rows = np.concatenate(self.ok or [np.empty((0, OK_FIELDS), np.int64)])
        n_left = max(0, self.n_begun - self.n_ended)
        n, n_spilled = len(rows), self.n_spilled + n_left
        common = {"failed": self.n_failed, "spilled": n_spilled, "in_pause": self.n_in_pause}
        if not n:
            return ArmRound(0, **common)
        response = rows[:, RESPONSE]
        values: dict[str, Any] = {"p50_us": _median(response), "mean_us": _mean(response)}
        timed_rows = rows[rows[:, _OWN] != _UNKNOWN]
        best, best_us = rows, response
        if len(timed_rows) >= min(n, FEWEST_REQUESTS):
            best, best_us = timed_rows, np.maximum(timed_rows[:, RESPONSE] - timed_rows[:, _OWN], 1)
            values["p50_undelayed_us"] = _median(best_us)
            values["mean_undelayed_us"] = _mean(best_us)
            values["own_us"] = _mean(timed_rows[:, _OWN])
        if parts_us := _part_means(best, best_us):
            values["parts_us"] = parts_us
        place = (best[:, _DUE] - self.begin_ns) / self.length_ns
        for name, since, until in (("second", 0.25, 0.5), ("last", 0.75, 1.0)):
            quarter = best_us[(place >= since) & (place < until)]
            if len(quarter) >= _FEWEST_OF_QUARTER:
                values[f"{name}_quarter_us"] = _median(quarter)
        if self.n_failed:
            share = self.n_failed / (n + self.n_failed)
            ranks = max(0.0, 0.5 - share), min(1.0, 0.5 + share)
            values["p50_bounds_us"] = tuple(np.quantile(best_us, ranks).tolist())
        return ArmRound(n, **common, **values)


def _median(values: np.ndarray) -> float:
    """As numpy's, without what that costs a few dozen values."""
    in_order = sorted(values.tolist())
    half = len(in_order) // 2
    return float(in_order[half]) if len(in_order) % 2 else (in_order[half - 1] + in_order[half]) / 2


def _mean(values: np.ndarray) -> float:
    return round(float(values.sum()) / len(values), 1)


def _part_means(rows: np.ndarray, times_us: np.ndarray) -> dict[str, float]:
    """By part, the mean of the middle half by these times, which is close to the median, whatever
    stood still: without what the injector added, where that was timed."""
    n_left_out = len(rows) // 4
    rows = rows[times_us.argsort(kind="stable")[n_left_out : len(rows) - n_left_out]]
    own_us, handshake_us, reply_us, lateness_us, *parts_us = (
        rows[:, _OWN:].sum(axis=0) / len(rows)
    ).tolist()
    means = {part: us for part, us in zip(PARTS, parts_us, strict=True) if us}
    if not means:
        return {}
    if rows[0, _OWN] != _UNKNOWN:
        lateness_us -= own_us - handshake_us - reply_us
        for added_us, names in ((handshake_us, _HANDSHAKE_PARTS), (reply_us, _REPLY_PARTS)):
            for name in names:
                part_us = min(added_us, means.get(name, 0.0))
                if part_us:
                    means[name] -= part_us
                    added_us -= part_us
    means["lateness"] = max(0.0, lateness_us)
    return {name: round(us, 1) for name, us in means.items()}


class Turns:
    """All turns of an arm, in order, those of the trial first. What an open connection does next is
    due by `clock_ns`, which runs in all of them and stands still in between."""

    def __init__(self) -> None:
        self.all: list[ArmTurn] = []
        self._begins: list[int] = []
        self._clock_begins: list[int] = []
        self._clock_ns = 0  # at the end of the last turn
        self._measured: tuple[list[int], list[int]] = ([], [])
        self._length_ns = NS

    def add(self, turn: ArmTurn, *, is_measured: bool) -> None:
        self.all.append(turn)
        self._begins.append(turn.begin_ns)
        self._clock_begins.append(self._clock_ns)
        self._clock_ns += turn.length_ns
        if is_measured:
            self._length_ns = turn.length_ns
            begins, own_begins = self._measured
            begins.append(turn.begin_ns)
            own_begins.append(turn.own_begin_ns)

    def turn_at(self, instant: int) -> ArmTurn:
        """The latest that has begun."""
        return self.all[max(0, bisect_right(self._begins, instant) - 1)]

    def clock_ns(self, instant: int) -> int:
        at = bisect_right(self._begins, instant) - 1
        if at < 0:
            return 0
        return self._clock_begins[at] + min(instant - self._begins[at], self.all[at].length_ns)

    def due(self, clock_ns: int, instant: int) -> int:
        """When something is due, seen from an instant: before it, by as much as its clock has run
        since, or after it. Between turns the next one's begin; NEVER while nobody knows that."""
        clock_ns_then = self.clock_ns(instant)
        if clock_ns <= clock_ns_then:
            if instant < self.turn_at(instant).end_ns:
                return instant - (clock_ns_then - clock_ns)
            clock_ns = clock_ns_then
        if clock_ns >= self._clock_ns:
            return NEVER
        at = bisect_right(self._clock_begins, clock_ns) - 1
        return self._begins[at] + clock_ns - self._clock_begins[at]

    def begun_ns(self, instant: int) -> int:
        """When the turn under way began, by the clock, or the next one will."""
        at = bisect_right(self._begins, instant) - 1
        turn = self.all[at]
        return self._clock_begins[at] + (0 if instant < turn.end_ns else turn.length_ns)

    def skip(self, clock_ns: int) -> None:
        """What was due then is not sent, because its turn was over."""
        self.all[bisect_right(self._clock_begins, clock_ns) - 1].n_spilled += 1

    def seconds_of(self, instants_ns: Any) -> Any:
        """Of the arm's own clock."""
        return self._own_ns(instants_ns) // NS

    def offsets_us(self, instants_ns: np.ndarray) -> np.ndarray:
        return self._own_ns(instants_ns) // 1000

    def own_us(self, instant_ns: int) -> int:
        """How long it had been its turn by then, in all; 0 before measuring began."""
        return max(0, int(self._own_ns(instant_ns))) // 1000

    def _own_ns(self, instants_ns: Any) -> Any:
        # Its last instant is still in it: a second holds whole turns, with all that they left over.
        longest_ns = self._length_ns - 1
        if isinstance(instants_ns, int):
            at = bisect_right(self._measured[0], instants_ns) - 1
            begin_ns, own_begin_ns = (values[at] if at >= 0 else 0 for values in self._measured)
            return WARM_UP if at < 0 else own_begin_ns + min(instants_ns - begin_ns, longest_ns)
        if not self._measured[0]:
            return np.full_like(instants_ns, WARM_UP)
        begins, own_begins = (np.array(values, dtype=np.int64) for values in self._measured)
        at = np.searchsorted(begins, instants_ns, side="right") - 1
        since_begin_ns = np.minimum(instants_ns - begins[at], longest_ns)
        return np.where(at < 0, WARM_UP, own_begins[at] + since_begin_ns)

    def note_ok(self, rows: np.ndarray) -> None:
        """Rows as a turn has them."""
        rows = rows[np.argsort(rows[:, _DUE], kind="stable")]
        at = self._turns_of(rows[:, _DUE])
        cuts = [0, *(np.flatnonzero(np.diff(at)) + 1).tolist(), len(rows)]
        for since, until in pairwise(cuts):
            turn, part = self.all[int(at[since])], rows[since:until]
            turn.ok.append(part)
            turn.note_ends(part[:, _END])

    def note_failed(self, due_ns: int, end: int | None = None) -> None:
        """`end`: None of what was never sent."""
        turn = self.all[int(self._turns_of(np.array([due_ns]))[0])]
        turn.n_failed += 1
        turn.note_ends(np.array([due_ns if end is None else end]))

    def _turns_of(self, due_ns: np.ndarray) -> np.ndarray:
        at = np.searchsorted(np.array(self._begins, dtype=np.int64), due_ns, side="right") - 1
        return np.maximum(at, 0)


class TurnRecorder(StepRecorder):
    """Tells the arm's turns what ended, and counts seconds on the arm's own clock.

    `is_exact`: what the injector added is known, not only the least that it can have been.
    """

    def __init__(self, *args: Any, turns: Turns, is_exact: bool = True, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._turns = turns
        self._is_exact = is_exact

    def seconds_of(self, instants_ns: Any) -> Any:
        return self._turns.seconds_of(instants_ns)

    def offsets_us(self, instants_ns: np.ndarray) -> np.ndarray:
        return self._turns.offsets_us(instants_ns)

    def gather(self) -> None:
        for due in self.events["dropped"]:
            self._turns.note_failed(due)
        super().gather()

    def _sampled(self, *args: Any) -> dict[str, np.ndarray]:
        samples = super()._sampled(*args)
        return samples if self._is_exact else {}

    def _unread(
        self, rows: np.ndarray, durations: dict[str, np.ndarray], own_delay_us: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        at, unread_us = super()._unread(rows, durations, own_delay_us)
        table = np.zeros((len(rows), OK_FIELDS), dtype=np.int64)
        table[:, _DUE], table[:, _END] = rows[:, INTENDED], rows[:, END]
        table[:, RESPONSE] = rows[:, END] // 1000 - rows[:, INTENDED] // 1000
        table[:, _OWN] = _UNKNOWN
        table[at, _OWN] = own_delay_us[at] + unread_us.sum(axis=1)
        table[at, _HANDSHAKE_UNREAD : _REPLY_UNREAD + 1] = unread_us
        # The target's work was over when the reply had come, whenever it was read.
        table[at, _END] -= 1000 * unread_us.sum(axis=1)
        for number, part in enumerate(PARTS, _PARTS):
            if part in durations:
                table[self.had_part(part, rows), number] = durations[part]
        table[:, _LATENESS] = rows[:, START] // 1000 - rows[:, INTENDED] // 1000
        self._turns.note_ok(table)
        return at, unread_us

    def _add_failure(self, failure: Failure) -> None:
        super()._add_failure(failure)
        self._tell_failure(failure)

    def _tell_failure(self, failure: Failure) -> None:
        self._turns.note_failed(failure.intended, failure.end)


class ExchangeTurnRecorder(TurnRecorder, ExchangeRecorder):
    """The same of conversations."""


class MessageTurnRecorder(ExchangeTurnRecorder):
    """Of connections that stay open: each message is a request, from when it was due to its reply.
    Connections count only where they fail. `sent` of a row is from when on it could be sent."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._is_scheduled = True  # by the messages' rate, however connections are opened
        self._messages: list[int] = []
        # When it was due, sent and answered, and how late the injector sent it.
        self.note_message: Callable[[tuple[int, int, int, int]], None] = self._messages.extend

    def note_lost(self, dues: Sequence[int], end: int) -> None:
        """Messages that will get no reply; without any the connection counts as one."""
        if not dues:
            self._turns.turn_at(end).n_begun += 1
        for due in dues or [end]:
            self._turns.note_failed(due, end)

    def compact_if_long(self) -> None:
        if len(self._messages) > _COMPACT_AT:
            self.compact()

    def gather(self) -> None:
        connections = np.array(self._rows, dtype=np.int64).reshape(-1, len(FIELDS))
        self._rows.clear()
        for start, end, received in connections[:, (START, END, RECEIVED)].tolist():
            self._at(self.seconds_of(end)).count("bytes_received", received)
            self.read_stamps.pop(start, None)
            self.lookups_us.pop(start, None)
        messages = np.array(self._messages, dtype=np.int64).reshape(-1, 4)
        self._messages.clear()
        if len(messages):
            rows = np.zeros((len(messages), len(FIELDS)), dtype=np.int64)
            rows[:, (INTENDED, START, END)] = messages[:, :3]
            rows[:, SENT] = messages[:, 1] - messages[:, 3]
            self._rows += rows.ravel().tolist()
        super().gather()

    def is_late(self, rows: np.ndarray) -> np.ndarray:
        return rows[:, END] > self.until_ns

    def durations_us(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        us = rows[:, : END + 1] // 1000
        service = us[:, END] - us[:, START]
        return {
            "response": us[:, END] - us[:, INTENDED],
            "service": service,
            "lateness": us[:, START] - us[:, INTENDED],
            "exchange": service.copy(),
        }

    def had_part(self, part: str, rows: np.ndarray) -> np.ndarray | slice:
        return slice(None)

    def _split(self, rows: np.ndarray, lateness_us: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What waited for the reply before was not kept waiting by the injector."""
        return (rows[:, START] - rows[:, SENT]) // 1000, lateness_us[:0]

    def _tell_failure(self, failure: Failure) -> None:
        if failure.status != _SWITCHING:  # it was not opened
            self.note_lost([], failure.end)


class VisitTurnRecorder(VisitRecorder):
    """Knows which visits are under way, by when they were due."""

    def __init__(self, n_calls: int, *, has_sessions: bool, turns: Turns):
        super().__init__(n_calls, has_sessions)
        self._turns = turns
        self._dues: Counter[int] = Counter()

    def second_at(self, instant: int) -> int:
        return int(self._turns.seconds_of(instant))

    def note_arrival(self, due: int) -> None:
        self._dues[due] += 1

    def note_end(self, due: int, instant: int, *counts: int, has_failed: bool) -> None:
        super().note_end(due, instant, *counts, has_failed=has_failed)
        self._dues[due] -= 1

    def note_drop(self, instant: int) -> None:
        super().note_drop(instant)
        self._dues[instant] -= 1

    def are_over(self, until_ns: int) -> bool:
        """Those that were due by then."""
        self._dues = +self._dues
        return min(self._dues, default=until_ns) >= until_ns


# They divide a second, so that each of an arm's own seconds holds whole turns.
_LENGTHS_S = (SHORTEST_TURN_S, 0.2, 0.25, 0.5)
_LONGEST_PAUSE_S = 0.5
_PAUSE_OF_P95 = 1.2
_LOWEST_SHARE = 1 / 32


@dataclass(frozen=True, slots=True)
class Pace:
    """`gap_s` after each turn nobody sends, so that slow replies arrive. `rate_per_s` is None in a
    closed load. `slowest_share`: a turn holds enough requests at this share of the rate too.
    `keeps_time`: no pause is longer than a turn. `keeps_up`: None until tried."""

    slice_s: float
    gap_s: float = 0.0
    rate_per_s: float | None = None
    asked_per_s: float | None = None
    lowest_per_s: float = 0.0
    slowest_share: float = 1.0
    keeps_time: bool = False
    is_fixed: bool = False
    keeps_up: bool | None = None

    @classmethod
    def first(
        cls,
        rate_per_s: float | None,
        slice_s: float | None = None,
        *,
        may_lower: bool = True,
        slowest_share: float = 1.0,
        keeps_time: bool = False,
        paced_per_s: float | None = None,
    ) -> "Pace":
        """`slice_s`: as somebody asked for, not to be changed. `paced_per_s`: of a closed load,
        what its plan lets it send at most."""
        lowest_per_s = (rate_per_s or 0.0) * (_LOWEST_SHARE if may_lower else 1)
        length_s = slice_s or _length_for(rate_per_s or paced_per_s, slowest_share)
        rates = rate_per_s, rate_per_s, lowest_per_s, slowest_share
        return cls(length_s, 0.0, *rates, keeps_time, is_fixed=slice_s is not None)

    def round_s(self, n_arms: int) -> float:
        return n_arms * (self.slice_s + self.gap_s)


def whole_length_s(wanted_s: float) -> float:
    """Of a turn of at least so long; beyond half a second whole seconds."""
    lengths_s = (each for each in _LENGTHS_S if each >= wanted_s - 1e-9)
    return next(lengths_s, float(ceil(wanted_s - 1e-9)))


def _length_for(rate_per_s: float | None, share: float) -> float:
    return whole_length_s(0.0 if rate_per_s is None else REQUESTS_OF_A_TURN / rate_per_s / share)


def next_pace(pace: Pace, rounds: Sequence[ArmsRound], p95_s: float) -> Pace:
    """What to try after these rounds; the same pace, as kept up with, where they were good.

    A pause after each turn lets what is left over end, and costs less than a longer turn while it
    is shorter: many short rounds tell more than few long ones. Longer turns spill a smaller share.
    `p95_s`: of the responses of the slowest arm.
    """
    pace = replace(pace, keeps_up=None)
    arms = list(zip(*(each.arms for each in rounds), strict=True))
    fewest = min(median(each.n + each.failed for each in turns) for turns in arms)
    if pace.rate_per_s is None and fewest < REQUESTS_OF_A_TURN and not pace.is_fixed:
        longer_s = whole_length_s(pace.slice_s * REQUESTS_OF_A_TURN / max(fewest, 1))
        if longer_s > pace.slice_s:
            return replace(pace, slice_s=longer_s)
    grows = pace.rate_per_s is not None and any(map(builds_up, arms))
    share, longest_s = max(map(spilled_share, arms)), _LENGTHS_S[-1]
    if not grows and share <= MOST_SPILLED:
        return replace(pace, keeps_up=True)
    if not grows:
        gap_s = ceil(100 * _PAUSE_OF_P95 * p95_s) / 100
        longer_s = min(2 * pace.slice_s, longest_s)
        helps = share * pace.slice_s <= MOST_SPILLED * longest_s and pace.rate_per_s is not None
        if not pace.gap_s and gap_s <= pace.slice_s:
            return replace(pace, gap_s=gap_s)
        if helps and not pace.is_fixed and longer_s > pace.slice_s:
            return replace(pace, slice_s=whole_length_s(longer_s))
        if not (pace.gap_s or pace.keeps_time) and p95_s <= _LONGEST_PAUSE_S:
            return replace(pace, gap_s=gap_s)
    if pace.rate_per_s is None or pace.rate_per_s <= pace.lowest_per_s:
        return replace(pace, keeps_up=False)
    rate_per_s = pace.rate_per_s / 2
    length_s = pace.slice_s if pace.is_fixed else _length_for(rate_per_s, pace.slowest_share)
    return replace(pace, slice_s=length_s, gap_s=0.0, rate_per_s=rate_per_s)
