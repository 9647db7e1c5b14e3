"""The tables of WebSocket measurements."""

import numpy as np

from campaigns.domain.metrics.snapshot import Timing, Total
from campaigns.domain.presentation.exchange_tables import (
    Exchanged,
    campaign_exchange_tables,
    close_codes,
    closes_table,
    exchange_columns,
    exchange_table,
)


def total_of(**counters):
    timings = {
        name: Timing.of(np.full(200, us)) for name, us in (("handshake", 900), ("close", 400))
    }
    return Total(counters=counters, timings=timings)


def texts(table):
    return {row.label: [cell.text for cell in row.cells] for row in table.rows}


def test_handshakes_have_their_rate_and_percentiles():
    table = exchange_table(total_of(), duration_s=2)
    keys = [column.key for column in table.columns]
    row = dict(zip(keys, texts(table)["handshake"], strict=True))
    assert (row["per_second"], row["p95"], row["p99"], row["n"]) == ("100", "0.900", "–", "200")


def test_the_thousandth_handshake_is_shown_from_ten_thousand_on():
    many = Total(timings={"handshake": Timing.of(np.arange(1, 10_001))})
    table = exchange_table(many, duration_s=2)
    cells = dict(zip([column.key for column in table.columns], table.rows[0].cells, strict=True))
    assert cells["p99.9"].value == 9.99


def test_lists_of_runs_have_handshakes_and_messages_of_the_websocket_ones():
    chat = total_of(messages_sent=600, messages_received=600)
    chat.timings["message"] = Timing.of(np.full(600, 300))
    p50, p99, messages = exchange_columns([(chat, 2.0), (total_of(), 2.0), (Total(), 2.0), None])
    assert [cell.text for cell in p50] == ["0.900", "0.900", "–", "–"]
    assert p99[0].text == "–"
    assert [cell.text for cell in messages] == ["300", "–", "–", "–"]


def test_codes_add_up_to_what_was_opened():
    total = total_of(close_code_1000=3, close_code_1006=1, close_code_4001=0, ok=9)
    assert close_codes(total) == {1000: 3, 1006: 1}
    assert texts(closes_table(total)) == {
        "1000": ["normal closure", "3", "75.00"],
        "1006": ["no close frame", "1", "25.00"],
    }


def test_a_campaign_has_timings_and_counts_of_each_test():
    tests = [
        Exchanged("WS", total_of(close_code_1000=5, messages_sent=30), 2.0, 12),
        Exchanged("WSS", total_of(close_code_1006=1), 2.0, None),
    ]
    timings, counts = campaign_exchange_tables(tests)
    assert list(texts(timings)) == ["WS: handshake", "WS: close", "WSS: handshake", "WSS: close"]
    assert [column.title for column in counts.columns] == [
        "opened", "open at once", "messages/s", "closed 1000", "closed 1006",
    ]  # fmt: skip
    assert texts(counts) == {
        "WS": ["5", "12", "15.0", "5", "0"],
        "WSS": ["1", "–", "0.0", "0", "1"],
    }
    assert campaign_exchange_tables([]) == ()
