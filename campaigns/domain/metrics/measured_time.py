"""The measured time of a run, over which all its rates are, and the tail that comes after it.

It ends at the planned end of the load. Where the plan has a fixed number of requests instead, it
ends once nothing is left to send and nine of ten requests have ended. It is never longer than until
the last request has ended.

A rate is what ended in this time, divided by it. What ends later is the tail: it counts as ok or
failed, and has its response time, but is in no rate. Counters of `LATE` have a twin `late_…` that
counts the part of the tail. A run of an older injector has none: its time lasts to its last end.
"""

# `late_us`, beside these: how long attempts of the tail were in flight after the measured time.
LATE = (
    "ok", "failed", "replies", "bytes_sent", "bytes_received", "connections_opened",
    "messages_sent", "messages_received", "sessions_ok", "sessions_failed",
)  # fmt: skip
_MOST_LEFT = 10


def late(name: str) -> str:
    """The counter of what of a counter came in the tail."""
    return f"late_{name}"


def is_tail(n_left: int, n_all: int) -> bool:
    """Whether what is left of a fixed number of requests, all sent, is only the tail."""
    return n_left * _MOST_LEFT <= n_all
