"""The simulated campaigns of `make benchmark ARGS=words` are what their names say."""

import numpy as np
import pytest

from benchmarks import words
from benchmarks.selection import Selection
from benchmarks.words import StudyCase

pytestmark = pytest.mark.pure


def test_simulated_words_need_no_injector():
    assert not Selection(frozenset({"words"})).wants_the_injector
    assert Selection(frozenset({"words", "accuracy"})).wants_the_injector
    assert Selection(frozenset()).wants_the_injector


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_its_noise_has_the_autocorrelation_that_it_names(rho):
    series = words._remembering(4000, 20, rho, np.random.default_rng(1))
    assert series.std() == pytest.approx(1, abs=0.02)
    neighbours = np.corrcoef(series[:, 10], series[:, 11])[0, 1]
    assert neighbours == pytest.approx(rho, abs=0.05)


def test_times_rise_to_half_as_much_again_from_the_first_run_to_the_last():
    noise = words._noise(StudyCase(cv=0, rise=0.5), 1, np.random.default_rng(1))
    assert np.exp(noise[0]) == pytest.approx(np.linspace(1, 1.5, 10))


def test_a_campaign_s_arms_take_turns():
    places = words._places(4, 7)
    assert sorted(places.flatten()) == list(range(8))
    first = places[0] < places[1]
    assert list(first[1::2]) == list(~first[::2])


def test_campaigns_have_the_effect_the_stall_and_the_missing_run_of_their_case():
    source = np.random.default_rng(1)
    (slower,) = words._campaigns(StudyCase(cv=1e-6, effect=1.1), 1, source)
    assert (slower.k, slower.ratio) == (5, pytest.approx(1.1, rel=1e-3))
    (short,) = words._campaigns(StudyCase(n_missing=1), 1, source)
    assert short.k == 4
    (hung,) = words._campaigns(StudyCase(stall=80), 1, source)
    assert [run.arm for run in hung.set_aside] == [1]


def test_a_line_tells_the_worst_cell_and_whether_it_is_met(monkeypatch):
    monkeypatch.setattr(words, "TRIALS", 20)
    monkeypatch.setattr(words, "AGAIN", 20)
    line = words._equal_arms("one run × 80", StudyCase(stall=80), np.random.default_rng(1))
    assert line.name == "A = A, one run × 80, paired"
    assert line.goal == "≤ 5%, ≥ 93%"
    assert line.is_met in {True, False}
