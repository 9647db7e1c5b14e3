"""The simulated histories of `make benchmark ARGS=changes` are what their names say."""

import numpy as np
import pytest

from benchmarks import changes
from benchmarks.changes import CAMPAIGNS, STEP_AT, HistoryCase, simulated
from benchmarks.selection import Selection

pytestmark = pytest.mark.pure


def histories(case: HistoryCase, n: int = 400) -> np.ndarray:
    source = np.random.default_rng(1)
    return np.stack([simulated(case, source) for _ in range(n)])


def test_simulated_histories_need_no_injector():
    assert not Selection(frozenset({"changes"})).wants_the_injector


def test_its_noise_is_two_percent():
    assert np.log(histories(HistoryCase())).std() == pytest.approx(0.02, rel=0.02)


def test_a_step_a_drift_and_a_weekend_have_their_size():
    step = histories(HistoryCase(step=0.05)).mean(axis=0)
    assert step[STEP_AT:].mean() / step[:STEP_AT].mean() == pytest.approx(1.05, rel=0.002)
    drift = histories(HistoryCase(drift=0.1)).mean(axis=0)
    assert drift[-1] / drift[0] == pytest.approx(1.1, rel=0.01)
    week = histories(HistoryCase(weekend=0.03)).mean(axis=0)
    is_weekend = np.arange(CAMPAIGNS) % 7 >= 5
    assert week[is_weekend].mean() / week[~is_weekend].mean() == pytest.approx(1.03, rel=0.002)


def test_outliers_are_as_many_as_the_case_says():
    values = histories(HistoryCase(outliers=0.03))
    far = np.abs(np.log(values / 20)) > 0.2
    assert far.mean() == pytest.approx(0.03, abs=0.005)


def test_each_cell_says_whether_it_met_its_goal(monkeypatch):
    monkeypatch.setattr(changes, "TRIALS", 2)
    rows = list(changes.measure())
    assert {row.is_met for row in rows if row.goal} <= {True, False}
    assert all(row.is_met is None for row in rows if not row.goal)
