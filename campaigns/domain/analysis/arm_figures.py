"""Response times of arms that were measured side by side, each between two bounds, and ratios of
their high percentiles.

The upper bound is as measured: a client saw it. The lower is without what the injector added, in
the quieter half of the seconds: the most that the target can be shown to need.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from campaigns.domain.analysis.side_by_side import percentile_ratio
from campaigns.domain.analysis.signed_rank import Ratio
from campaigns.domain.metrics.figures import figures_of
from campaigns.domain.metrics.quieter import QUIETER, added_us, quieter_half
from campaigns.domain.metrics.snapshot import Second, Timing, Total
from campaigns.domain.percentiles import P50, P90, P95, P99

RANKS = {"p50": P50, "p90": P90, "p95": P95, "p99": P99}


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """`n` are ok. `bounds_us`: by p50, p90 …; None where too few requests lie beyond one.
    `is_timed`: the lower ones are without what the injector added."""

    n: int
    failed: int
    is_timed: bool
    bounds_us: dict[str, tuple[float, float] | None]


class ArmSeconds:
    """The measured seconds of all arms. Those of one number hold the same rounds of each."""

    def __init__(self, arms: Sequence[Sequence[Second]]):
        """`arms`: the seconds of each, all steps, in any order."""
        self._arms = [[second for second in arm if second.second >= 0] for arm in arms]
        numbers = {each.second for arm in self._arms for each in arm}
        self._seconds = [
            [_timings(second for second in arm if second.second == number) for arm in self._arms]
            for number in sorted(numbers)
        ]
        doses = [added_us(second) or 0.0 for second in self._seconds]
        quieter = quieter_half(Counter(doses))
        self._quieter = [number for number, dose in enumerate(doses) if dose in quieter]

    def figures(self) -> list[ArmFigures]:
        """Of each arm."""
        return [self._figures_of(number) for number in range(len(self._arms))]

    def ratios(self, arm: int, reference: int = 0) -> dict[str, Ratio | None]:
        """By p90, p95 and p99; None where there are too few requests for an interval."""
        names = [name for name, rank in RANKS.items() if rank != P50]
        return {name: self.ratio(name, arm, reference) for name in names}

    def ratio(self, name: str, arm: int, reference: int = 0) -> Ratio | None:
        pairs = [
            (self._without_own(number, reference), self._without_own(number, arm))
            for number in self._quieter
        ]
        return percentile_ratio(pairs, RANKS[name])

    def _without_own(self, number: int, arm: int) -> Timing:
        timings = self._seconds[number][arm]
        return timings["undelayed"] if timings["undelayed"].n else timings["response"]

    def _figures_of(self, arm: int) -> ArmFigures:
        response = Timing.together(second[arm]["response"] for second in self._seconds)
        quiet = Timing.together(self._without_own(number, arm) for number in self._quieter)
        figures = figures_of(Total(timings={"response": response, QUIETER: quiet}), 0.0)
        bounds = {
            name: None if (low := figures.low_us(name)) is None else (low, figures.time_us(name))
            for name in RANKS
        }
        failed = sum(each.counters.get("failed", 0) for each in self._arms[arm])
        is_timed = any(second[arm]["undelayed"].n for second in self._seconds)
        return ArmFigures(response.n, failed, is_timed, bounds)


def _timings(seconds: Iterable[Second]) -> dict[str, Timing]:
    rows = list(seconds)
    names = ("response", "sampled", "undelayed")
    return {
        name: Timing.together(each.timings[name] for each in rows if name in each.timings)
        for name in names
    }
