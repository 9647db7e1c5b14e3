"""Two arms of a campaign that took turns: their difference, from the rounds that both were in."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

from django.db.models import F, Q

from campaigns.compare.queries.arm_pairs import ArmPair
from campaigns.core.cache import Cache
from campaigns.domain.analysis.messages import say
from campaigns.domain.analysis.pair import SPLIT_PARTS, PairResult, Reason
from campaigns.domain.analysis.ratio import RatioInterval
from campaigns.domain.analysis.side_by_side import (
    CONFIDENCE,
    LOOK_CONFIDENCE,
    LOOKS,
    ArmComparison,
    ArmSeconds,
    compare,
    median_us,
    typical_parts_us,
    typical_ratio,
)
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.figures import TYPICAL
from campaigns.domain.metrics.injector_end import ArmsRound, of_all_shards
from campaigns.domain.metrics.snapshot import Second
from campaigns.domain.presentation.intervals import (
    limits_of,
    rounded_left_s,
    seconds_left_words,
    why_no_word,
)
from campaigns.domain.units import counted, duration
from campaigns.models import Campaign, Round, Run
from campaigns.runs.queries.measurements import MeasuredRun

_LIMIT_IS_NEAR = 0.9  # the last round ends before it
_US = 1e6
_STRETCHES = 5  # of a pass, which stand for repeats where a campaign has too few
_ROUNDS_OF_A_STRETCH = 3


def stretches_us(runs: Iterable[MeasuredRun]) -> list[float]:
    """The medians, without the injector's part, of stretches of the rounds of these runs; [] where
    they took no turns. They show what varies within minutes, not what another day changes."""
    stretches = []
    for run in (each.run for each in runs if each.run.frozen.turns):
        for each in passes_of(run.campaign):
            if run in each.runs:
                arm = each.runs.index(run)
                typical_us = [us for line in each.rounds if (us := line.arms[arm].typical_us)]
                size = len(typical_us) // _STRETCHES
                if size >= _ROUNDS_OF_A_STRETCH:
                    starts = range(0, _STRETCHES * size, size)
                    stretches += [median(typical_us[n : n + size]) for n in starts]
    return stretches


def medians_us(campaign: Campaign) -> dict[int, float]:
    """By test, of arms that took turns; of the last pass with any. That of an arm which is compared
    is its reference's, times the ratio of both: one follows from the other."""
    if "medians_us" not in vars(campaign):
        median_by_test: dict[int, float] = {}
        for each in passes_of(campaign):
            tests = [run.test_id for run in each.runs]
            medians = {n: us for n in range(len(tests)) if (us := median_us(each.rounds, n))}
            for arm, reference in each.runs[0].frozen.turns.compared(len(tests)):
                ratio = typical_ratio(each.rounds, arm, reference)
                if ratio and reference in medians:
                    medians[arm] = medians[reference] * ratio
            median_by_test |= {tests[arm]: us for arm, us in medians.items()}
        vars(campaign)["medians_us"] = median_by_test
    return vars(campaign)["medians_us"]


@dataclass(frozen=True, slots=True)
class Pass:
    """Arms that took turns: their runs in the order of the injector, and what each round was, in
    all shards together."""

    runs: Sequence[Run]
    rounds: Sequence[ArmsRound]

    @property
    def rate_per_s(self) -> float:
        """0 of a closed load, and before the trial is over."""
        return self.runs[0].frozen.pace.get("rate_per_s") or 0.0

    @property
    def limit_s(self) -> float:
        return self.runs[0].frozen.turns.limit_s

    @property
    def words(self) -> str:
        """How far it is."""
        arms = f"{len(self.runs)} arms take turns"
        if not self.rounds:
            return f"{arms}. A trial finds the length of a turn."
        most = f"of at most {duration(self.limit_s)}"
        return f"{arms}, {counted(len(self.rounds), 'rounds')} in {self.measured_s:.0f} s {most}"

    @property
    def measured_s(self) -> float:
        """So far, of all arms together."""
        pace = self.runs[0].frozen.pace
        if not (self.rounds and pace):
            return 0.0
        round_s = len(self.runs) * (pace["slice_s"] + pace["gap_s"])
        return self.rounds[-1].began_us / _US + round_s


def passes_of(campaign: Campaign) -> list[Pass]:
    """Those that have begun, in two statements; read once for each row in memory."""
    if "passes" not in vars(campaign):
        vars(campaign)["passes"] = _passes(campaign)
    return vars(campaign)["passes"]


def _passes(campaign: Campaign) -> list[Pass]:
    if campaign.order != Campaign.Order.SIDE_BY_SIDE:
        return []
    lines: dict[int, list[ArmsRound]] = {}
    rows = Round.objects.filter(run__campaign=campaign).order_by("run_id", "number", "shard")
    # What was under way at the look that settled it was no part of it, and might open it again.
    looked_at = rows.filter(Q(run__last_round=None) | Q(number__lte=F("run__last_round")))
    for leader, line in looked_at.values_list("run_id", "line"):
        lines.setdefault(leader, []).append(ArmsRound.from_json(line))
    runs: dict[int, list[Run]] = {}
    for run in Run.objects.filter(campaign=campaign).order_by("position"):
        runs.setdefault(run.leader_id or run.pk, []).append(run)
    return [
        Pass(of_pass, of_all_shards(lines.get(pk, []), of_pass[0].n_shards))
        for pk, of_pass in runs.items()
        if len(of_pass) > 1
    ]


