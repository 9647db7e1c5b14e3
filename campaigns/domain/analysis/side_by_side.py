"""Is an arm slower than another that took turns with it? An answer with bounds on any machine.

Of each round the ratio of the medians counts, without what the injector itself added, and of many
rounds only those in which it added least: chosen by all arms together, so blind to which is which.
No round is excluded for noise, and no interval is without a word. Constants: docs/measuring.md.

Response times of arms are told between two bounds. The upper is as measured: a client saw it. The
lower is without what the injector added, in the quieter half of the seconds: the most that the
target can be shown to need.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, inf, log
from statistics import fmean, median

from campaigns.domain.analysis.ratio import (
    RatioInterval,
    Word,
    rank_ratio,
    ratio_of_sums,
    share_left,
    signed_rank,
    word_of,
)
from campaigns.domain.metrics.figures import QUIETER, added_us, figures_of, quieter_half
from campaigns.domain.metrics.injector_end import ArmRound, ArmsRound
from campaigns.domain.metrics.snapshot import Second, Timing, Total
from campaigns.domain.percentiles import P50, P90, P95, P99, WHOLE
from campaigns.domain.plan.turns import FEWEST_ROUNDS, PRACTICAL, TurnsOrder

CONFIDENCE = 0.99
# Rounds after which to look whether it is settled. Each look errs in its share of all that may err.
LOOKS = (FEWEST_ROUNDS, 24, 36, 54, 80, 120, 180, 270, 400)
LOOK_CONFIDENCE = 1 - (1 - CONFIDENCE) / len(LOOKS)
FEWEST_REQUESTS = 5  # of an arm in a round
MOST_FAILED = 0.1
MOST_SPILLED = 0.05
_ENOUGH_FOR_HALVES = 40
_BUILDS_UP = 1.1
_FEWEST_BEYOND = 5  # of a batch, beyond a percentile
_LESS_CONFIDENT = 0.95
RANKS = {"p50": P50, "p90": P90, "p95": P95, "p99": P99}


_SETTLED = {Word.SLOWER, Word.FASTER, Word.SAME}


@dataclass(frozen=True, slots=True)
class ArmComparison:
    """An arm against the reference, by their numbers. `p50` and `typical_mean` are of the quieter
    rounds without the injector's part, `p50_measured` of the same with it, `mean` of all rounds
    with all their stalls.

    `at_least`: what the machine added to both hides a part of the difference, so it may be larger.
    `behind`: arms (numbers) that do not keep up, so that of the size nothing can be said.
    `failing`: arms that fail too often to be compared. `halves`: by "load" (quieter and busier
    rounds) or "time" (first and second), where the two disagree. `n_rounds` are complete.
    """

    arm: int
    reference: int
    word: Word | None
    p50: RatioInterval | None
    p50_measured: RatioInterval | None = None
    typical_mean: RatioInterval | None = None
    mean: RatioInterval | None = None
    at_least: bool = False
    behind: Sequence[int] = ()
    failing: Sequence[int] = ()
    halves: dict[str, tuple[RatioInterval, RatioInterval]] = field(default_factory=dict)
    n_rounds: int = 0
    threshold: float = PRACTICAL

    @property
    def is_settled(self) -> bool:
        """More rounds would not change the word; failing arms are an answer too."""
        return bool(self.failing) or (self.word in _SETTLED and "time" not in self.halves)

    def seconds_left(self, elapsed_s: float) -> float | None:
        """How long it takes to settle; None where nothing tells."""
        if self.p50 is None or self.p50.half_width in (0.0, inf):
            return None
        narrower = share_left(self.p50.ratio, self.p50.half_width, self.threshold)
        return elapsed_s * max(0.1, narrower, FEWEST_ROUNDS / self.n_rounds - 1)


def compare(
    rounds: Sequence[ArmsRound],
    arm: int,
    reference: int = 0,
    *,
    threshold: float = PRACTICAL,
    confidence: float = CONFIDENCE,
) -> ArmComparison:
    """The arm's time over the reference's. `threshold`: 0.05 is 5 %."""
    failing = [each for each in (reference, arm) if _failed_share(rounds, each) > MOST_FAILED]
    whole = [each for each in rounds if _is_complete(each, reference, arm)]
    if failing or len(whole) < 2:
        facts = {"failing": failing, "n_rounds": len(whole), "threshold": threshold}
        return ArmComparison(arm, reference, None, None, **facts)
    quiet, busy = _halves_by_load(whole)

    def logs(some: Sequence[ArmsRound], name: str) -> list[float]:
        return [_undelayed_log_ratio(each, name, arm, reference) for each in some]

    p50 = _p50_ratio(quiet, logs(quiet, "p50"), arm, reference, confidence)
    behind = [each for each in (reference, arm) if keeps_behind(rounds, each)]
    return ArmComparison(
        arm,
        reference,
        # Fewer rounds than this confidence takes leave it open.
        word=word_of(p50.low, p50.high, threshold) if p50.confidence >= confidence else Word.OPEN,
        p50=p50,
        p50_measured=rank_ratio(
            [_log_ratio(each, "p50_us", arm, reference) for each in quiet], confidence
        ),
        typical_mean=rank_ratio(logs(quiet, "mean"), confidence),
        mean=ratio_of_sums(
            *([each.arms[one].mean_us for each in whole] for one in (reference, arm)), confidence
        ),
        at_least=not behind and _hides_a_part(quiet, p50, arm, reference),
        behind=behind,
        halves=dict(_disagreeing(quiet, busy, logs, confidence)),
        n_rounds=len(whole),
        threshold=threshold,
    )


def typical_ratio(rounds: Sequence[ArmsRound], arm: int, reference: int) -> float | None:
    """The value alone of what `compare` finds."""
    whole = [each for each in rounds if _is_complete(each, reference, arm)]
    logs = [_undelayed_log_ratio(each, "p50", arm, reference) for each in quieter_rounds(whole)]
    ratio = rank_ratio(logs, CONFIDENCE)
    return ratio and ratio.ratio


def median_us(rounds: Sequence[ArmsRound], arm: int) -> float | None:
    """Of the rounds that comparisons count, without the injector's part where that is known."""
    times_us = [us for each in quieter_rounds(rounds) if (us := each.arms[arm].typical_us)]
    return median(times_us) if times_us else None

    return median(times_us) if times_us else None


