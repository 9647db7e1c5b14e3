"""The simulated targets of `make benchmark ARGS=capacity` are what their names say."""

import numpy as np
import pytest

from benchmarks import capacity
from benchmarks.capacity import CAPACITY, CapacityCase, simulated
from benchmarks.selection import Selection

pytestmark = pytest.mark.pure


def test_simulated_searches_need_no_injector():
    assert not Selection(frozenset({"capacity"})).wants_the_injector


def test_noise_has_its_size_and_its_neighbours_their_likeness():
    noises = capacity._noises(0.8, 300, np.random.default_rng(1))
    assert noises.std() == pytest.approx(1, rel=0.02)
    assert np.mean(noises[:, 1:] * noises[:, :-1]) == pytest.approx(0.8, rel=0.03)


def test_a_steady_target_s_truth_is_its_capacity_and_the_search_finds_it():
    found = simulated(CapacityCase(), 0.01, 20)
    assert [each.truth for each in found] == pytest.approx([CAPACITY] * 20)
    assert all(abs(each.answer.capacity.rate_per_s / CAPACITY - 1) < 0.02 for each in found)


def test_a_soft_knee_has_the_same_capacity():
    found = simulated(CapacityCase(is_soft=True), 0.01, 20)
    assert all(abs(each.answer.capacity.rate_per_s / CAPACITY - 1) < 0.02 for each in found)


def test_a_drifting_target_s_truth_is_its_mean_over_the_searches():
    (found,) = simulated(CapacityCase(drift=0.2), 0.01, 1)
    assert CAPACITY * 1.05 < found.truth < CAPACITY * 1.15


def test_each_cell_says_whether_it_met_its_goal(monkeypatch):
    monkeypatch.setattr(capacity, "TRIALS", 2)
    assert {row.is_met for row in capacity.measure()} <= {True, False}
