"""The lines that tell what grows with runs, history and hosts."""

import os
import resource

import pytest

from benchmarks.engine_costs import pss_mb
from benchmarks.page_costs import page_lines

pytestmark = pytest.mark.pure


def cost(**other: float) -> dict:
    met = {"first_ms": 150, "p95_ms": 60, "sent_kb": 150}
    return {"warm_ms": 40, "kb": 900, "statements": 30, **met, **other}


@pytest.mark.parametrize(
    ("missed", "expected"),
    [
        ({}, [True, True, True]),
        ({"first_ms": 151}, [False, True, True]),
        ({"p95_ms": 61}, [True, False, True]),
        ({"sent_kb": 151}, [True, True, False]),
    ],
)
def test_a_page_is_held_to_its_first_view_to_its_later_ones_and_to_what_is_sent(missed, expected):
    assert [line.is_met for line in page_lines("campaign", cost(**missed), 60)] == expected


def test_what_processes_share_is_counted_once():
    whole_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    assert 5 < pss_mb(os.getpid()) <= whole_mb * 1.1
