"""The sessions of a run: how many, how long, with how many calls.

The numbers of calls are counted in counters named `session_length_N`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from campaigns.domain.metrics.snapshot import Total

_PREFIX = "session_length_"
# Up to here every length has its own counter; longer ones are grouped by their first two digits, so
# that a run has at most some hundreds of counters.
_EXACT_LENGTH = 100


def length_counter(n_calls: int) -> str:
    """The counter's name for a session of `n_calls` ok calls."""
    unit = 1
    while n_calls // unit >= _EXACT_LENGTH:
        unit *= 10
    rounded = n_calls // unit * unit
    return f"{_PREFIX}{rounded}"


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
    begun = count("sessions_started") - count("sessions_dropped")
    return SessionFigures(
        started=count("sessions_started"),
        ok=count("sessions_ok"),
        failed=count("sessions_failed"),
        dropped=count("sessions_dropped"),
        calls_skipped=count("calls_skipped"),
        calls_retried=count("calls_retried"),
        rate_per_s=total.per_s("sessions_ok", duration_s),
        connections_each=count("connections_opened") / begun if begun > 0 else None,
        lengths=lengths_of(total.counters),
    )


def length_words(lengths: Mapping[int, int]) -> str:
    """Such as 2 calls: 10, 5 calls: 990; a grouped length is marked as such."""
    return ", ".join(f"{length_name(n)}: {count:,}" for n, count in lengths.items())


def length_name(n_calls: int) -> str:
    """Such as 5 calls, or about 120 calls if a counter groups several lengths."""
    about = "about " if n_calls >= _EXACT_LENGTH else ""
    return f"{about}{n_calls:,} {'call' if n_calls == 1 else 'calls'}"
