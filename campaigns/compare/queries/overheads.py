"""One test of a campaign against another: the difference, and what blocks a verdict."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from campaigns.compare.queries.arm_pairs import ArmPair
from campaigns.compare.queries.side_by_side import TurnsComparison, compared_in_turns, stretches_us
from campaigns.domain.analysis.likeness import like_for_like
from campaigns.domain.analysis.limit import blame
from campaigns.domain.analysis.messages import say
from campaigns.domain.analysis.pair import (
    Blocker,
    PairResult,
    Reason,
    metric_row,
    overhead_rows,
    part_means_us,
    percentile_row,
    times_row,
    widened,
)
from campaigns.domain.analysis.ratio import MIN_REPEATS
from campaigns.domain.analysis.side_by_side import CONFIDENCE, MOST_FAILED
from campaigns.domain.metrics.figures import TYPICAL, Figures, figures_of, typical_metric
from campaigns.domain.metrics.measurement import unlike
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.presentation.overhead_table import (
    OverheadAnswer,
    SplitAnswer,
    forest,
    overhead_table,
    split_answer,
)
from campaigns.domain.units import counted, figure, percent
from campaigns.models import Campaign
from campaigns.runs.queries.measurements import MeasuredRun, flow_steps, flow_totals, why_each

# What failed could have taken any time: from here on it widens the interval of the medians.
_WIDENING_ERROR_SHARE = 0.005
# A user who compares two targets or plans knows that these differ, and so does what follows.
_DIFFERS_BY_CHOICE = {"target", "host", "plan", "reply", "requests a run"}


@dataclass(frozen=True)
class Overhead:
    """What the candidate takes more than the baseline, before rendering. `judged`: the row that has
    the word, of the runs in `sides`. `has_word`: both have enough runs for one."""

    pair: ArmPair
    sides: Sequence[Sequence[MeasuredRun]]
    judged: PairResult
    is_paired: bool
    has_word: bool
    likeness: dict[str, list[list[str]]]
    blocker: str
    turns: TurnsComparison | None = None

    @property
    def word(self) -> str:
        """ "" where there is none, or there will be one with more runs."""
        return str(self.judged.word or "") if self.has_word else ""

    @cached_property
    def rows(self) -> list[PairResult]:
        """Of all metrics: most comparisons show only one."""
        sides = _figures([arm.counted for arm in self.pair], self.is_paired)
        totals = [each.total for each in self.pair.counted]
        rows = overhead_rows(sides, paired=self.is_paired, totals=totals)
        if self.turns:
            complete = [row for row in rows if row.baseline is not None]
            rows = self.turns.with_intervals(complete)
        others = (each for each in rows if each.metric != self.judged.metric)
        return [self.judged, *others, *self.flow_rows]

    def split(self, labels: Sequence[str]) -> SplitAnswer | None:
        """The mean request of both arms by its parts; typical ones of arms that took turns."""
        if self.pair.candidate.has_messages:
            return None  # the parts are those of whole connections
        typical = self.turns.parts_us if self.turns else []
        parts_us = typical or [part_means_us([each.total for each in a.counted]) for a in self.pair]
        schemes = [arm.scheme for arm in self.pair]
        return split_answer(
            [*zip(labels, schemes, parts_us, strict=True)], is_typical=bool(typical)
        )

    @cached_property
    def flow_rows(self) -> list[PairResult]:
        """Of the flows that both plans have."""
        return list(self._flow_rows())

    def _flow_rows(self) -> Iterator[PairResult]:
        sides = [arm.comparable if self.turns else arm.counted for arm in self.pair]
        steps = [flow_steps(side) for side in sides]
        names = [name for name in steps[0] if name in steps[1]]
        if self.turns:
            yield from self.turns.flow_rows({name: [own[name] for own in steps] for name in names})
            return
        if not names:
            return
        totals = [flow_totals(side) for side in sides]
        threshold = self.pair.candidate.test.campaign.practical_threshold
        for name in names:
            figures = [
                {
                    block: figures_of(total, each.figures.duration_s)
                    for block, total, each in zip(
                        _blocks(side, self.is_paired), own[name], side, strict=True
                    )
                }
                for own, side in zip(totals, sides, strict=True)
            ]
            both = [total for own in totals for total in own[name]]
            mean = metric_row("mean", figures, paired=self.is_paired)
            p95 = percentile_row("p95", figures, paired=self.is_paired, totals=both)
            yield from (row.of_flow(name, threshold) for row in (mean, p95))


def _figures(sides: Sequence[Sequence[MeasuredRun]], is_paired: bool) -> list[dict[int, Figures]]:
    return [
        dict(zip(_blocks(side, is_paired), (each.figures for each in side), strict=True))
        for side in sides
    ]


def _blocks(side: Sequence[MeasuredRun], is_paired: bool) -> Sequence[int]:
    """Not paired, runs may be of several campaigns, each of which has a repeat 1."""
    return [each.run.repeat for each in side] if is_paired else range(len(side))


def compare(
    campaign: Campaign, pair: ArmPair, metric: str = "", *, is_busy: bool = False
) -> Overhead:
    """The pair's rows, and the verdict on the one of this metric, "mean" or a percentile, by the
    threshold of the campaign, which is the candidate's. Without a metric on the mean, or on the
    typical time where a busy machine spoilt the mean of the pair, or of what is told beside it
    (`is_busy`), or failures leave it open. Tests of two campaigns share no blocks. Arms that took
    turns are compared by their rounds, whatever the machine did."""
    if turns := compared_in_turns(campaign, pair):
        return _in_turns(campaign, turns, metric)
    if stretches := _stretches(pair):
        row = times_row(TYPICAL, stretches, paired=False)
        overhead = _of_runs(campaign, pair, row, [arm.comparable for arm in pair])
        if not (more := overhead.judged.more):
            return overhead
        # Stretches cannot be added like repeats: what takes longer has more rounds in each.
        times = 1 + more / row.interval.k
        text = say("settle_longer", times=figure(times, 2))
        return replace(overhead, judged=replace(overhead.judged, text=text, more=None))
    is_widened = not metric and _worst_share(pair) > _WIDENING_ERROR_SHARE
    is_typical = (is_busy or pair.is_busy or is_widened) and not metric
    sides = [arm.comparable if is_typical else arm.counted for arm in pair]
    # Both sides have the same blocks, or enough of them for a verdict.
    ours, theirs = ({each.run.repeat for each in side} for side in sides)
    has_blocks = ours == theirs or len(ours & theirs) >= MIN_REPEATS
    in_blocks = campaign.order == Campaign.Order.BLOCKS
    is_paired = pair.is_of_one_campaign and in_blocks and has_blocks
    figures = _figures(sides, is_paired)
    if is_typical:
        metric = typical_metric(each.figures for side in sides for each in side)
    if is_typical or metric in {"", "mean"}:
        row = metric_row(metric or "mean", figures, paired=is_paired)
    else:
        totals = [each.total for each in pair.counted]
        row = percentile_row(metric, figures, paired=is_paired, totals=totals)
    if is_widened:
        row = widened(
            row,
            [
                (arm.error_share, Timing.together(each.total.timing("response") for each in runs))
                for arm in pair
                for runs in [arm.counted]
            ],
        )
    has_word = min(map(len, sides)) >= MIN_REPEATS and pair.n_usable >= MIN_REPEATS
    return _of_runs(campaign, pair, row, sides, is_paired, has_word)


def _of_runs(
    campaign: Campaign,
    pair: ArmPair,
    row: PairResult,
    sides: Sequence[Sequence[MeasuredRun]],
    is_paired: bool = False,
    has_word: bool = True,
) -> Overhead:
    likeness = like_for_like(*([each.of_arm for each in side] for side in sides))
    blockers = pair.blockers
    if _worst_share(pair) > MOST_FAILED:
        shares = " and ".join(percent(arm.error_share) for arm in pair)
        blockers.append((Reason.ERRORS, say("errors", share=shares, where="")))
    blockers += _unlike(pair, likeness)
    if unlike_loads := _unlike_loads(pair):
        blockers.append((Reason.UNLIKE_LOAD, unlike_loads))
    if _one_after_the_other(pair):
        blockers.append((Reason.ORDER_CONFOUNDED, say("order_confounded")))
    if pair.noise and row.interval:
        sizes = [len({each.run.campaign_id for each in side}) for side in sides]
        row = replace(row, interval=row.interval.between_campaigns(pair.noise, sizes))
    row = row.judged(campaign.practical_threshold, blockers=blockers)
    spoilt = [each for arm in pair for each in arm.runs if each.run.is_done and not each.is_usable]
    if spoilt and row.reason is Reason.TOO_FEW_REPEATS:
        alike = [each for each in spoilt if _cause(each) == _cause(spoilt[0])]
        runs = counted(len(spoilt), "runs")
        why = f"{len(alike)} of them: {spoilt[0].why_unusable}"
        if len(alike) == len(spoilt):
            why = why_each(alike)
        row = replace(row, text=f"{runs} cannot be used. {why}")
    blocker = next((text for _, text in blockers), "")
    return Overhead(pair, sides, row, is_paired, has_word, likeness, blocker)


def _stretches(pair: ArmPair) -> list[dict[int, float | None]]:
    """Medians in µs of two campaigns of which one has too few repeats, but has taken turns."""
    if pair.is_of_one_campaign or min(len(arm.comparable) for arm in pair) >= MIN_REPEATS:
        return []
    sides = [
        [each.figures.time_us(TYPICAL) for each in arm.comparable]
        if len(arm.comparable) >= MIN_REPEATS
        else stretches_us(arm.comparable)
        for arm in pair
    ]
    if min(map(len, sides)) < MIN_REPEATS:
        return []
    return [dict(enumerate(side)) for side in sides]


def _in_turns(campaign: Campaign, turns: TurnsComparison, metric: str) -> Overhead:
    pair, verdict = turns.pair, turns.judged
    sides = [arm.comparable for arm in pair]
    likeness = like_for_like(*([each.of_arm for each in side] for side in sides))
    blockers = [*pair.blockers, *_unlike(pair, likeness)]
    if blockers:
        verdict = verdict.without_word(*blockers[0])
    text = next((text for _, text in blockers), "")
    result = Overhead(pair, sides, verdict, True, verdict.word is not None, likeness, text, turns)
    if metric:  # of the rounds, too
        row = next((each for each in result.rows if each.metric == metric), verdict)
        verdict = row.judged(campaign.practical_threshold, blockers=blockers)
    return replace(result, judged=verdict, has_word=verdict.word is not None)


def _cause(spoilt: MeasuredRun) -> str:
    """Runs with the same one differ at most in its figures."""
    if not spoilt.is_whole:
        return spoilt.why_unusable
    judgement = spoilt.judged
    return (judgement.target.reasons[0] if judgement.is_usable else blame(judgement)).code


def _unlike(pair: ArmPair, likeness) -> list[Blocker]:
    names = unlike_by_accident(pair, likeness)
    text = say("not_like_for_like", names=", ".join(names))
    return [(Reason.NOT_LIKE_FOR_LIKE, text)] if names else []


def unlike_by_accident(pair: ArmPair, likeness) -> list[str]:
    """What differs although nobody chose it."""
    names = [row[0] for row in likeness["different"]]
    if not pair.is_chosen:
        return names
    deliberate = _DIFFERS_BY_CHOICE | ({"status"} if _have_two_plans(pair) else set())
    return [name for name in names if name not in deliberate]


def _have_two_plans(pair: ArmPair) -> bool:
    return pair.baseline.test.plan_version_id != pair.candidate.test.plan_version_id


def _worst_share(pair: ArmPair) -> float:
    return max(arm.error_share for arm in pair)


def _unlike_loads(pair: ArmPair) -> str:
    """Why the loads differ, unless the chosen plans ask for different ones."""
    if not pair.counted:
        return ""
    plans = [each.measurement.plan for each in pair.counted]
    if pair.is_chosen and any(plan.load != plans[0].load for plan in plans):
        return ""
    return unlike(plans[0], *([each.measurement for each in arm.counted] for arm in pair))


def _one_after_the_other(pair: ArmPair) -> bool:
    if not pair.is_of_one_campaign:
        return False
    first, second = ([each.run.position for each in arm.counted] for arm in pair)
    if min(len(first), len(second)) < MIN_REPEATS:
        return False
    return max(first) < min(second) or max(second) < min(first)


def overhead_answer(
    overhead: Overhead, *, is_final: bool, is_crowded: bool = False
) -> OverheadAnswer:
    """The pair as pages render it. A running campaign gets no verdict before its third repeat.
    `is_crowded`: no factor is a least one."""
    pair, row = overhead.pair, overhead.judged
    plan = f"{pair.baseline.plan_label}, " if _have_two_plans(pair) else ""
    name = f"{pair.candidate.plan_label}: {pair.candidate.label}"
    word = str(row.word or "") if overhead.has_word or is_final else ""
    return OverheadAnswer(
        plan_label=pair.candidate.plan_label,
        connection_mode=pair.candidate.test.connection_mode,
        baseline_test_id=pair.baseline.test.pk,
        candidate_test_id=pair.candidate.test.pk,
        title=pair.title,
        table=overhead_table(
            f"overhead-{pair.baseline.test.pk}-{pair.candidate.test.pk}",
            f"{name} against {plan}{pair.baseline.label}",
            overhead.rows,
            word,
            row.text,
            pair.names,
            in_turns=overhead.turns is not None,
        ),
        forest=forest(overhead.rows, word),
        split=overhead.split([arm.label for arm in pair]),
        word=word,
        word_reason=row.text,
        like_for_like=overhead.likeness,
        names=pair.names,
        is_chosen=pair.is_chosen,
        n_usable=pair.n_usable,
        more=row.more,
        more_s=row.more_s,
        counted=pair.of_machine,
        is_paired=overhead.is_paired,
        blocker=overhead.blocker,
        confidence=CONFIDENCE if overhead.turns else 0.95,
        narrowing=[
            {
                "rounds": n,
                "seconds": seconds,
                "ratio": look.p50.ratio,
                "low": look.p50.low,
                "high": look.p50.high,
                "word": str(look.word),
                "primary": n == overhead.turns.n_rounds,
            }
            for n, seconds, look in overhead.turns.narrowing
            if look.p50
        ]
        if overhead.turns
        else (),
        at_least=row.or_more and not is_crowded,
        has_size=row.has_size,
    )
