"""An injector's vitals: the worst second and the mean of each."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

VITALS = (
    "cpu_share",
    "other_cpu_share",
    "other_cores",
    "steal_share",
    "run_delay_share",
    "throttled_share",
    "hub_lag_max_us",
    "lateness_p99_us",
    "own_delay_p99_us",
    "gc_pause_max_us",
    "gc_share",
    "open_connections",
    "open_files",
    "open_files_share",
    "ports_share",
    "swapped_pages",
    "clock_step_us",
    "link_share",
    "packets_lost_share",
    "rss_bytes",
)
_WINDOW = 5


@dataclass(slots=True)
class Vitals:
    """One injector's vitals over its measured seconds, which are added in order.

    `cpu_5s` is the highest mean CPU share of five seconds in a row, `cpu_5s_at` the first of them.
    """

    seconds: int = 0
    worst: dict[str, float] = field(default_factory=dict)
    at: dict[str, int] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    cpu_5s: float | None = None
    cpu_5s_at: int | None = None
    _shares: deque = field(default_factory=lambda: deque(maxlen=_WINDOW))

    def add(self, second: int, seen: Mapping[str, float]) -> None:
        self.seconds += 1
        for name in VITALS:
            if (value := seen.get(name)) is not None:
                self._add(name, value, second)
        if "cpu_share" in seen:
            self._add_to_window(second, seen["cpu_share"])

    def _add(self, name: str, value: float, second: int) -> None:
        if name not in self.worst or value > self.worst[name]:
            self.worst[name], self.at[name] = value, second
        self.sums[name] = self.sums.get(name, 0) + value
        self.counts[name] = self.counts.get(name, 0) + 1

    def _add_to_window(self, second: int, share: float) -> None:
        self._shares.append((second, share))
        if len(self._shares) < _WINDOW:
            return
        mean = sum(share for _, share in self._shares) / _WINDOW
        if self.cpu_5s is None or mean >= self.cpu_5s:
            self.cpu_5s, self.cpu_5s_at = mean, self._shares[0][0]

    def state(self) -> dict[str, Any]:
        """All of it as JSON, from which `of_state` goes on."""
        plain = {name: getattr(self, name) for name in self.__slots__ if name != "_shares"}
        return {**plain, "shares": list(self._shares)}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Self:
        plain = {name: value for name, value in state.items() if name != "shares"}
        return cls(**plain, _shares=deque(map(tuple, state["shares"]), maxlen=_WINDOW))

    def to_json(self) -> dict[str, Any]:
        """{"seconds", "worst", "at": its second, "mean", "cpu_5s", "cpu_5s_at"}."""
        return {
            "seconds": self.seconds,
            "worst": dict(self.worst),
            "at": dict(self.at),
            "mean": {name: total / self.counts[name] for name, total in self.sums.items()},
            "cpu_5s": self.cpu_5s,
            "cpu_5s_at": self.cpu_5s_at,
        }
