"""Are the words right for arms that take turns? Simulated campaigns of two arms, judged by the
product's own functions at its own looks: a campaign ends when it is settled, or after 30 s.

Slices of 0.1 s of a target that takes 3 ms. 2,000 campaigns a cell.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from math import exp

import numpy as np

from benchmarks.figures import GoalRow
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.analysis.side_by_side import LOOK_CONFIDENCE, LOOKS, compare
from campaigns.domain.metrics.rounds import ArmRound, ArmsRound

TRIALS = 2_000
_SLICE_S, _ROUNDS, _BASE_US = 0.1, 150, 3_000.0
_MOST_FALSE, _LEAST_BELOW = 0.01, 0.99

Noise = Callable[[np.random.Generator], np.ndarray]  # log slowdowns of all slices, in time


def _white(source: np.random.Generator) -> np.ndarray:
    return 0.05 * source.standard_normal(2 * _ROUNDS)


def _bursts(source: np.random.Generator) -> np.ndarray:
    """Spells of a busy machine, from a slice to 1.5 s, in which all is much slower."""
    slices = 0.02 * source.standard_normal(2 * _ROUNDS)
    for start in source.integers(0, 2 * _ROUNDS, _ROUNDS // 5):
        slices[start : start + source.integers(1, 15)] += source.exponential(1.0)
    return slices


def _periodic(period_s: float) -> Noise:
    def noise(source: np.random.Generator) -> np.ndarray:
        at_s = np.arange(2 * _ROUNDS) * _SLICE_S + source.random() * period_s
        return 0.5 * (at_s % period_s < period_s / 2) + 0.02 * source.standard_normal(2 * _ROUNDS)

    return noise


def _drift(source: np.random.Generator) -> np.ndarray:
    return np.linspace(0, np.log(2), 2 * _ROUNDS) + 0.03 * source.standard_normal(2 * _ROUNDS)


def _stalls(source: np.random.Generator) -> np.ndarray:
    slices = 0.03 * source.standard_normal(2 * _ROUNDS)
    slices[source.random(2 * _ROUNDS) < 0.05] += 4
    return slices


_NOISES: dict[str, Noise] = {
    "sd 5 %": _white,
    "bursts": _bursts,
    "period of a round": _periodic(2 * _SLICE_S),
    "period 1 s": _periodic(1.0),
    "drift +100 %": _drift,
    "stalls × 55": _stalls,
}


def measure() -> Iterator[GoalRow]:
    source = np.random.default_rng(20_261_129)
    for name, noise in _NOISES.items():
        yield _equal_arms(name, noise, source)
        for effect in (1.1, 1.3, 2.0):
            yield _slower(name, noise, effect, source)


def _equal_arms(name: str, noise: Noise, source: np.random.Generator) -> GoalRow:
    words = Counter(_campaign(noise, 1.0, source)[0] for _ in range(TRIALS))
    false = (words[Word.SLOWER] + words[Word.FASTER]) / TRIALS
    return GoalRow(
        f"side by side, A = A, {name}",
        f"{false:.2%} false words, {words[Word.SAME] / TRIALS:.1%} no practical difference",
        f"≤ {_MOST_FALSE:.0%}",
        false <= _MOST_FALSE and not words[None],
    )


def _slower(name: str, noise: Noise, effect: float, source: np.random.Generator) -> GoalRow:
    found = [_campaign(noise, effect, source) for _ in range(TRIALS)]
    below = float(np.mean([low <= effect for _, low in found]))
    slower = float(np.mean([word is Word.SLOWER for word, _ in found]))
    return GoalRow(
        f"side by side, {effect - 1:+.0%}, {name}",
        f"{slower:.1%} called slower, lower end below the truth in {below:.1%}",
        f"≥ {_LEAST_BELOW:.0%} below",
        below >= _LEAST_BELOW,
    )


def _campaign(
    noise: Noise, effect: float, source: np.random.Generator
) -> tuple[Word | None, float]:
    """(its word when it ended, the lower end of the ratio's interval)"""
    by_round = noise(source).reshape(_ROUNDS, 2)
    first = source.integers(0, 2, _ROUNDS)  # the order is drawn
    rows = np.arange(_ROUNDS)
    slowdowns = by_round[rows, first], by_round[rows, 1 - first]
    own_us = 50 + 1_000 * np.abs(by_round).sum(axis=1)
    rounds = [
        ArmsRound(
            number,
            0,
            (0, 1),
            tuple(
                _arm(_BASE_US * factor * exp(arm[number]), own_us[number])
                for arm, factor in zip(slowdowns, (1.0, effect), strict=True)
            ),
        )
        for number in range(_ROUNDS)
    ]
    for look in (*(each for each in LOOKS if each < _ROUNDS), _ROUNDS):
        found = compare(rounds[:look], 1, confidence=LOOK_CONFIDENCE)
        if found.is_settled:
            break
    return found.word, found.p50.low


def _arm(undelayed_us: float, own_us: float) -> ArmRound:
    measured_us = undelayed_us + own_us
    return ArmRound(
        20,
        p50_us=measured_us,
        p50_undelayed_us=undelayed_us,
        mean_us=measured_us,
        mean_undelayed_us=undelayed_us,
        own_us=own_us,
    )
