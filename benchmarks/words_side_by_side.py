"""Are the words right for arms that take turns, on a noisy machine? Campaigns of two arms that are
drawn from recorded rounds, judged by the product's own functions at its own looks.

Under each noise the product's injector measures two equal arms. A drawn campaign has stretches of
those rounds, in which each arm gets either turn, and a time that is added to one of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import Pool
from statistics import median

import numpy as np

from benchmarks.figures import GoalRow
from benchmarks.noises import BURNERS, NOISES, QUIET, STOPS, TAKEN, Noise
from benchmarks.turns import REPLY_MS, demo_target, measure_in_turns
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.analysis.side_by_side import (
    LOOK_CONFIDENCE,
    LOOKS,
    ArmComparison,
    compare,
    next_look,
)
from campaigns.domain.metrics.injector_end import ArmRound, ArmsRound

TRIALS, RECORDED_S = 2_000, 60.0
_STRETCH = 25  # rounds, most of which hold a period of each noise
_BASE_SHARE = 0.2  # of the recorded medians: what the target takes where nothing disturbs it
_MOST_FALSE, _LEAST_BELOW = 0.01, 0.99
_US = ("p50_us", "p50_undelayed_us", "mean_us", "mean_undelayed_us")
_US += ("second_quarter_us", "last_quarter_us")
_SOON_S = 10.0
# The least share that is called the same, or slower by an added share.
GOALS: dict[str, dict[float, float]] = {
    QUIET: {0.0: 0.98, 0.1: 0.98, 0.3: 1.0, 1.0: 1.0},
    BURNERS: {0.0: 0.95, 0.1: 0.95, 0.3: 0.99, 1.0: 0.95},
    STOPS: {0.0: 0.60, 0.1: 0.95, 0.3: 0.99, 1.0: 0.95},
    TAKEN: {0.0: 0.75, 0.1: 0.95, 0.3: 0.99, 1.0: 0.99},
}


@dataclass(frozen=True, slots=True)
class Judged:
    """The answer of a campaign that took so long, and of which this was true."""

    found: ArmComparison
    took_s: float
    truth: float

    @property
    def word(self) -> Word | None:
        return self.found.word

    @property
    def is_below(self) -> bool:
        return self.found.p50 is not None and self.found.p50.low <= self.truth


@dataclass(frozen=True, slots=True)
class _Cell:
    """`turns`: both of each recorded round, in the order of time."""

    noise: Noise
    turns: Sequence[tuple[ArmRound, ArmRound]]
    round_s: float
    effect: float

    @property
    def limit_s(self) -> float:
        is_soon = self.effect == 1.0 and self.noise.group != TAKEN
        return _SOON_S if is_soon else self.noise.limit_s

    def line(self) -> GoalRow:
        source = np.random.default_rng(20_261_129)
        base_us = np.quantile(_medians_us(self.turns), _BASE_SHARE)
        planted = [[_later(each, self.effect * base_us) for each in both] for both in self.turns]
        campaigns = [self._campaign(planted, source) for _ in range(TRIALS)]
        return line_of(self.noise, self.effect, campaigns, f" in {self.limit_s:.0f} s")

    def _campaign(
        self, planted: Sequence[Sequence[ArmRound]], source: np.random.Generator
    ) -> Judged:
        n = min(round(self.limit_s / self.round_s), LOOKS[-1])
        starts = source.integers(0, len(self.turns), (n // _STRETCH + 1, 1))
        at = ((starts + np.arange(_STRETCH)) % len(self.turns)).ravel()[:n].tolist()
        first = source.integers(0, 2, n).tolist()
        rounds = [
            ArmsRound(number, 0, (0, 1), (self.turns[k][which], planted[k][1 - which]))
            for number, (k, which) in enumerate(zip(at, first, strict=True))
        ]
        look: int | None = LOOKS[0]
        while look is not None and look < n:
            found = compare(rounds[:look], 1, confidence=LOOK_CONFIDENCE)
            if found.is_settled:
                return Judged(found, look * self.round_s, 1 + self.effect)
            look = next_look(look)
        found = compare(rounds, 1, confidence=LOOK_CONFIDENCE)
        return Judged(found, n * self.round_s, 1 + self.effect)


def measure() -> Iterator[GoalRow]:
    with Pool() as pool:
        for noise in NOISES:
            if not noise.is_possible:
                yield GoalRow(noise.name, "not measured: only root may take cores from others")
                continue
            turns, round_s = _record(noise)
            cells = [_Cell(noise, turns, round_s, effect) for effect in GOALS[noise.group]]
            yield from pool.imap(_Cell.line, cells)


def _record(noise: Noise) -> tuple[list[tuple[ArmRound, ArmRound]], float]:
    with demo_target() as (port, pid), noise.around(pid) as beside:
        settings = {"limit_s": RECORDED_S, "until_settled": False}
        seen = measure_in_turns(port, (REPLY_MS, REPLY_MS), beside, **settings)
    turns = [tuple(each.arms[number] for number in each.order) for each in seen.rounds]
    if any(each.failed for both in turns for each in both):
        raise RuntimeError(f"{noise.name}: the demo target has failed")
    return turns, seen.round_s


def _medians_us(turns: Sequence[tuple[ArmRound, ArmRound]]) -> list[float]:
    known = (each.p50_undelayed_us for both in turns for each in both)
    return [us for us in known if us is not None]


def _later(each: ArmRound, added_us: float) -> ArmRound:
    """As if all of its replies had come so much later."""
    known = {name: value for name in _US if (value := getattr(each, name)) is not None}
    return replace(each, **{name: value + added_us for name, value in known.items()})


def line_of(noise: Noise, effect: float, campaigns: Sequence[Judged], within: str = "") -> GoalRow:
    """Of campaigns of the same noise, with such a share added to one arm."""
    words = [each.word for each in campaigns]
    took_s = sorted(each.took_s for each in campaigns)
    least = GOALS[noise.group][effect]
    wanted = Word.SLOWER if effect else Word.SAME
    right = words.count(wanted) / len(words)
    name = f"{effect:+.0%}" if effect else "A = A"
    measured, goal = f"{right:.1%} {wanted}{within}", f"≥ {least:.0%}"
    is_met = right >= least and None not in words
    if effect:
        below = sum(each.is_below for each in campaigns) / len(campaigns)
        measured += f", lower end true in {below:.1%}"
        goal += f", ≥ {_LEAST_BELOW:.0%}"
        is_met &= below >= _LEAST_BELOW
    else:
        false = sum(word in {Word.SLOWER, Word.FASTER} for word in words) / len(words)
        measured += f", {false:.2%} different"
        goal += f", ≤ {_MOST_FALSE:.0%}"
        is_met &= false <= _MOST_FALSE
    measured += f"; {median(took_s):.0f} s, {took_s[round(0.9 * (len(took_s) - 1))]:.0f} s"
    measured += f"; {words.count(None)} without a word" if None in words else ""
    return GoalRow(f"{name}, {noise.name}", measured, goal, is_met)