def typical_parts_us(rounds: Sequence[ArmsRound], arm: int) -> dict[str, float] | None:
    """Of each part the median of what it took of usual requests in a round of the quieter half,
    without what the injector added. No bound hangs on it, so few rounds have halves, too."""
    quiet, _ = _halves_by_load(rounds, fewest=2)
    some = [each.arms[arm] for each in quiet if each.arms[arm].n]
    if not some or any(each.parts_us is None for each in some):
        return None
    names = dict.fromkeys(name for each in some for name in each.parts_us)
    return {name: median(each.parts_us.get(name, 0.0) for each in some) for name in names}


def quieter_rounds(rounds: Sequence[ArmsRound]) -> Sequence[ArmsRound]:
    """Those that a comparison counts."""
    return _halves_by_load(rounds)[0]


def next_look(n_rounds: int) -> int | None:
    """After how many rounds to look next, with so many complete; None after the last look."""
    return next((look for look in LOOKS if look > n_rounds), None)


def is_settled(rounds: Sequence[ArmsRound], turns: TurnsOrder, n_arms: int) -> bool:
    """Whether all comparisons that somebody waits for are."""
    confidence = LOOK_CONFIDENCE if turns.until_settled else CONFIDENCE
    settings = {"threshold": turns.threshold, "confidence": confidence}
    return all(
        compare(rounds, arm, reference, **settings).is_settled
        for arm, reference in turns.compared(n_arms)
    )


def keeps_behind(rounds: Sequence[ArmsRound], arm: int) -> bool:
    """Whether much of an arm's work is left over when its turn ends, or grows within a turn."""
    own = [each.arms[arm] for each in rounds]
    return spilled_share(own) > MOST_SPILLED or builds_up(own)


