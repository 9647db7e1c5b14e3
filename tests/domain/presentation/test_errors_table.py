"""The tables of errors, and of who was the limit."""

import numpy as np
import pytest

from campaigns.domain.analysis.judgement import LimitsByCode, Observation, judge
from campaigns.domain.analysis.limit import Limit, Who
from campaigns.domain.metrics.machine import MachineUse
from campaigns.domain.metrics.outcomes import FailureRow, Kind
from campaigns.domain.metrics.snapshot import Timing, total_of
from campaigns.domain.presentation.capacity_words import limit_table
from campaigns.domain.presentation.request_tables import MOST_ROWS, Errors, errors_of
from tests.values import make_second

REFUSED = FailureRow(0, Kind.CONNECT_REFUSED, 0, count=30, first=2, last=9)


def wrong_status(status: int, count: int, step: int = 0) -> FailureRow:
    return FailureRow(step, Kind.STATUS_UNEXPECTED, status, count=count, first=1, last=4)


def table_of(*rows: FailureRow, replies_us=(), attempts=1000) -> Errors:
    timings = {"failed_reply": Timing.of(np.array(replies_us, dtype=np.int64))}
    steps = [total_of([make_second(0, timings=timings)])]
    return errors_of(rows, ["checkout"], steps, attempts, 10.0)


def cells(errors: Errors, nth: int = 0) -> list[str]:
    return [cell.text for cell in errors.table.rows[nth].cells]


def test_a_row_has_status_step_count_share_seconds_and_the_time_of_the_reply():
    errors = table_of(wrong_status(503, 20), replies_us=[4000] * 20)
    assert cells(errors)[:6] == ["503 Service Unavailable", "checkout", "20", "2.00", "1", "4"]
    assert float(cells(errors)[6]) == pytest.approx(4, rel=0.01)
    assert not any(cell.why for cell in errors.table.rows[0].cells)
    assert not errors.is_everything


def test_without_a_whole_reply_there_is_neither_status_nor_time():
    status, *_, reply = table_of(REFUSED).table.rows[0].cells
    assert (status.text, reply.text) == ("–", "–")


def test_the_time_of_two_statuses_together_is_none_of_either():
    errors = table_of(wrong_status(503, 20), wrong_status(404, 3), replies_us=[4000] * 23)
    assert [row.cells[6].text for row in errors.table.rows] == ["–", "–"]


def test_of_more_the_rarest_are_summed_up_in_the_last_row():
    rows = [wrong_status(500 + nth, 50 - nth) for nth in range(MOST_ROWS + 2)]
    errors = table_of(*rows)
    assert [row.count for row in errors.rows[:-1]] == [row.count for row in rows[:10]]
    assert errors.table.rows[-1].label == "4 other kinds"
    assert cells(errors, -1)[:3] == ["–", "–", str(sum(row.count for row in rows[10:]))]
    assert f"{sum(row.count for row in rows):,} of 1,000" in errors.table.note


def test_all_have_failed_where_no_attempt_was_ok():
    for attempts, is_everything in [(30, True), (31, False), (0, False)]:
        assert table_of(REFUSED, attempts=attempts).is_everything is is_everything


def test_it_has_the_limits_by_which_runs_are_judged():
    limits = LimitsByCode.with_overrides({"cpu": [0.9, 0.95], "link": [None, None]})
    values = {"cpu": Observation(0.75), "link": Observation(0.85)}
    judgement = judge(values, Timing.of([10_000] * 2000), limits)
    table = limit_table(Limit(Who.PLAN, ""), judgement, values, [], (None, None), limits)
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["75", "90", "no"],
        ["85", "–", "no"],
    ]


def test_a_cpu_that_was_full_with_other_guests_has_what_they_took_beside_it():
    machine = MachineUse("shop-1", 60, 60.0, 2, figures={"cpu": (0.5, 0.6), "stolen": (0.3, 0.4)})
    judgement = judge({"target_cpu": Observation(20, measure=" on")}, Timing.of([10_000] * 2000))
    table = limit_table(Limit(Who.TARGET, ""), judgement, {}, [machine], (None, None))
    assert [(row.label, row.cells[0].text) for row in table.rows] == [
        ("target: CPU, %", "60"),
        ("target: CPU stolen by other guests, %", "40"),
    ]


def test_a_figure_is_on_its_side_of_the_limit():
    for cpu, texts in [(0.6004, ["60.04", "60", "yes"]), (0.59997, ["59.997", "60", "no"])]:
        values = {"cpu": Observation(cpu)}
        judgement = judge(values, Timing.of([10_000] * 2000))
        (row,) = limit_table(Limit(Who.PLAN, ""), judgement, values, [], (None, None)).rows
        assert [cell.text for cell in row.cells] == texts
