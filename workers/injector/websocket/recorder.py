"""Gathers the connections of an exchange into seconds, as the attempts of a step are.

A row has the fields of an HTTP attempt, but `sent` and `first` hold the instants at which the
opening handshake and the messages were over.
"""

import numpy as np

from workers.injector.attempt_row import FIELDS
from workers.injector.recorder import StepRecorder

_INTENDED, _START, _CONNECTED, _SECURED, _OPENED, _EXCHANGED, _END = (
    FIELDS.index(name)
    for name in ("intended", "start", "connected", "secured", "sent", "first", "end")
)
ABNORMAL = 1006
MESSAGES_SENT, MESSAGES_RECEIVED = "messages_sent", "messages_received"
# Of those received: no replies.
MESSAGES_OTHER = "messages_other"
# Of the connections opened: compression was offered, and the server did not take it.
UNCOMPRESSED = "uncompressed"


class ExchangeRecorder(StepRecorder):
    """Everything about the exchange that is not written out yet; it is the plan's step 0."""

    def __init__(self, *, is_scheduled: bool):
        super().__init__(0, 0, is_scheduled)
        self.events |= {MESSAGES_SENT: [], MESSAGES_RECEIVED: [], MESSAGES_OTHER: []}
        self.events[UNCOMPRESSED] = []
        # How long after the end conversations that it cuts off may take to close.
        self.grace_ns = 0
        self._round_trips: list[int] = []
        self.note_round_trip = self._round_trips.extend
        # For connections that were held open: end → start of the closing handshake.
        self._closing_starts: dict[int, int] = {}

    def note_held(self, end: int, closing: int) -> None:
        """The connection that ended at `end` was silent between its messages and `closing`."""
        self._closing_starts[end] = closing

    def closes_with(self, code: int) -> list[int]:
        """The list that takes the instants of close frames with this code.

        1005: the frame had no code, 1006: there was no close frame.
        """
        return self.events.setdefault(f"close_code_{code}", [])

    def compact_if_long(self) -> None:
        super().compact_if_long()
        if len(self._round_trips) > 1000:
            self._add_round_trips()
            self.make_timings()

    def gather(self) -> None:
        super().gather()
        self._add_round_trips()

    def _add_round_trips(self) -> None:
        """Rows of (due, end)."""
        if not self._round_trips:
            return
        rows = np.array(self._round_trips, dtype=np.int64).reshape(-1, 2)
        self._round_trips.clear()
        seconds = self.seconds_of(rows[:, 1])
        for second in np.unique(seconds).tolist():
            part = rows[seconds == second] // 1000
            self._untimed_at(second).note("message", part[:, 1] - part[:, 0])

    def is_late(self, rows: np.ndarray) -> np.ndarray:
        """By their messages: when a connection is closed says nothing of the server."""
        return rows[:, _EXCHANGED] > self.until_ns + self.grace_ns

    def durations_us(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The timings of ok attempts; response = lateness + the parts, row by row.

        The time in which a connection was only held open is in none of them.
        """
        us = rows[:, : _END + 1] // 1000
        is_tls, talked = rows[:, _SECURED] > 0, rows[:, _EXCHANGED] > rows[:, _OPENED]
        ready = np.where(is_tls, us[:, _SECURED], us[:, _CONNECTED])
        closing = self._closing_us(rows, us)
        kept = closing - us[:, _EXCHANGED]
        return {
            "response": us[:, _END] - us[:, _INTENDED] - kept,
            "service": us[:, _END] - us[:, _START] - kept,
            "lateness": us[:, _START] - us[:, _INTENDED],
            "connect": us[:, _CONNECTED] - us[:, _START],
            "tls": (us[:, _SECURED] - us[:, _CONNECTED])[is_tls],
            "connect_tls": (us[:, _SECURED] - us[:, _START])[is_tls],
            "handshake": us[:, _OPENED] - ready,
            "exchange": (us[:, _EXCHANGED] - us[:, _OPENED])[talked],
            "close": us[:, _END] - closing,
        }

    def _closing_us(self, rows: np.ndarray, us: np.ndarray) -> np.ndarray:
        """When each closing handshake began: right after the messages, or when it was released."""
        if not self._closing_starts:
            return us[:, _EXCHANGED]
        ends, exchanged = rows[:, _END].tolist(), rows[:, _EXCHANGED].tolist()
        take = self._closing_starts.pop
        closing = [take(end, done) for end, done in zip(ends, exchanged, strict=True)]
        return np.array(closing, dtype=np.int64) // 1000
