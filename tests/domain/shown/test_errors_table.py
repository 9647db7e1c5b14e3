"""The table of errors: how many rows, what the last one sums up, the time of a failed reply."""

import numpy as np
import pytest

from campaigns.domain.measured.failures import FailureRow
from campaigns.domain.measured.outcomes import Kind
from campaigns.domain.measured.snapshot import Timing, total_of
from campaigns.domain.shown.errors_table import MOST_ROWS, Errors, errors_of
from tests.values import make_second

pytestmark = pytest.mark.pure
REFUSED = FailureRow(0, Kind.CONNECT_REFUSED, 0, count=30, first=2, last=9)


def unexpected(status: int, count: int, step: int = 0) -> FailureRow:
    return FailureRow(step, Kind.STATUS_UNEXPECTED, status, count=count, first=1, last=4)


def table_of(*rows: FailureRow, replies_us=(), attempts=1000) -> Errors:
    timings = {"failed_reply": Timing.of(np.array(replies_us, dtype=np.int64))}
    steps = [total_of([make_second(0, timings=timings)])]
    return errors_of(rows, ["checkout"], steps, attempts, 10.0)


def cells(errors: Errors, nth: int = 0) -> list[str]:
    return [cell.text for cell in errors.table.rows[nth].cells]


def test_a_row_has_status_step_count_share_seconds_and_the_time_of_the_reply():
    errors = table_of(unexpected(503, 20), replies_us=[4000] * 20)
    assert cells(errors)[:6] == ["503 Service Unavailable", "checkout", "20", "2.00", "1", "4"]
    assert float(cells(errors)[6]) == pytest.approx(4, rel=0.01)
    assert not any(cell.why for cell in errors.table.rows[0].cells)
    assert not errors.is_everything


def test_without_a_whole_reply_there_is_neither_status_nor_time():
    status, *_, reply = table_of(REFUSED).table.rows[0].cells
    assert (status.text, reply.text) == ("–", "–")


def test_the_time_of_two_statuses_together_is_none_of_either():
    errors = table_of(unexpected(503, 20), unexpected(404, 3), replies_us=[4000] * 23)
    assert [row.cells[6].text for row in errors.table.rows] == ["–", "–"]


def test_of_more_the_rarest_are_summed_up_in_the_last_row():
    rows = [unexpected(500 + nth, 50 - nth) for nth in range(MOST_ROWS + 2)]
    errors = table_of(*rows)
    assert [row.count for row in errors.rows[:-1]] == [row.count for row in rows[:10]]
    assert errors.table.rows[-1].label == "4 other kinds"
    assert cells(errors, -1)[:3] == ["–", "–", str(sum(row.count for row in rows[10:]))]
    assert f"{sum(row.count for row in rows):,} of 1,000" in errors.table.note


@pytest.mark.parametrize(("attempts", "is_everything"), [(30, True), (31, False), (0, False)])
def test_all_have_failed_where_no_attempt_was_ok(attempts, is_everything):
    assert table_of(REFUSED, attempts=attempts).is_everything is is_everything
