"""Which requests failed: by kind, status and step, how many, and when.

Read from the seconds' errors and statuses, so any injector's seconds will do: a status that the
plan does not expect has one kind of failure, and no other failure has such a status.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.metrics.snapshot import MOST_DETAILS, Second, Total
from campaigns.domain.plan.plan import Plan, status_fits

DROPPED = "dropped"
_SWITCHING = "101"
_MOST_BINS = 128


@dataclass(slots=True)
class FailureRow:
    """Failures of one kind with one status (0: no whole reply) at one step.

    `first` and `last` are the seconds of first and last sight, None where only totals are known.
    `bins` has counts from second 0 on, `bin_s` seconds each. `details` counts what was said beyond
    the kind, the first MOST_DETAILS.
    """

    step: int
    kind: str
    status: int
    count: int = 0
    first: int | None = None
    last: int | None = None
    bin_s: int = 1
    bins: list[int] = field(default_factory=list)
    details: dict[str, int] = field(default_factory=dict)

    def add(self, second: int, count: int) -> None:
        self.count += count
        self.first = second if self.first is None else min(self.first, second)
        self.last = second if self.last is None else max(self.last, second)
        while second // self.bin_s >= _MOST_BINS:
            self._widen()
        self._note(second // self.bin_s, count)

    def add_details(self, details: Mapping[str, int]) -> None:
        for detail, count in details.items():
            if detail in self.details or len(self.details) < MOST_DETAILS:
                self.details[detail] = self.details.get(detail, 0) + count

    def merge(self, other: Self) -> None:
        """Add another row's failures, such as those of another run."""
        self.count += other.count
        self.add_details(other.details)
        seen = [each for each in (self.first, other.first) if each is not None]
        self.first = min(seen, default=None)
        self.last = max(
            (each for each in (self.last, other.last) if each is not None), default=None
        )
        while self.bin_s < other.bin_s:
            self._widen()
        for number, count in enumerate(other.bins):
            self._note(number * other.bin_s // self.bin_s, count)

    def _note(self, number: int, count: int) -> None:
        self.bins += [0] * (number + 1 - len(self.bins))
        self.bins[number] += count

    def _widen(self) -> None:
        self.bin_s *= 2
        self.bins = [sum(self.bins[at : at + 2]) for at in range(0, len(self.bins), 2)]

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(**data)


@dataclass(slots=True)
class FailureTally:
    """Counts the failures of a run's measured seconds."""

    plan: Plan
    by_key: dict[tuple[int, str, int], FailureRow] = field(default_factory=dict)

    def add(self, second: Second) -> None:
        for (kind, status), count in counts_of(second, self.plan).items():
            key = (second.step, kind, status)
            row = self.by_key.setdefault(key, FailureRow(*key))
            row.add(second.second, count)
            if not status:
                row.add_details(second.details.get(kind, {}))

    @classmethod
    def of_rows(cls, plan: Plan, rows: Iterable[FailureRow]) -> Self:
        return cls(plan, {(row.step, row.kind, row.status): row for row in rows})

    @property
    def rows(self) -> list[FailureRow]:
        return most_frequent_first(self.by_key.values())


def counts_of(part: Second | Total, plan: Plan) -> dict[tuple[str, int], int]:
    """{(kind, status): how many} of one step's part; status 0 where there was no whole reply."""
    if not (part.errors or part.counters.get(DROPPED)):
        return {}
    counts = {(kind, 0): count for kind, count in part.errors.items() if count}
    if part.counters.get(DROPPED):
        counts[DROPPED, 0] = part.counters[DROPPED]
    refusal = Kind.STATUS_UNEXPECTED if plan.exchange is None else Kind.WS_UPGRADE_REJECTED
    expected = plan.expected_status if plan.exchange is None else (_SWITCHING,)
    unexpected = {
        int(status): count
        for status, count in part.statuses.items()
        if count and not status_fits(int(status), expected)
    }
    refused = counts.pop((refusal.value, 0), 0)
    rest = refused - sum(unexpected.values())
    if refused and rest >= 0:
        counts |= {(refusal.value, status): count for status, count in unexpected.items()}
        refused = rest
    if refused:
        counts[refusal.value, 0] = refused
    return counts


def rows_of_totals(steps: Sequence[Total], plan: Plan) -> list[FailureRow]:
    """The rows without their seconds, for summaries that were stored without them."""
    return most_frequent_first(
        FailureRow(step, kind, status, count)
        for step, total in enumerate(steps)
        for (kind, status), count in counts_of(total, plan).items()
    )


def most_frequent_first(rows: Iterable[FailureRow]) -> list[FailureRow]:
    return sorted(rows, key=lambda row: (-row.count, row.step, row.kind, row.status))
