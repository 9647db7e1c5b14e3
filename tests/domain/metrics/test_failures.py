"""Failures by kind, status and step, counted from seconds as any injector writes them."""

from campaigns.domain.metrics.outcomes import FailureRow, FailureTally, rows_of_totals
from campaigns.domain.metrics.snapshot import Second, Total
from campaigns.domain.plan.plan import Plan

PLAN = Plan.from_json(
    {
        "steps": [{"method": "GET", "path": "/"}, {"method": "GET", "path": "/cart"}],
        "load": {"model": "closed", "connections": 1, "requests": 10},
        "expected_status": ["2xx"],
    }
)
SOCKET = Plan.from_json(
    {
        "exchange": {"path": "/ws"},
        "load": {"model": "closed", "connections": 1, "requests": 10},
        "connection_mode": "new",
    }
)


def rows(*seconds, plan=PLAN):
    tally = FailureTally(plan)
    for second in seconds:
        tally.add(second)
    return tally.rows


def test_each_unexpected_status_of_a_step_has_a_row_with_its_first_and_last_second():
    failures = rows(
        Second(1, 0, {"failed": 3}, {"status_unexpected": 3}, {"200": 7, "404": 2, "503": 1}),
        Second(2, 1, {"failed": 1}, {"reset": 1}, {"200": 1}),
        Second(9, 0, {"failed": 5}, {"status_unexpected": 5}, {"404": 5}),
    )
    assert [
        (row.step, row.kind, row.status, row.count, row.first, row.last) for row in failures
    ] == [
        (0, "status_unexpected", 404, 7, 1, 9),
        (0, "status_unexpected", 503, 1, 1, 1),
        (1, "reset", 0, 1, 2, 2),
    ]
    assert failures[0].bins == [0, 2, 0, 0, 0, 0, 0, 0, 0, 5]


def test_a_refused_upgrade_has_the_status_of_the_refusal():
    (row,) = rows(
        Second(0, 0, {"failed": 4}, {"ws_upgrade_rejected": 4}, {"101": 3, "403": 4}), plan=SOCKET
    )
    assert (row.kind, row.status, row.count) == ("ws_upgrade_rejected", 403, 4)


def test_a_row_counts_its_details_over_seconds_and_runs():
    (row,) = rows(
        Second(0, 0, {"failed": 3}, {"http_parse": 3}, details={"http_parse": {"a": 2, "b": 1}}),
        Second(1, 0, {"failed": 1}, {"http_parse": 1}, details={"http_parse": {"b": 1}}),
    )
    assert row.details == {"a": 2, "b": 2}
    row.merge(FailureRow(0, "http_parse", 0, count=1, details={"b": 1, "c": 1}))
    assert row.details == {"a": 2, "b": 3, "c": 1}


def test_requests_that_were_never_sent_are_a_row_of_their_own():
    (row,) = rows(Second(3, 0, {"dropped": 6}))
    assert (row.kind, row.status, row.count, row.first) == ("dropped", 0, 6, 3)


def test_statuses_that_say_more_than_the_errors_are_not_believed():
    (row,) = rows(Second(0, 0, {"failed": 1}, {"status_unexpected": 1}, {"404": 9}))
    assert (row.status, row.count) == (0, 1)


def test_an_hour_is_kept_in_few_bins_without_losing_a_failure():
    row = FailureRow(0, "reset", 0)
    for second in range(3600):
        row.add(second, 2)
    assert len(row.bins) <= 128
    assert sum(row.bins) == row.count == 7200
    assert (row.first, row.last) == (0, 3599)


def test_rows_of_runs_with_bins_of_different_width_add_up():
    short, long = FailureRow(0, "reset", 0), FailureRow(0, "reset", 0)
    short.add(5, 1)
    long.add(1000, 1)
    short.merge(long)
    assert (short.count, short.first, short.last) == (2, 5, 1000)
    assert (sum(short.bins), short.bins[0], short.bin_s) == (2, 1, long.bin_s)


def test_a_summary_without_rows_still_tells_counts():
    (row,) = rows_of_totals([Total({"failed": 2}, {"status_unexpected": 2}, {"404": 2})], PLAN)
    assert (row.status, row.count, row.first) == (404, 2, None)