def spilled_share(turns: Sequence[ArmRound]) -> float:
    """In the median calm turn: of its requests those that ended only after it and its pause."""
    shares = [each.spilled / max(1, each.n + each.failed, each.spilled) for each in _calm(turns)]
    return median(shares) if shares else 0.0


def needs_pauses(turns: Sequence[ArmRound]) -> bool:
    """Whether much of the work ends in the pauses: replies are slow, or there is a queue."""
    shares = [each.in_pause / max(1, each.n + each.failed) for each in _calm(turns)]
    return bool(shares) and median(shares) > MOST_SPILLED


def _calm(turns: Sequence[ArmRound]) -> Sequence[ArmRound]:
    """The half in which the injector added least: where the machine stands still, all is late."""
    doses = [each.own_us or 0.0 for each in turns]
    middle = median(doses) if doses else 0.0
    return [each for each, dose in zip(turns, doses, strict=True) if dose <= middle]


def builds_up(turns: Sequence[ArmRound]) -> bool:
    """Whether requests take longer at the end of turns than near their beginning: for sure, or more
    likely than not where pauses hide what a queue would spill."""
    logs = [
        log(max(each.last_quarter_us, 1.0) / max(each.second_quarter_us, 1.0))
        for each in turns
        if each.second_quarter_us is not None and each.last_quarter_us is not None
    ]
    growth = rank_ratio(logs, CONFIDENCE)
    if growth is None or growth.confidence < CONFIDENCE:
        return False
    return (growth.ratio if needs_pauses(turns) else growth.low) > _BUILDS_UP


def percentile_ratio(
    seconds: Sequence[tuple[Timing, Timing]], per_100k: int, confidence: float = CONFIDENCE
) -> RatioInterval | None:
    """Of a high percentile. `seconds`: the same rounds of reference and arm, in order; as many are
    pooled as it takes for some requests to lie beyond it. Few batches allow less confidence; None
    where they allow none."""
    logs = [
        log(max(after.percentile_us(per_100k), 1.0) / max(before.percentile_us(per_100k), 1.0))
        for before, after in _batches(seconds, per_100k)
    ]
    for level in (confidence, _LESS_CONFIDENT):
        if signed_rank(len(logs), level):
            return rank_ratio(logs, level)
    return None


def _is_complete(each: ArmsRound, reference: int, arm: int) -> bool:
    arms = [each.arms[one] for one in (reference, arm)]
    return all(one.n >= FEWEST_REQUESTS and one.p50_us is not None for one in arms)


def _failed_share(rounds: Sequence[ArmsRound], arm: int) -> float:
    n_failed = sum(each.arms[arm].failed for each in rounds)
    return n_failed / max(1, n_failed + sum(each.arms[arm].n for each in rounds))


def _halves_by_load(
    rounds: Sequence[ArmsRound], fewest: int = _ENOUGH_FOR_HALVES
) -> tuple[Sequence[ArmsRound], Sequence[ArmsRound]]:
    """(the rounds that count, the busier half or none)."""
    doses = [fmean([arm.own_us or 0.0 for arm in each.arms]) for each in rounds]
    if len(rounds) < fewest or not any(doses):
        return rounds, ()
    middle = median(doses)
    pairs = list(zip(rounds, doses, strict=True))
    quiet = [each for each, dose in pairs if dose <= middle]
    return quiet, [each for each, dose in pairs if dose > middle]


def _undelayed_log_ratio(each: ArmsRound, name: str, arm: int, reference: int) -> float:
    """Without the injector's part of both arms; with that of both where one was not timed."""
    is_timed = all(each.arms[one].p50_undelayed_us is not None for one in (reference, arm))
    return _log_ratio(each, f"{name}_undelayed_us" if is_timed else f"{name}_us", arm, reference)


def _log_ratio(each: ArmsRound, name: str, arm: int, reference: int) -> float:
    before, after = getattr(each.arms[reference], name), getattr(each.arms[arm], name)
    return log(max(after, 1.0) / max(before, 1.0))


