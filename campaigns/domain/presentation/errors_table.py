"""The errors of a run or a campaign: a row for each kind, status and step."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.analysis.failures import row_words, status_words
from campaigns.domain.metrics.failures import FailureRow
from campaigns.domain.metrics.outcomes import CLIENT_KINDS
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.percentiles import P50
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.remedies import remedy
from campaigns.domain.presentation.tables import (
    Cell,
    Figure,
    Row,
    Table,
    column_cells,
    count_cell,
    empty,
    text_cell,
)


@dataclass(frozen=True, slots=True)
class Errors:
    """`rows` are those behind the table's, in its order; `length_s`: the run's measured seconds.

    `is_everything`: not one attempt was ok.
    """

    table: Table
    rows: tuple[FailureRow, ...]
    length_s: float
    is_everything: bool
    n_attempts: int


_KEYS = ("status", "step", "count", "share_of_requests", "first", "last", "reply_p50")
MOST_ROWS = 12
_SHOWN_OF_MORE = 10
_NO_SECOND = "Not known second by second."
_NO_REPLY = "No reply came back whole."


def errors_of(
    rows: Sequence[FailureRow],
    labels: Sequence[str],
    steps: Sequence[Total],
    attempts: int,
    length_s: float,
) -> Errors:
    """The most frequent first; over MOST_ROWS the first ten and the sum of the others.

    `steps` are the totals behind `labels`, for the times of failed replies.
    """
    n_shown = len(rows) if len(rows) <= MOST_ROWS else _SHOWN_OF_MORE
    shown, others = rows[:n_shown], rows[n_shown:]
    rest = FailureRow(-1, "", 0)
    for row in others:
        rest.merge(row)
    listed = (*shown, *([rest] if others else []))
    shares = column_cells(
        [Figure(100 * row.count / attempts if attempts else None) for row in listed], decimals=2
    )
    times = column_cells([_reply_p50(row, rows, steps) for row in listed])
    cells = [
        _row(row, labels, share, time)
        for row, share, time in zip(listed, shares, times, strict=True)
    ]
    if others:
        label = f"{len(others)} other kinds"
        cells[-1] = Row(label, (text_cell(""), text_cell(""), *cells[-1].cells[2:]), "others")
    n_failed = sum(row.count for row in rows)
    columns = tuple(METRICS[key].column() for key in _KEYS)
    note = f"by kind, status and step; {n_failed:,} of {attempts:,}, most frequent first"
    table = Table("errors", "Errors", columns, tuple(cells), "kind", note)
    return Errors(table, listed, length_s, 0 < attempts <= n_failed, attempts)


def _row(row: FailureRow, labels: Sequence[str], share: Cell, time: Cell) -> Row:
    label = labels[row.step] if 0 <= row.step < len(labels) else ""
    tone = "warn" if row.kind in CLIENT_KINDS else "bad"
    cells = (
        text_cell(status_words(row.status)) if row.status else empty(_NO_REPLY),
        text_cell(label),
        count_cell(row.count, tone=tone),
        share,
        count_cell(row.first, _NO_SECOND),
        count_cell(row.last, _NO_SECOND),
        time,
    )
    link = {"step": row.step, "error": row.kind, "status": row.status}
    return Row(row_words(row), cells, "error", remedy(row.kind, row.status, row.details), link)


def _reply_p50(row: FailureRow, rows: Sequence[FailureRow], steps: Sequence[Total]) -> Figure:
    """In ms; of a step whose failed replies all have one status."""
    if not row.status or not 0 <= row.step < len(steps):
        return Figure(None, _NO_REPLY)
    statuses = {each.status for each in rows if each.step == row.step and each.status}
    timing = steps[row.step].timing("failed_reply")
    p50_us = timing.percentile_us(P50)
    if p50_us is None:
        return Figure(None, "The injector did not time failed replies.")
    if len(statuses) > 1:
        return Figure(None, f"With the step's other statuses together: {p50_us / 1000:.3g} ms.")
    return Figure(p50_us / 1000)
