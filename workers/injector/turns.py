"""The turns of an arm that is measured side by side with others, and what was seen in each.

An arm sends as if it were alone, but its clock stands still while others have their turn. A request
belongs to the turn in which it was due, also if it ends later; what happens between turns belongs
to the second in which the clock stands.
"""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from campaigns.domain.analysis.side_by_side import FEWEST_REQUESTS
from campaigns.domain.metrics.rounds import ArmRound
from workers.injector.attempt_row import END, INTENDED
from workers.injector.connection import NS
from workers.injector.recorder import Failure, StepRecorder
from workers.injector.visit_recorder import VisitRecorder
from workers.injector.websocket.recorder import ExchangeRecorder

WARM_UP = -1  # all of the trial is just before zero
_UNKNOWN = -1
_FEWEST_OF_QUARTER = 2


@dataclass(slots=True)
class ArmTurn:
    """From `begin_ns` on, on the machine's clock and on the arm's own. `n_extra` requests come on
    top, at once, on connections of their own. `gap_ns` after it nobody sends.

    `ok` has rows of due, end, response and own part (µs; -1: not timed).
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
        rows = np.concatenate(self.ok) if self.ok else np.empty((0, 4), np.int64)
        n_left = max(0, self.n_begun - self.n_ended)
        n, n_spilled = len(rows), self.n_spilled + n_left
        common = {"failed": self.n_failed, "spilled": n_spilled, "in_pause": self.n_in_pause}
        if not n:
            return ArmRound(0, **common)
        response = rows[:, 2]
        found: dict[str, Any] = {"p50_us": _median(response), "mean_us": _mean(response)}
        timed = rows[rows[:, 3] != _UNKNOWN]
        best, best_us = rows, response
        if len(timed) >= min(n, FEWEST_REQUESTS):
            best, best_us = timed, np.maximum(timed[:, 2] - timed[:, 3], 1)
            found["p50_undelayed_us"] = _median(best_us)
            found["mean_undelayed_us"] = _mean(best_us)
            found["own_us"] = _mean(timed[:, 3])
        place = (best[:, 0] - self.begin_ns) / self.length_ns
        for name, since, until in (("second", 0.25, 0.5), ("last", 0.75, 1.0)):
            quarter = best_us[(place >= since) & (place < until)]
            if len(quarter) >= _FEWEST_OF_QUARTER:
                found[f"{name}_quarter_us"] = _median(quarter)
        if self.n_failed:
            share = self.n_failed / (n + self.n_failed)
            ranks = max(0.0, 0.5 - share), min(1.0, 0.5 + share)
            found["p50_bounds_us"] = tuple(np.quantile(best_us, ranks).tolist())
        return ArmRound(n, **common, **found)


def _median(values: np.ndarray) -> float:
    """As numpy's, without what that costs a few dozen values."""
    ordered = sorted(values.tolist())
    half = len(ordered) // 2
    return float(ordered[half]) if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _mean(values: np.ndarray) -> float:
    return round(float(values.sum()) / len(values), 1)


class Turns:
    """All turns of an arm, in order, those of the trial first."""

    def __init__(self) -> None:
        self.all: list[ArmTurn] = []
        self._begins: list[int] = []
        self._measured: tuple[list[int], list[int]] = ([], [])
        self._length_ns = NS

    def add(self, turn: ArmTurn, *, is_measured: bool) -> None:
        self.all.append(turn)
        self._begins.append(turn.begin_ns)
        if is_measured:
            self._length_ns = turn.length_ns
            begins, own_begins = self._measured
            begins.append(turn.begin_ns)
            own_begins.append(turn.own_begin_ns)

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
        passed = np.minimum(instants_ns - begins[at], longest_ns)
        return np.where(at < 0, WARM_UP, own_begins[at] + passed)

    def note_ok(self, rows: np.ndarray) -> None:
        """Rows as a turn has them."""
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        at = self._turns_of(rows[:, 0])
        cuts = [0, *(np.flatnonzero(np.diff(at)) + 1).tolist(), len(rows)]
        for since, until in pairwise(cuts):
            turn, part = self.all[int(at[since])], rows[since:until]
            turn.ok.append(part)
            turn.note_ends(part[:, 1])

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

    def __init__(self, *given: Any, turns: Turns, is_exact: bool = True, **named: Any):
        super().__init__(*given, **named)
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

    def _sampled(self, *given: Any) -> dict[str, np.ndarray]:
        found = super()._sampled(*given)
        return found if self._is_exact else {}

    def _own_parts(
        self, rows: np.ndarray, own_delay_us: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        at, own_us = super()._own_parts(rows, own_delay_us)
        noted = np.full((len(rows), 4), _UNKNOWN, dtype=np.int64)
        noted[:, 0], noted[:, 1] = rows[:, INTENDED], rows[:, END]
        noted[:, 2] = rows[:, END] // 1000 - rows[:, INTENDED] // 1000
        noted[at, 3] = own_us
        # The target's work was over when the reply had come, whenever it was read.
        noted[at, 1] -= 1000 * (own_us - own_delay_us[at])
        self._turns.note_ok(noted)
        return at, own_us

    def _add_failure(self, failure: Failure) -> None:
        super()._add_failure(failure)
        self._turns.note_failed(failure.intended, failure.end)


class ExchangeTurnRecorder(TurnRecorder, ExchangeRecorder):
    """The same of conversations."""


class VisitTurnRecorder(VisitRecorder):
    """Knows which visits are under way, by when they were due."""

    def __init__(self, n_calls: int, *, has_sessions: bool, turns: Turns):
        super().__init__(n_calls, has_sessions)
        self._turns = turns
        self._dues: Counter[int] = Counter()

    def second_at(self, instant: int) -> int:
        return int(self._turns.seconds_of(instant))

    def arrived(self, due: int) -> None:
        self._dues[due] += 1

    def ended(self, due: int, instant: int, *counts: int, has_failed: bool) -> None:
        super().ended(due, instant, *counts, has_failed=has_failed)
        self._dues[due] -= 1

    def dropped(self, instant: int) -> None:
        super().dropped(instant)
        self._dues[instant] -= 1

    def are_over(self, until_ns: int) -> bool:
        """Those that were due by then."""
        self._dues = +self._dues
        return min(self._dues, default=until_ns) >= until_ns
