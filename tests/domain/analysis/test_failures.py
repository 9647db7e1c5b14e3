"""The words of the target's failures, as the headline has them."""

from campaigns.domain.analysis.failures import everything_failed, failure_words, of_target
from campaigns.domain.metrics.failures import FailureRow


def row(kind, count, status=0, step=0):
    return FailureRow(step, kind, status, count, 0, 0)


def test_failures_are_named_by_their_status_or_their_error():
    for rows, attempts, words in [
        ([row("status_unexpected", 1200, 404)], 1200, "404 Not Found to all 1,200 requests"),
        ([row("status_unexpected", 20, 503)], 100, "20\u202f% failed with 503 Service Unavailable"),
        (
            [row("status_unexpected", 15, 503), row("first_byte_timeout", 5)],
            100,
            "20\u202f% failed, mostly with 503 Service Unavailable",
        ),
        (
            [row("status_unexpected", 900, 404), row("connect_refused", 300)],
            1200,
            "All 1,200 requests failed: 404 Not Found (900), connection refused (300)",
        ),
        ([row("reset", 99_999)], 100_000, "99.999\u202f% failed: connection reset"),
        ([], 100, ""),
    ]:
        assert failure_words(rows, attempts) == words


def test_details_stand_behind_their_kind():
    bad = FailureRow(0, "http_parse", 0, 5, details={"status 999": 1, "two lengths": 4})
    details = "two lengths; status 999"
    assert failure_words([bad], 5) == f"Not an HTTP reply for all 5 requests: {details}"
    assert failure_words([bad], 10) == f"50\u202f% failed: not an HTTP reply: {details}"


def test_what_the_injector_or_a_stop_did_is_not_the_targets_failure():
    rows = [row("client_ports", 5), row("aborted_by_stop", 1), row("reset", 2)]
    assert [each.kind for each in of_target(rows)] == ["reset"]
    assert not everything_failed(rows, 8)
