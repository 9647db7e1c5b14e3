"""What became of the sessions of a run: how many, how long, with how many calls.

The number of calls of a session is counted under names of its own, `session_length_N`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from campaigns.domain.measured.snapshot import Total

_PREFIX = "session_length_"
# Up to here every length has its counter; longer ones share one with those that agree in their
# first two digits, so that a run has some hundreds of counters at most.
_EXACT_LENGTH = 100


def length_counter(n_calls: int) -> str:
    """The counter for a session of so many ok calls."""
    return f"{_PREFIX}{_rounded(n_calls)}"


def _rounded(n_calls: int) -> int:
    unit = 1
    while n_calls // unit >= _EXACT_LENGTH:
        unit *= 10
    return n_calls // unit * unit


def lengths_of(counters: Mapping[str, int]) -> dict[int, int]:
    """Sessions by their number of ok calls, shortest first."""
    found = {
        int(name.removeprefix(_PREFIX)): count
        for name, count in counters.items()
        if name.startswith(_PREFIX)
    }
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class SessionFigures:
    """Of the sessions that arrived in a measurement.

    `rate_per_s`: ok sessions a second. `connections_each`: opened for each session that was begun;
    None without one. `lengths`: sessions that ended by their number of ok calls.
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
        """Begun, and neither ended nor dropped, when the run was stopped."""
        return max(0, self.started - self.ok - self.failed - self.dropped)

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        return data | {"lengths": {str(n): count for n, count in self.lengths.items()}}


def session_figures(total: Total, duration_s: float) -> SessionFigures | None:
    """None where nothing arrived as a session."""
    count = total.count
    if not count("sessions_started") + count("sessions_carried"):
        return None
    begun = count("sessions_started") - count("sessions_dropped")
    return SessionFigures(
        started=count("sessions_started"),
        ok=count("sessions_ok"),
        failed=count("sessions_failed"),
        dropped=count("sessions_dropped"),
        calls_skipped=count("calls_skipped"),
        calls_retried=count("calls_retried"),
        rate_per_s=count("sessions_ok") / duration_s if duration_s else None,
        connections_each=count("connections_opened") / begun if begun > 0 else None,
        lengths=lengths_of(total.counters),
    )


def length_words(lengths: Mapping[int, int]) -> str:
    """Such as 2 calls: 10, 5 calls: 990; a length that stands for several says so."""
    return ", ".join(f"{length_name(n)}: {count:,}" for n, count in lengths.items())


def length_name(n_calls: int) -> str:
    """Such as 5 calls, or about 120 calls where a counter stands for several lengths."""
    about = "about " if n_calls >= _EXACT_LENGTH else ""
    return f"{about}{n_calls:,} {'call' if n_calls == 1 else 'calls'}"
