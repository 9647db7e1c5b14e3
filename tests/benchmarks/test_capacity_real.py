"""Real searches of `make benchmark ARGS=capacity-real`: their servers, and what a row counts."""

import json
from collections import Counter

import pytest

from benchmarks.capacity_real import PARTS, Searched, contains_it, row, rows_of
from benchmarks.injected_run import measure
from benchmarks.selection import Selection
from benchmarks.servers import free_ports, program
from campaigns.domain.judged.capacity import CapacityAnswer, Ending, TrialResult
from campaigns.domain.judged.capacity_interval import CapacityInterval

RATE = 100


def searched(ending: Ending, low: float = 950, high: float = 1050, part="bucket-1000") -> dict:
    found = CapacityInterval(1000, low, high, 6)
    results = Counter({TrialResult.PASSED: 20, TrialResult.FAILED: 9, TrialResult.UNTRUSTED: 1})
    one = Searched(CapacityAnswer(ending, found, 900, 1100, ()), 1000, results)
    return json.loads(json.dumps(one.to_json(part, 1, 45.0)))


@pytest.mark.pure
def test_real_searches_start_what_they_need_themselves():
    assert not Selection(frozenset({"capacity-real"})).wants_the_injector


@pytest.mark.pure
def test_a_limit_outside_the_interval_is_not_contained():
    assert contains_it(searched(Ending.FOUND))
    assert not contains_it(searched(Ending.FOUND, low=1001))
    assert not contains_it(searched(Ending.DRIFTED))


@pytest.mark.pure
def test_a_search_without_an_answer_counts_against_the_goal_and_is_named():
    met = row("bucket", [searched(Ending.FOUND)] * 9 + [searched(Ending.DRIFTED)])
    missed = row("bucket", [searched(Ending.FOUND)] * 8 + [searched(Ending.INJECTOR)] * 2)
    assert (met.is_met, missed.is_met) == (True, False)
    assert missed.measured == (
        "contained 8 of 10, 30 trials in 45 s, 10 not counted, 10.0% wide, 2 injector"
    )


@pytest.mark.pure
def test_parts_that_were_measured_apart_are_one_table():
    lines = [searched(Ending.FOUND, part=part) for part in (*reversed(PARTS), "bucket-200")]
    rows = list(rows_of(lines))
    assert [each.name for each in rows] == list(PARTS.values())
    assert rows[0].measured.startswith("contained 2 of 2")


def test_the_planted_limit_is_never_exceeded():
    (port,) = free_ports(1)
    with program("benchmarks.limited_target", str(RATE), str(port), port=port):
        load = {"model": "closed", "connections": 4, "duration_s": 1}
        seen = measure({"steps": [{"path": "/"}], "load": load}, port, core=None)
    assert 0 < seen.total.count("ok") <= RATE * seen.duration_s + 1
