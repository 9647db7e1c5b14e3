"""Differences of two sides' profiles: their bounds hold, whatever an agent leaves unlisted."""

import numpy as np
import pytest

from campaigns.domain.metrics.profiles import (
    MOST_FUNCTIONS,
    PerfOf,
    Profile,
    ProfiledFunction,
    share_changes,
)
from campaigns.domain.presentation.compared import compared_profiles_table

pytestmark = pytest.mark.pure


def profile_of(samples=100, **counts) -> Profile:
    functions = tuple(ProfiledFunction(n, "nginx", "nginx", name) for name, n in counts.items())
    return Profile(PerfOf.PROCESSES, 0, 10, samples, functions)


def changes(before, after):
    table = compared_profiles_table(before, after, ("old", "new"), "b")
    return [(row.label, row.cells[3].value) for row in table.rows], table.note


def test_only_what_chance_does_not_explain_is_called_a_change():
    few = [profile_of(a=50, b=30)], [profile_of(a=43, b=37)]
    assert changes(*few)[0] == []
    assert "none by more than 2" in changes(*few)[1]
    many = (
        [profile_of(100_000, a=50_000, b=30_000)],
        [profile_of(100_000, a=43_000, b=30_000, d=7_000)],
    )
    rows, note = changes(*many)
    assert rows == [("d", 7.0), ("a", -7.0)]
    assert "by at most 0.5 points" in note


def test_newcombe_s_interval_is_that_of_his_paper():
    """56/70 and 48/80: 0.2 with 0.0524 to 0.3339, his example (a)."""
    (change,) = share_changes([profile_of(80, a=48)], [profile_of(70, a=56)])
    assert (change.low, change.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_a_comparison_without_one_side_s_profile_says_why():
    fault = Profile(PerfOf.PROCESSES, 0, 0, fault="perf is not installed on this machine.")
    table = compared_profiles_table([profile_of(a=1)], [fault], ("old", "new"), "b")
    assert table.rows == ()
    assert "new" in table.note
    assert fault.fault in table.note
    assert compared_profiles_table([], [], ("old", "new"), "b") is None


def test_runs_that_vary_widen_the_bounds():
    def width(*counts):
        (change,) = share_changes(
            [profile_of(1000, a=n) for n in counts], [profile_of(2000, a=1000)]
        )
        return change.high - change.low

    assert width(500, 500) == pytest.approx(width(490, 510))
    assert width(300, 700) > 5 * width(490, 510)


def test_a_function_that_is_not_listed_may_have_as_many_samples_as_the_least_one():
    counts = {f"f{n}": 300 for n in range(MOST_FUNCTIONS)}
    full = profile_of(10_000, **counts)
    (change,) = [
        each
        for each in share_changes([full], [profile_of(10_000, **counts | {"f0": 0, "new": 310})])
        if each.symbol == "new"
    ]
    assert (change.before, change.after) == (0, 0.031)
    assert not change.is_certain


@pytest.mark.parametrize("spread", [1, 8])
def test_all_bounds_of_a_comparison_hold_in_95_of_100(spread):
    """Both sides draw from the same shares; with a spread, runs vary more than binomially."""
    random = np.random.default_rng(7)
    shares = np.array([0.3, 0.2, 0.1, *[0.02] * 20])

    def side():
        runs = []
        for _ in range(5):
            n = 4000
            samples = random.multinomial(n // spread, shares) * spread
            runs.append(profile_of(n, **{f"f{k}": int(each) for k, each in enumerate(samples)}))
        return runs

    n_wrong = sum(
        any(each.is_certain for each in share_changes(side(), side())) for _ in range(200)
    )
    assert n_wrong <= 18
