"""The row of numbers that is recorded for an ok attempt, and the durations computed from it.

Times are CLOCK_MONOTONIC ns; each is floored to µs before differences are taken, so that the parts
add up to the response exactly.
"""

import numpy as np

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
