"""Whether a run came to rest, on synthetic series of 120 s with 2 % of noise."""

import numpy as np
import pytest

from campaigns.domain.analysis.changes import steadiness

SECONDS = np.arange(120)
SEEDS = range(20)


def noisy(series, seed: int) -> list[float]:
    noise = np.random.default_rng(seed).normal(0, 0.02, len(series))
    return list(np.asarray(series) * np.exp(noise))


def spikes(seed: int):
    return np.where(np.random.default_rng(seed).random(120) < 0.03, 100.0, 20.0)


def test_a_level_with_noise_spikes_or_a_short_saw_tooth_is_at_rest():
    for seed in SEEDS:
        saw_tooth = 20 * (1 + 0.3 * (SECONDS % 20) / 20)
        for series in (np.full(120, 20.0), spikes(seed), saw_tooth):
            result = steadiness(noisy(series, seed))
            assert (result.unsteady_share, result.steady_from) == (0, 0)


def test_a_slow_beginning_is_not_at_rest():
    for series, latest in [
        (np.where(SECONDS < 10, 30.0, 20.0), 11),
        (20 * (1 + np.exp(-SECONDS / 5)), 25),
        (20 * (1 + np.exp(-SECONDS / 15)), 60),
    ]:
        for seed in SEEDS:
            result = steadiness(noisy(series, seed))
            assert 0 < result.steady_from <= latest
            assert result.unsteady_share == pytest.approx(result.steady_from / 120)
            assert result.ratio > 1.05


def test_a_target_that_slows_down_was_quicker_before():
    for seed in SEEDS:
        late = steadiness(noisy(np.where(SECONDS < 90, 20.0, 26.0), seed))
        assert (late.steady_from, late.unsteady_share) == (90, 0.75)
        assert late.ratio == pytest.approx(20 / 26, rel=0.02)
        trend = steadiness(noisy(20 * (1 + 0.5 * SECONDS / 120), seed))
        assert trend.unsteady_share > 0.5
        assert trend.ratio < 1


def remembering(n: int, rho: float, seed: int, sd: float = 0.1) -> np.ndarray:
    """Stationary noise in which neighbouring seconds are alike."""
    source = np.random.default_rng(seed)
    values = [source.normal(0, sd)]
    for step in source.normal(0, sd * np.sqrt(1 - rho**2), n - 1):
        values.append(rho * values[-1] + step)
    return np.array(values)


@pytest.mark.long
def test_noise_that_remembers_is_at_rest():
    for rho in [0.0, 0.5, 0.8]:
        for n in [30, 60, 120, 300]:
            runs = [steadiness(20 * np.exp(remembering(n, rho, seed))) for seed in range(100)]
            assert np.mean([each.steady_from > 0 for each in runs]) <= 0.09


@pytest.mark.parametrize("n", [30, 60, 120])
def test_noise_of_which_each_second_has_a_part_for_itself_is_at_rest(n):
    """A p50 of few requests varies on top of a machine that is slower for some seconds."""

    def noise(seed: int) -> np.ndarray:
        lone = np.random.default_rng([n, seed]).normal(0, 0.1, n)
        return remembering(n, 0.8, seed) + lone

    runs = [steadiness(20 * np.exp(noise(seed))) for seed in range(200)]
    assert np.mean([each.steady_from > 0 for each in runs]) <= 0.07


def test_a_warm_up_of_a_fifth_over_ten_seconds_is_found_in_it():
    for rho in [0.0, 0.5]:
        for n in [60, 120, 300]:
            warm_up = 20 * (1 + 0.2 * np.clip(1 - np.arange(n) / 10, 0, 1))
            noise = [np.exp(remembering(n, rho, seed, sd=0.02)) for seed in range(50)]
            runs = [steadiness(warm_up * each) for each in noise]
            assert np.mean([0 < each.steady_from <= 15 and each.ratio > 1 for each in runs]) >= 0.9


@pytest.mark.long
@pytest.mark.parametrize("n", [30, 60, 120, 300])
@pytest.mark.parametrize(("share", "times"), [(0.3, 4 / 3), (0.2, 1.5), (0.15, 3)])
def test_slow_seconds_that_come_again_and_again_are_no_change(n, share, times):
    """Were each a spike, those that happen to be neighbours would be a change of level."""

    def seconds(seed: int) -> np.ndarray:
        is_slow = np.random.default_rng([n, seed]).random(n) < share
        return 20 * np.exp(remembering(n, 0.5, seed, sd=0.02)) * np.where(is_slow, times, 1)

    runs = [steadiness(seconds(seed)) for seed in range(100)]
    assert np.mean([each.steady_from > 0 for each in runs]) <= 0.05


def test_a_run_without_any_noise_changes_where_it_changes():
    assert steadiness([30.0] * 20 + [20.0] * 40).steady_from == 20


def test_what_was_longer_for_a_while_fell_though_most_before_it_was_as_it_is_now():
    for before in [10, 9.8, 8]:
        noise = np.random.default_rng(1).normal(0, 0.02, 300)
        result = steadiness(np.array([before] * 100 + [20] * 60 + [10] * 140) * np.exp(noise))
        assert result.steady_from == pytest.approx(160, abs=3)
        assert result.ratio == pytest.approx(2, rel=0.05)


def test_fewer_than_thirty_seconds_are_not_judged():
    assert steadiness([20.0] * 29) is None
    assert steadiness([20.0] * 30).unsteady_share == 0


def test_an_hour_is_judged_by_blocks_of_seconds():
    result = steadiness(noisy(np.where(np.arange(3600) < 600, 30.0, 20.0), 1))
    assert result.steady_from == 600


def hump(n: int, size: float) -> np.ndarray:
    """1 but for a third of the run, from a fifth of it on, where it is `size`."""
    seconds = np.arange(n)
    return np.where((seconds >= n // 5) & (seconds < n // 5 + n // 3), size, 1.0)


def test_a_stretch_at_another_level_is_found_though_the_run_came_back_from_it():
    for n, size in [(30, 3.0), *((n, size) for n in (60, 120, 600) for size in (1.3, 3.0, 0.5))]:
        for seed in range(20):
            noise = np.exp(remembering(n, 0.5, seed, sd=0.02))
            result = steadiness(20 * hump(n, size) * noise)
            assert result.left_at == pytest.approx(n // 5, abs=n / 60 + 2)
            assert result.steady_from == pytest.approx(n // 5 + n // 3, abs=n / 60 + 2)
            assert result.unsteady_share == (result.steady_from - result.left_at) / n
            assert result.ratio == pytest.approx(size, rel=0.1)


def test_slow_seconds_that_happen_to_be_neighbours_are_no_stretch():
    """Three of ten seconds are a third longer, at random."""
    source = np.random.default_rng(4)
    is_slow = source.random((200, 30)) < 0.3
    runs = [steadiness(20 * np.exp(0.3 * each + source.normal(0, 0.02, 30))) for each in is_slow]
    assert np.mean([bool(each.left_at) for each in runs]) <= 0.01


def test_a_run_that_went_to_another_level_and_to_a_third_one_did_not_come_back():
    noise = np.random.default_rng(1).normal(0, 0.02, 180)
    result = steadiness(np.array([10] * 60 + [20] * 60 + [15] * 60) * np.exp(noise))
    assert (result.left_at, result.steady_from) == (0, 120)
