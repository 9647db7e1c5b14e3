"""The row of numbers that is recorded for an ok attempt, and the durations computed from it.

Times are CLOCK_MONOTONIC ns; each is floored to µs before differences are taken, so that the parts
add up to the response exactly.

The redirects that attempts have followed, and the durations of attempts that were redirected.

What the attempts of one step came to at each address, where load goes over several."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from campaigns.domain.metrics.figures import QUIETER
from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.metrics.snapshot import Timing, Total, hop, late

# A part that did not happen has the time 0: connected and secured on a kept connection, secured
# without TLS. `received` are all bytes of the reply, `head` and `body` those of its head and of its
# body without framing; a WebSocket has neither.
FIELDS = (
    "intended", "start", "connected", "secured", "sent", "first", "end", "status", "head", "body",
    "received",
)  # fmt: skip
(
    INTENDED, START, CONNECTED, SECURED, SENT, FIRST, END, STATUS, HEAD, BODY, RECEIVED,
) = range(len(FIELDS))  # fmt: skip


def durations_us(rows: np.ndarray) -> dict[str, np.ndarray]:
    """The timings of ok attempts, rows of FIELDS; response = lateness + the parts, row by row."""
    us = rows[:, : END + 1] // 1000
    ready, parts = _connection_parts(rows, us)
    return {
        "response": us[:, END] - us[:, INTENDED],
        "service": us[:, END] - us[:, START],
        "lateness": us[:, START] - us[:, INTENDED],
        **parts,
        "send": us[:, SENT] - ready,
        "wait": us[:, FIRST] - us[:, SENT],
        "receive": us[:, END] - us[:, FIRST],
        "processing": us[:, END] - ready,
    }


def _connection_parts(rows: np.ndarray, us: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(when each connection was ready, µs; the parts that made it ready, where it was new)."""
    is_new = rows[:, CONNECTED] > 0
    if not is_new.any():
        return us[:, START], {}
    is_tls = rows[:, SECURED] > 0
    new, tls = us[is_new], us[is_tls]
    ready = np.where(is_new, us[:, CONNECTED], us[:, START])
    return np.where(is_tls, us[:, SECURED], ready), {
        "connect": new[:, CONNECTED] - new[:, START],
        "tls": tls[:, SECURED] - tls[:, CONNECTED],
        "connect_tls": tls[:, SECURED] - tls[:, START],
    }


Durations = dict[str, np.ndarray]


@dataclass(slots=True)
class Hops:
    """Of one attempt: when each reply that redirected it was whole (ns), and the bytes of these
    requests and replies."""

    ends: list[int] = field(default_factory=list)
    sent_bytes: int = 0
    received_bytes: int = 0

    def add(self, row: tuple[int, ...], sent_bytes: int) -> None:
        """`row`: of the reply that redirects."""
        self.ends.append(row[END])
        self.sent_bytes += sent_bytes
        self.received_bytes += row[RECEIVED]


def take_hops(hops_at: dict[int, Hops], rows: np.ndarray) -> dict[int, Hops]:
    """Of those of the rows that were redirected, by the row's number. `hops_at`: by start."""
    hops_of_rows = (hops_at.pop(start, None) for start in rows[:, START].tolist())
    return {number: hops for number, hops in enumerate(hops_of_rows) if hops is not None}


def redirected_us(
    rows: np.ndarray, hops_by_row: dict[int, Hops], durations_us: Callable[[np.ndarray], Durations]
) -> Durations:
    """The durations of rows of which some were redirected; the parts of these are those of their
    last request, and `durations_us` tells those of one request."""
    last = rows.copy()
    for number, hops in hops_by_row.items():
        last[number, START] = hops.ends[-1]
    begun_us, last_us = rows[:, START] // 1000, last[:, START] // 1000
    at = list(hops_by_row)
    durations = durations_us(last) | {
        "lateness": begun_us - rows[:, INTENDED] // 1000,
        "service": rows[:, END] // 1000 - begun_us,
        "redirects": last_us[at] - begun_us[at],
    }
    hop_us: dict[str, list[int]] = {}
    for number, hops in hops_by_row.items():
        ends = [int(rows[number, START]), *hops.ends, int(rows[number, END])]
        for nth, (begin, end) in enumerate(pairwise(ends)):
            hop_us.setdefault(hop(nth), []).append(end // 1000 - begin // 1000)
    return durations | {name: np.array(values) for name, values in hop_us.items()}


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
        self,
        rows: np.ndarray,
        response_us: np.ndarray,
        is_measured: np.ndarray,
        late_ones: np.ndarray,
    ) -> None:
        """Attempts that have ended; the masks say which are measured, and which of the tail."""
        for total, own in self._by_peer(rows, is_measured, self.at.pop):
            _add_timing(total, "response", response_us[own])
            _count(total, "ok", int(own.sum()))
            _count(total, late("ok"), int((own & late_ones).sum()))

    def add_undelayed(
        self, rows: np.ndarray, undelayed_us: np.ndarray, is_measured: np.ndarray
    ) -> None:
        """Before `add_ok`: response times without what the injector added, of those that have it.
        There is no quieter half of the seconds here, so all of them count."""
        for total, own in self._by_peer(rows, is_measured, self.at.get):
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
        self, rows: np.ndarray, is_measured: np.ndarray, peer_at: Callable[[int, str], str]
    ) -> Iterator[tuple[Total, np.ndarray]]:
        """(the total of an address, which of the rows are its and measured)."""
        peers = np.array([peer_at(start, "") for start in rows[:, START].tolist()])
        for peer in np.unique(peers[is_measured]).tolist():
            if peer:
                yield self.totals.setdefault(peer, Total()), is_measured & (peers == peer)


def _count(total: Total, name: str, number: int) -> None:
    if number:
        total.counters[name] = total.count(name) + number


def _add_timing(total: Total, name: str, values_us: np.ndarray) -> None:
    total.timings[name] = total.timing(name).merged(Timing.of(values_us))
