"""The words of the target's failures, as the headline has them."""

import pytest

from campaigns.domain.judged.failures import (
    everything_failed,
    failure_words,
    of_target,
    share_words,
    status_words,
)
from campaigns.domain.measured.failures import FailureRow


def row(kind, count, status=0, step=0):
    return FailureRow(step, kind, status, count, 0, 0)


@pytest.mark.parametrize(
    ("rows", "attempts", "words"),
    [
        (
            [row("status_unexpected", 1200, 404)],
            1200,
            "404 Not Found to all 1,200 requests",
        ),
        ([row("connect_refused", 100)], 100, "Connection refused for all 100 requests"),
        ([row("status_unexpected", 1, 404)], 1, "404 Not Found to the only request"),
        (
            [row("status_unexpected", 20, 503)],
            100,
            "20\u202f% failed with 503 Service Unavailable",
        ),
        ([row("reset", 181)], 1000, "18.1\u202f% failed: connection reset"),
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
        ([row("reset", 1)], 100_000, "0.001\u202f% failed: connection reset"),
        ([], 100, ""),
    ],
)
def test_failures_are_named_by_their_status_or_their_error(rows, attempts, words):
    assert failure_words(rows, attempts) == words


def test_the_same_status_at_several_steps_is_one_cause():
    rows = [row("status_unexpected", 60, 404), row("status_unexpected", 40, 404, step=1)]
    assert failure_words(rows, 100) == "404 Not Found to all 100 requests"


def test_what_the_injector_or_a_stop_did_is_not_the_targets_failure():
    rows = [row("client_ports", 5), row("aborted_by_stop", 1), row("reset", 2)]
    assert [each.kind for each in of_target(rows)] == ["reset"]
    assert not everything_failed(rows, 8)


def test_a_status_without_a_standard_phrase_is_its_number():
    assert (status_words(404), status_words(599)) == ("404 Not Found", "599")


def test_a_share_has_no_needless_zeros():
    assert [share_words(n, 1000) for n in (200, 181, 5)] == [
        "20\u202f%",
        "18.1\u202f%",
        "0.5\u202f%",
    ]
