"""Real searches of `make benchmark ARGS=capacity-real`: their servers, and what a row counts."""

from collections import Counter

import pytest

from benchmarks.capacity_real import Searched, row
from benchmarks.injected_run import measure
from benchmarks.selection import Selection
from benchmarks.servers import free_ports, program
from campaigns.domain.judged.capacity import CapacityAnswer, Ending, TrialResult
from campaigns.domain.judged.capacity_interval import CapacityInterval

RATE = 100


def searched(ending: Ending, low: float = 950, high: float = 1050) -> Searched:
    found = CapacityInterval(1000, low, high, 6)
    results = Counter({TrialResult.PASSED: 20, TrialResult.FAILED: 9, TrialResult.UNTRUSTED: 1})
    return Searched(CapacityAnswer(ending, found, 900, 1100, ()), 1000, results)


@pytest.mark.pure
def test_real_searches_start_what_they_need_themselves():
    assert not Selection(frozenset({"capacity-real"})).wants_the_injector


@pytest.mark.pure
def test_a_limit_outside_the_interval_is_not_contained():
    assert searched(Ending.FOUND).contains_it
    assert not searched(Ending.FOUND, low=1001).contains_it


@pytest.mark.pure
def test_a_search_without_an_answer_counts_against_the_goal_and_is_named():
    met = row("bucket", [searched(Ending.FOUND)] * 9 + [searched(Ending.DRIFTED)])
    missed = row("bucket", [searched(Ending.FOUND)] * 8 + [searched(Ending.INJECTOR)] * 2)
    assert (met.is_met, missed.is_met) == (True, False)
    assert missed.measured == (
        "contained 8 of 10, 30 trials, 10 not counted, 10.0% wide, 2 injector"
    )


def test_the_planted_limit_is_never_exceeded():
    (port,) = free_ports(1)
    with program("benchmarks.limited_target", str(RATE), str(port), port=port):
        load = {"model": "closed", "connections": 4, "duration_s": 1}
        seen = measure({"steps": [{"path": "/"}], "load": load}, port, core=None)
    assert 0 < seen.total.count("ok") <= RATE * seen.duration_s + 1
