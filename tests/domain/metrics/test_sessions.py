"""What became of sessions: their lengths as counters, and their figures."""

from collections import Counter

from campaigns.domain.metrics.snapshot import Total, length_counter, lengths_of, session_figures


def test_long_sessions_share_a_counter_with_their_like():
    for calls, name in [
        (0, "session_length_0"),
        (99, "session_length_99"),
        (100, "session_length_100"),
        (109, "session_length_100"),
        (12_345, "session_length_12000"),
        (1_000_000, "session_length_1000000"),
    ]:
        assert length_counter(calls) == name


def test_lengths_are_read_back_shortest_first():
    counters = Counter(map(length_counter, [5, 5, 12, 0, 1, 234])) | {"ok": 9}
    lengths = lengths_of(counters)
    assert list(lengths.items()) == [(0, 1), (1, 1), (5, 2), (12, 1), (230, 1)]


def test_figures_count_connections_for_each_session_that_was_begun():
    seen = session_figures(
        Total(
            {
                "sessions_started": 12, "sessions_ok": 6, "sessions_failed": 3,
                "sessions_dropped": 2, "connections_opened": 25, "calls_skipped": 4,
                "session_length_3": 6, "session_length_1": 3,
            }
        ),
        3.0,
    )  # fmt: skip
    assert (seen.rate_per_s, seen.connections_each, seen.open_at_end) == (2.0, 2.5, 1)
    assert seen.to_json()["lengths"] == {"1": 3, "3": 6}


def test_where_all_were_dropped_nothing_is_divided_by_none():
    seen = session_figures(Total({"sessions_started": 2, "sessions_dropped": 2}), 0.0)
    assert (seen.rate_per_s, seen.connections_each) == (None, None)