def _p50_ratio(
    rounds: Sequence[ArmsRound], logs: list[float], arm: int, reference: int, confidence: float
) -> RatioInterval:
    """Widened by what failed: had it succeeded, the median would lie somewhere in its bounds."""
    if all(each.arms[one].p50_bounds_us is None for each in rounds for one in (arm, reference)):
        return rank_ratio(logs, confidence)
    lows, highs = [], []
    for each, middle in zip(rounds, logs, strict=True):
        up, down = _reach(each.arms[arm]), _reach(each.arms[reference])
        lows.append(middle + up[0] - down[1])
        highs.append(middle + up[1] - down[0])
    return rank_ratio(logs, confidence, lows, highs)


def _reach(arm: ArmRound) -> tuple[float, float]:
    """How far below and above the median may be, as logarithms."""
    if arm.p50_bounds_us is None:
        return 0.0, 0.0
    low, high = (log(max(bound, 1.0) / max(arm.typical_us, 1.0)) for bound in arm.p50_bounds_us)
    return min(low, 0.0), max(high, 0.0)


def _hides_a_part(
    rounds: Sequence[ArmsRound], ratio: RatioInterval, arm: int, reference: int
) -> bool:
    """A ratio of sums lies between those of their parts: if what was added to both is more alike
    than what was measured, the rest differs by more. Not so where a queue may have made it more."""
    if any(needs_pauses([each.arms[one] for each in rounds]) for one in (reference, arm)):
        return False
    before, after = (
        fmean([each.arms[one].own_us or 0.0 for each in rounds]) for one in (reference, arm)
    )
    # Where it was not timed, nothing is known of what was added.
    if not (before and after):
        return False
    return abs(log(after / before)) < abs(log(ratio.ratio))


def _disagreeing(
    quiet: Sequence[ArmsRound],
    busy: Sequence[ArmsRound],
    logs: Callable[[Sequence[ArmsRound], str], list[float]],
    confidence: float,
) -> Iterator[tuple[str, tuple[RatioInterval, RatioInterval]]]:
    """Halves whose intervals do not overlap."""
    middle = len(quiet) // 2
    for name, first, second in (("load", quiet, busy), ("time", quiet[:middle], quiet[middle:])):
        halves = [rank_ratio(logs(half, "p50"), confidence) for half in (first, second) if half]
        if len(halves) < 2 or any(half is None or half.confidence < confidence for half in halves):
            continue
        if not halves[0].overlaps(halves[1]):
            yield name, (halves[0], halves[1])


def _batches(
    seconds: Sequence[tuple[Timing, Timing]], per_100k: int
) -> Iterable[tuple[Timing, Timing]]:
    fewest = ceil(_FEWEST_BEYOND * WHOLE / (WHOLE - per_100k))
    before: list[Timing] = []
    after: list[Timing] = []
    for one, other in seconds:
        before.append(one)
        after.append(other)
        if min(sum(each.n for each in arm) for arm in (before, after)) >= fewest:
            yield Timing.together(before), Timing.together(after)
            before, after = [], []


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
            [
                {
                    name: Timing.together(
                        each.timings[name]
                        for each in arm
                        if each.second == number and name in each.timings
                    )
                    for name in ("response", "sampled", "undelayed")
                }
                for arm in self._arms
            ]
            for number in sorted(numbers)
        ]
        doses = [added_us(second) or 0.0 for second in self._seconds]
        quieter = quieter_half(Counter(doses))
        self._quieter = [number for number, dose in enumerate(doses) if dose in quieter]

    def figures(self) -> list[ArmFigures]:
        """Of each arm."""
        return [self._figures_of(number) for number in range(len(self._arms))]

    def ratios(self, arm: int, reference: int = 0) -> dict[str, RatioInterval | None]:
        """By p90, p95 and p99; None where there are too few requests for an interval."""
        names = [name for name, rank in RANKS.items() if rank != P50]
        return {name: self.ratio(name, arm, reference) for name in names}

    def ratio(self, name: str, arm: int, reference: int = 0) -> RatioInterval | None:
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
        n_failed = sum(each.counters.get("failed", 0) for each in self._arms[arm])
        is_timed = any(second[arm]["undelayed"].n for second in self._seconds)
        return ArmFigures(response.n, n_failed, is_timed, bounds)
