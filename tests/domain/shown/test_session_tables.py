"""The tables of a run to which sessions came."""

from campaigns.domain.measured.sessions import length_counter
from campaigns.domain.measured.snapshot import Timing, Total
from campaigns.domain.shown.session_tables import session_tables


def measured(**counters) -> Total:
    total = Total({"sessions_started": 30, "sessions_ok": 20, "sessions_failed": 6} | counters)
    total.timings = {
        "session": Timing.of([2_000_000] * 20),
        "session_failed": Timing.of([500_000] * 6),
    }
    return total


def texts(row):
    return [cell.text for cell in row.cells]


def test_ok_and_failed_sessions_have_a_row_each():
    table, *_ = session_tables(
        measured(connections_opened=58, sessions_dropped=1, calls_skipped=12, calls_retried=1), 4.0
    )
    assert [row.label for row in table.rows] == ["ok sessions", "failed sessions"]
    assert texts(table.rows[0])[:2] == ["5.00", "2,000"]
    assert texts(table.rows[0])[-1] == "20"
    assert table.note == (
        "30 due, 20 ok, 6 failed; 1 dropped before they started; 3 not finished; "
        "2.00 connections each; 1 request retried after a failure; "
        "12 requests not sent after a failure or a drop."
    )


def test_each_length_has_its_share_of_the_sessions_that_ended():
    *_, table = session_tables(measured(session_length_5=20, session_length_1=5), 4.0)
    assert [(row.label, *texts(row)) for row in table.rows] == [
        ("1 call", "5", "20.00"),
        ("5 calls", "20", "80.00"),
    ]


def test_rare_lengths_share_a_row():
    many = {length_counter(n): 1 + (n < 20) for n in range(60)}
    *_, table = session_tables(measured(**many), 4.0)
    assert len(table.rows) == 21
    assert (table.rows[-1].label, texts(table.rows[-1])[0]) == ("other lengths", "40")
