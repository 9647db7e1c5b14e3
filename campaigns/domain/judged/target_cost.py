"""Does one of two arms cost the target more, in CPU time or network bytes? An amount for each run,
compared as response times are (judged.comparison, judged.ratio)."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from campaigns.domain.judged.comparison import Reason, word_of
from campaigns.domain.judged.ratio import RatioInterval, ratio_interval
from campaigns.domain.judged.repeats import MIN_REPEATS
from campaigns.domain.judged.words import Word
from campaigns.domain.units import figure

# The kernel counts CPU time in hundredths of a second.
TICK_S = 0.01
_WORDS = {Word.SLOWER: "costs more", Word.FASTER: "costs less"}
_WHY = {
    Reason.CI_TOO_WIDE: "The repeats differ too much among themselves.",
    Reason.SIZE_UNCERTAIN: "There is a difference, but it is not clearly a practical one.",
    Reason.RESOLUTION: "The difference is smaller than what was counted can resolve.",
}
_SIDES = ("baseline", "candidate")


@dataclass(frozen=True, slots=True)
class RunCost:
    """What a run cost: CPU seconds per 1,000 requests, or bytes per request. `step`: the least that
    what was counted can tell apart, in the same unit."""

    amount: float
    step: float


@dataclass(frozen=True, slots=True)
class CostDifference:
    """Means over runs; the interval is of the ratio candidate / baseline. `word` is "" with fewer
    than three repeats of both, and `why` says why there is none, or none but inconclusive, or which
    run is not in it."""

    baseline: float | None
    candidate: float | None
    interval: RatioInterval | None
    word: str = ""
    why: str = ""

    @property
    def means(self) -> tuple[float | None, float | None]:
        return self.baseline, self.candidate


def cost_difference(
    baseline: Mapping[int, RunCost],
    candidate: Mapping[int, RunCost],
    *,
    paired: bool,
    threshold: float,
    blocker: str = "",
) -> CostDifference:
    """Of the costs by block. `threshold`: the practical one, 0.05 for 5 %. `blocker`: why no word
    may be said whatever the figures are, such as too many errors."""
    arms = [dict(baseline), dict(candidate)]
    if paired:
        both = baseline.keys() & candidate.keys()
        arms = [{repeat: arm[repeat] for repeat in sorted(both)} for arm in arms]
    values = [[each.amount for each in arm.values()] for arm in arms]
    steps = [max((each.step for each in arm.values()), default=0.0) for arm in arms]
    interval = ratio_interval(
        *values, paired=paired, resolutions=tuple(steps), repeats=tuple(list(arm) for arm in arms)
    ) if all(values) else None  # fmt: skip
    means = [fmean(each) if each else None for each in values]
    return CostDifference(*means, interval, *_word(interval, threshold, max(steps), blocker))


def _word(
    interval: RatioInterval | None, threshold: float, floor: float, blocker: str
) -> tuple[str, str]:
    if interval is None or interval.k < MIN_REPEATS:
        return "", f"A verdict needs {MIN_REPEATS} finished repeats of both."
    if blocker:
        return str(Word.INCONCLUSIVE), blocker
    word, reason, odd = word_of(interval, threshold, floor)
    if odd:
        return str(word), f"Repeat block {odd.repeat}: without it the verdict would be another."
    return _WORDS.get(word, str(word)), _WHY.get(reason, "") or _set_aside_words(interval)


def _set_aside_words(interval: RatioInterval) -> str:
    """Why the word may be another than the means of all runs suggest."""
    return " ".join(
        f"Without repeat block {odd.repeat}, where the {_SIDES[odd.arm]} cost "
        f"{figure(odd.times, 2)} times as much as in the others."
        for odd in interval.set_aside
    )