def pass_under_way(campaign: Campaign) -> Pass | None:
    """The one that is measured now."""
    return next((each for each in passes_of(campaign) if each.runs[0].is_active), None)


@dataclass(frozen=True)
class TurnsComparison:
    """What the rounds say of a pair. `rounds` are those of all passes, while they come up to the
    last look."""

    pair: ArmPair
    passes: Sequence[Pass]
    rounds: Sequence[ArmsRound]
    found: ArmComparison
    confidence: float

    @property
    def n_rounds(self) -> int:
        return self.found.n_rounds

    @property
    def has_word(self) -> bool:
        comparison = self.found
        return comparison.word is not None and comparison.p50.confidence >= self.confidence

    @cached_property
    def narrowing(self) -> list[tuple[int, float, ArmComparison]]:
        """(rounds, seconds, what they said) at each look so far."""
        rounds, comparison = self.rounds, self.found
        looks = [look for look in LOOKS if look < len(rounds)] + [len(rounds)] * self.has_word
        args = (comparison.arm, comparison.reference, comparison.threshold, self.confidence)
        looks_so_far = [_look(self.passes, rounds[:n], *args) for n in looks]
        return [(n, n * self._round_s, each) for n, each in zip(looks, looks_so_far, strict=True)]

    @cached_property
    def limits(self) -> list[str]:
        """What else has to be known, a sentence each."""
        pace = self.passes[0].runs[0].frozen.pace
        rates = {name: pace.get(name) for name in ("rate_per_s", "asked_per_s")}
        return limits_of(self.found, self._names, **rates)

    @cached_property
    def judged(self) -> PairResult:
        """The row that has the word."""
        comparison = self.found
        if comparison.p50 is None:
            reason = Reason.ERRORS if comparison.failing else Reason.NO_ROUNDS
            why = why_no_word(comparison, self._names)
            return PairResult(TYPICAL, why=why).without_word(reason, why)
        before = median_us(self.rounds, comparison.reference)
        values = before, before * comparison.p50.ratio
        row = PairResult(TYPICAL, *values).of_rounds(comparison.p50)
        if not self.has_word:
            text = say("no_rounds", needed=LOOKS[0], n=comparison.n_rounds)
            return row.without_word(Reason.NO_ROUNDS, text)
        if comparison.behind:
            return replace(row, word=comparison.word, text=self.limits[0], has_size=False)
        looked_s = len(self.rounds) * self._round_s
        left_s = None if comparison.is_settled else comparison.seconds_left(looked_s)
        row = replace(row, word=comparison.word, or_more=comparison.at_least)
        if left_s is None:
            return row
        left_s += looked_s - self.measured_s
        # Stages take their own time, however much is asked for.
        has_stages = bool(self.passes[0].runs[0].frozen.plan.load.stages)
        more_s = None if has_stages else rounded_left_s(left_s)
        return replace(row, text=seconds_left_words(left_s), more_s=more_s)

    def with_intervals(self, rows: Sequence[PairResult]) -> list[PairResult]:
        """The rows of the runs' figures, each with the ratio of the rounds; of percentiles of the
        seconds, where both arms' seconds of one number hold the same rounds."""
        ratios = {"mean": self.found.mean, "p50": self.found.p50_measured, **self._tails}
        compared = []
        for row in rows:
            ratio = ratios.get(row.metric)
            if row.metric == "mean" and ratio and row.baseline and row.candidate:
                # The means have every request; the rounds, none of those after the last look.
                ratio = ratio.centred(row.candidate / row.baseline)
            compared.append(row.of_rounds(ratio))
        return compared

    @cached_property
    def parts_us(self) -> list[dict[str, float | None]]:
        """Of reference and arm; [] where not all rounds tell them."""
        arms = (self.found.reference, self.found.arm)
        typical = [typical_parts_us(self.rounds, arm) for arm in arms]
        return [] if None in typical else [dict.fromkeys(SPLIT_PARTS) | each for each in typical]

    @cached_property
    def _tails(self) -> Mapping[str, RatioInterval | None]:
        seconds = self._seconds
        seconds_by_arm = ArmSeconds(seconds)
        return seconds_by_arm.ratios(1) if all(seconds) else {}

    def flow_rows(self, flows: Mapping[str, Sequence[Collection[int]]]) -> Iterator[PairResult]:
        """The typical time and the p95 of each flow. `flows`: its steps in both plans, by name."""
        for name, steps in flows.items():
            arms = [
                [each for each in seconds if each.step in own]
                for seconds, own in zip(self._seconds, steps, strict=True)
            ]
            of_flow = ArmSeconds(arms)
            bounds = [each.bounds_us for each in of_flow.figures()]
            for metric, rank in ((TYPICAL, "p50"), ("p95", "p95")):
                if all(each[rank] for each in bounds):
                    low_us = [each[rank][0] for each in bounds]
                    row = PairResult(metric, *low_us, why=say("few_of_flow"))
                    row = row.of_rounds(of_flow.ratio(rank, 1))
                    yield row.of_flow(name, self.found.threshold)

    @cached_property
    def _seconds(self) -> list[list[Second]]:
        """Of the reference and of the arm."""
        arms: list[list[Second]] = [[], []]
        for place, each in enumerate(self.passes):
            ahead = place << 32  # no two passes have a second in common
            for arm, number in zip(arms, (self.found.reference, self.found.arm), strict=True):
                run = each.runs[number]
                if "measured_seconds" not in vars(run):  # read once for all pairs of an answer
                    rows = run.seconds.filter(second__gte=0)
                    vars(run)["measured_seconds"] = [row.value() for row in rows]
                seconds = vars(run)["measured_seconds"]
                arm += [replace(own, second=ahead + own.second) for own in seconds]
        return arms

    @property
    def measured_s(self) -> float:
        return sum(each.measured_s for each in self.passes)

    @property
    def left_s(self) -> float:
        """Until its limit."""
        return sum(each.limit_s for each in self.passes) - self.measured_s

    @property
    def _round_s(self) -> float:
        return self.measured_s / max(1, sum(len(each.rounds) for each in self.passes))

    @property
    def _names(self) -> dict[int, str]:
        return dict(zip((self.found.reference, self.found.arm), self.pair.names, strict=True))


