"""A second that is still being counted: its sums, and durations not yet in a histogram."""

from dataclasses import dataclass, field

import numpy as np

from campaigns.domain.measured.snapshot import Timing


@dataclass(slots=True)
class Unfinished:
    """`starts` counts the attempts that ended in it, by the second they started in.

    `ok_rows` and `durations_us` were counted but are not in the timings yet.
    """

    starts: dict[int, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    timings: dict[str, Timing] = field(default_factory=dict)
    ok_rows: list[np.ndarray] = field(default_factory=list)
    durations_us: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def count(self, name: str, number: int) -> None:
        if number:
            self.counters[name] = self.counters.get(name, 0) + number

    def note(self, name: str, values_us: np.ndarray) -> None:
        self.durations_us.setdefault(name, []).append(values_us)

    def take_ok_rows(self) -> np.ndarray:
        rows = np.concatenate(self.ok_rows)
        self.ok_rows.clear()
        return rows

    def make_timings(self) -> None:
        """Put the durations that were noted into the timings."""
        noted = {name: np.concatenate(parts) for name, parts in self.durations_us.items()}
        self.durations_us.clear()
        for name, timing in Timing.of_each(noted).items():
            known = self.timings.get(name)
            self.timings[name] = timing if known is None else known.merged(timing)
