"""The redirects that attempts have followed, and the durations of attempts that were redirected."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from campaigns.domain.metrics.snapshot import hop
from workers.injector.attempt_row import END, INTENDED, RECEIVED, START

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
    taken = (hops_at.pop(start, None) for start in rows[:, START].tolist())
    return {number: hops for number, hops in enumerate(taken) if hops is not None}


def redirected_us(
    rows: np.ndarray, followed: dict[int, Hops], durations_us: Callable[[np.ndarray], Durations]
) -> Durations:
    """The durations of rows of which some were redirected; the parts of these are those of their
    last request, and `durations_us` tells those of one request."""
    last = rows.copy()
    for number, hops in followed.items():
        last[number, START] = hops.ends[-1]
    begun_us, last_us = rows[:, START] // 1000, last[:, START] // 1000
    at = list(followed)
    durations = durations_us(last) | {
        "lateness": begun_us - rows[:, INTENDED] // 1000,
        "service": rows[:, END] // 1000 - begun_us,
        "redirects": last_us[at] - begun_us[at],
    }
    hop_us: dict[str, list[int]] = {}
    for number, hops in followed.items():
        ends = [int(rows[number, START]), *hops.ends, int(rows[number, END])]
        for nth, (begun, ended) in enumerate(pairwise(ends)):
            hop_us.setdefault(hop(nth), []).append(ended // 1000 - begun // 1000)
    return durations | {name: np.array(values) for name, values in hop_us.items()}