def compared_in_turns(campaign: Campaign, pair: ArmPair) -> TurnsComparison | None:
    """None where the two did not take turns."""
    if not pair.is_of_one_campaign:
        return None
    tests = [arm.test.pk for arm in pair]
    comparisons = [
        (each, [of_pass.index(test) for test in tests])
        for each in passes_of(campaign)
        if set(tests) <= set(of_pass := [run.test_id for run in each.runs])
    ]
    if not comparisons:
        return None
    passes = _at_one_rate([each for each, _ in comparisons])
    rounds = [each for of_pass in passes for each in of_pass.rounds]
    if not campaign.finished_at:
        rounds = rounds[: max((look for look in LOOKS if look <= len(rounds)), default=None)]
    reference, arm = comparisons[0][1]
    threshold = passes[0].runs[0].frozen.turns.threshold
    confidence = LOOK_CONFIDENCE if campaign.until_settled else CONFIDENCE
    said = _look(passes, rounds, arm, reference, threshold, confidence)
    return TurnsComparison(pair, passes, rounds, said, confidence)


def _at_one_rate(passes: Sequence[Pass]) -> Sequence[Pass]:
    """Those at the lowest rate: what was measured at another one is another question."""
    lowest = min((each.rate_per_s for each in passes if each.rounds), default=0.0)
    return [each for each in passes if each.rate_per_s == lowest] or passes[:1]


_LOOKS: Cache[ArmComparison] = Cache(4000)  # those of 30 campaigns of 16 arms


def _look(
    passes: Sequence[Pass],
    rounds: Sequence[ArmsRound],
    arm: int,
    reference: int,
    threshold: float,
    confidence: float,
) -> ArmComparison:
    """What these first rounds of the passes say. Stored rounds do not change, so it is worked out
    once."""
    leaders = tuple((each.runs[0].pk, each.runs[0].t0) for each in passes)
    # Of several shards one may tell its part of a round late.
    which = len(rounds), sum(each.number for each in rounds)
    key = (leaders, *which, arm, reference, threshold, confidence)
    options = {"threshold": threshold, "confidence": confidence}
    return _LOOKS.get(key, lambda: compare(rounds, arm, reference, **options))


def end_of_turns(campaign: Campaign) -> tuple[str, str] | None:
    """The message's code and words; None where no turns were to settle anything, or were cut
    short."""
    passes = passes_of(campaign)
    outcomes = {run.outcome for each in passes for run in each.runs}
    if not campaign.until_settled or outcomes != {Outcome.COMPLETE}:
        return None
    of_arms: dict[tuple[int, ...], list[Pass]] = {}
    for each in passes:
        of_arms.setdefault(tuple(run.test_id for run in each.runs), []).append(each)
    for together in map(_at_one_rate, of_arms.values()):
        rounds = [line for each in together for line in each.rounds]
        turns, n_arms = together[0].runs[0].frozen.turns, len(together[0].runs)
        args, pairs = (turns.threshold, LOOK_CONFIDENCE), turns.compared(n_arms)
        if not all(_look(together, rounds, *pair, *args).is_settled for pair in pairs):
            limit_s = sum(each.limit_s for each in together)
            is_at_limit = sum(each.measured_s for each in together) > _LIMIT_IS_NEAR * limit_s
            code = "at_limit" if is_at_limit else "after_rounds"
            return code, say(code, time=duration(limit_s), n=len(rounds))
    measured_s = sum(each.measured_s for each in passes)
    return "settled", say("settled", time=duration(round(measured_s)))
