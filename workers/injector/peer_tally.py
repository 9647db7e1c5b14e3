"""What the attempts of one step came to at each address, where load goes over several."""

from collections.abc import Callable, Iterator

import numpy as np

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.metrics.quieter import QUIETER
from campaigns.domain.metrics.snapshot import Timing, Total, late
from workers.injector.attempt_row import START


class PeerTally:
    """`at`: start → where that attempt went, until it has ended. `totals` are of the measurement,
    by address and port."""

    def __init__(self) -> None:
        self.at: dict[int, str] = {}
        self.totals: dict[str, Total] = {}

    def forget(self, rows: np.ndarray) -> None:
        """Attempts that count nowhere."""
        for start in rows[:, START].tolist():
            self.at.pop(start, None)

    def add_ok(
        self, rows: np.ndarray, response_us: np.ndarray, measured: np.ndarray, late_ones: np.ndarray
    ) -> None:
        """Attempts that have ended; the masks say which are measured, and which of the tail."""
        for total, own in self._by_peer(rows, measured, self.at.pop):
            _add_timing(total, "response", response_us[own])
            _count(total, "ok", int(own.sum()))
            _count(total, late("ok"), int((own & late_ones).sum()))

    def add_undelayed(
        self, rows: np.ndarray, undelayed_us: np.ndarray, measured: np.ndarray
    ) -> None:
        """Before `add_ok`: response times without what the injector added, of those that have it.
        There is no quieter half of the seconds here, so all of them count."""
        for total, own in self._by_peer(rows, measured, self.at.get):
            _add_timing(total, QUIETER, undelayed_us[own])

    def fail(self, start: int, kind: Kind, *, is_counted: bool, is_late: bool) -> None:
        peer = self.at.pop(start, None)
        if peer is None or not is_counted:
            return
        total = self.totals.setdefault(peer, Total())
        _count(total, "failed", 1)
        _count(total, late("failed"), int(is_late))
        total.errors[kind.value] = total.errors.get(kind.value, 0) + 1

    def _by_peer(
        self, rows: np.ndarray, measured: np.ndarray, peer_at: Callable[[int, str], str]
    ) -> Iterator[tuple[Total, np.ndarray]]:
        """(the total of an address, which of the rows are its and measured)."""
        peers = np.array([peer_at(start, "") for start in rows[:, START].tolist()])
        for peer in np.unique(peers[measured]).tolist():
            if peer:
                yield self.totals.setdefault(peer, Total()), measured & (peers == peer)


def _count(total: Total, name: str, number: int) -> None:
    if number:
        total.counters[name] = total.count(name) + number


def _add_timing(total: Total, name: str, values_us: np.ndarray) -> None:
    total.timings[name] = total.timing(name).merged(Timing.of(values_us))
