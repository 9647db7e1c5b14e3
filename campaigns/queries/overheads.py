"""One test of a campaign against another: the difference, and what blocks a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

from campaigns.domain.analysis.comparison import FLOOR_US, ComparisonVerdict, Reason, verdict
from campaigns.domain.analysis.likeness import like_for_like
from campaigns.domain.analysis.overhead import (
    OverheadRow,
    jumps_us,
    mean_row,
    overhead_rows,
    part_means_us,
    percentile_row,
)
from campaigns.domain.analysis.ratio import OddRun, RatioInterval, Word
from campaigns.domain.analysis.repeats import MIN_REPEATS
from campaigns.domain.metrics.figures import Figures
from campaigns.domain.metrics.histogram import BUCKET_SHARE
from campaigns.domain.metrics.measurement import unlike
from campaigns.domain.percentiles import P50
from campaigns.domain.presentation.overhead_table import forest, overhead_table, split_answer
from campaigns.domain.presentation.results import FlaggedRun, OverheadAnswer
from campaigns.domain.units import counted, percent
from campaigns.models import Campaign
from campaigns.queries.arm_pairs import ArmPair, MeasuredTest
from campaigns.queries.measurements import MeasuredRun, why_each

_MAX_ERROR_SHARE = 0.01
_MAX_ERROR_DIFFERENCE = 0.005
# A user who compares two targets or plans knows that these differ, and so does what follows.
_DIFFERS_BY_CHOICE = {"target", "host", "plan", "reply", "requests a run"}

Blocker = tuple[Reason, str]  # why there can be no verdict, and its sentence


@dataclass(frozen=True)
class Overhead:
    """What the candidate takes more than the baseline, with its verdict, before rendering."""

    pair: ArmPair
    mean: OverheadRow
    judged: OverheadRow  # on which the verdict is
    verdict: ComparisonVerdict
    is_paired: bool
    has_word: bool
    likeness: dict[str, list[list[str]]]
    blocker: str

    @cached_property
    def rows(self) -> list[OverheadRow]:
        """Of all metrics: most comparisons show only one."""
        jumps = jumps_us([each.total for each in self.pair.counted])
        return overhead_rows(
            *_figures(self.pair), **_repeated(self.pair, self.is_paired), jumps=jumps
        )


def compare(
    campaign: Campaign, pair: ArmPair, blockers: Sequence[Blocker] = (), metric: str = "mean"
) -> Overhead:
    """The pair's rows, and the verdict on the one of this metric, "mean" or a percentile, by the
    threshold of the campaign, which is the candidate's. `blockers`: what else speaks against a
    verdict. Tests of two campaigns share no blocks."""
    mean = judged = mean_against(campaign, pair)
    is_paired = _is_paired(campaign, pair)
    if metric != "mean":
        totals = [each.total for each in pair.counted]
        repeated = _repeated(pair, is_paired)
        judged = percentile_row(metric, *_figures(pair), **repeated, totals=totals)
    likeness = like_for_like(*([each.of_arm for each in arm.counted] for arm in pair))
    every_blocker = [*blockers, *_blockers(pair, likeness)]
    return Overhead(
        pair,
        mean,
        judged,
        _verdict(campaign, pair, judged, every_blocker),
        is_paired,
        pair.n_usable >= MIN_REPEATS,
        likeness,
        blocker=next((text for _, text in every_blocker), ""),
    )


def mean_against(campaign: Campaign, pair: ArmPair) -> OverheadRow:
    """The difference of the means alone, without a verdict."""
    return mean_row(*_figures(pair), **_repeated(pair, _is_paired(campaign, pair)))


def _repeated(pair: ArmPair, is_paired: bool) -> dict[str, Any]:
    return {"paired": is_paired, "repeats": tuple(_repeats(arm) for arm in pair)}


def _figures(pair: ArmPair) -> list[list[Figures]]:
    return [[each.figures for each in arm.counted] for arm in pair]


def _is_paired(campaign: Campaign, pair: ArmPair) -> bool:
    return (
        pair.is_of_one_campaign
        and campaign.order == Campaign.Order.BLOCKS
        and _have_whole_blocks(pair)
    )


def _repeats(arm: MeasuredTest) -> list[int]:
    return [each.run.repeat for each in arm.counted]


def _have_whole_blocks(pair: ArmPair) -> bool:
    """Whether both arms have the same blocks, or enough of them for a verdict."""
    ours, theirs = (set(_repeats(arm)) for arm in pair)
    return ours == theirs or len(ours & theirs) >= MIN_REPEATS


def _verdict(
    campaign: Campaign, pair: ArmPair, mean: OverheadRow, blockers: Sequence[Blocker]
) -> ComparisonVerdict:
    spoilt = [each for arm in pair for each in arm.runs if each.run.is_done and not each.is_usable]
    if spoilt and pair.n_usable < MIN_REPEATS:
        return ComparisonVerdict(Word.INCONCLUSIVE, Reason.INVALID_RUNS, _spoilt_words(spoilt))
    return verdict(
        mean.interval,
        campaign.practical_threshold,
        floor=_floor_us(pair, mean),
        blockers=blockers,
        names=pair.names,
    )


def _spoilt_words(spoilt: Sequence[MeasuredRun]) -> str:
    """How many they are, and why the first one is, with how many it is so."""
    alike = [each for each in spoilt if _cause(each) == _cause(spoilt[0])]
    runs = counted(len(spoilt), "runs")
    if len(alike) == len(spoilt):
        return f"{runs} cannot be used. {why_each(alike)}"
    return f"{runs} cannot be used. {len(alike)} of them: {spoilt[0].why_unusable}"


def _cause(spoilt: MeasuredRun) -> str:
    """Runs with the same one differ at most in its figures."""
    if not spoilt.is_whole:
        return spoilt.why_unusable
    judged = spoilt.judged
    return (judged.target if judged.is_usable else judged.measurement).reasons[0].code


def _floor_us(pair: ArmPair, row: OverheadRow) -> float:
    """The smallest difference, µs, that this measurement can resolve: the largest of a fixed floor,
    a histogram's bucket and the arms' median lateness. A median is at most twice the mean. Where
    that decides nothing, no histogram is read."""
    known = max(FLOOR_US, BUCKET_SHARE * (row.candidate_us or 0.0))
    late = [arm.pooled[0].timing("lateness") for arm in pair]
    at_most = 2 * max(each.mean_us or 0.0 for each in late)
    if at_most <= known or _smallest_us(row.interval) > at_most:
        return known
    return max(known, *(each.percentile_us(P50) or 0.0 for each in late))


def _smallest_us(interval: RatioInterval | None) -> float:
    """The smallest difference that a verdict may look at: of all runs, or without an odd one."""
    if interval is None:
        return inf
    looked_at = [interval, *(odd.rest for odd in interval.odd if odd.rest)]
    return min(abs(each.candidate - each.baseline) for each in looked_at)


def _blockers(pair: ArmPair, likeness) -> list[Blocker]:
    found = []
    errors = [arm.error_share for arm in pair if arm.counted]
    if errors and _too_many_errors(errors):
        shares = " and ".join(percent(share) for share in errors)
        found.append((Reason.ERRORS, f"Too many requests failed ({shares}) to compare times."))
    if unlike_names := unlike_by_accident(pair, likeness):
        names = ", ".join(unlike_names)
        found.append(
            (Reason.NOT_LIKE_FOR_LIKE, f"The two are not set up alike. They differ in: {names}.")
        )
    if unlike_loads := _unlike_loads(pair):
        found.append((Reason.UNLIKE_LOAD, unlike_loads))
    if _one_after_the_other(pair):
        found.append(
            (
                Reason.ORDER_CONFOUNDED,
                "All runs of one came before those of the other, so the difference includes "
                "whatever changed in between. Repeat them in counterbalanced blocks.",
            )
        )
    return found


def unlike_by_accident(pair: ArmPair, likeness) -> list[str]:
    """What differs although nobody chose it."""
    names = [row[0] for row in likeness["different"]]
    if not pair.is_chosen:
        return names
    chosen = _DIFFERS_BY_CHOICE | ({"status"} if _have_two_plans(pair) else set())
    return [name for name in names if name not in chosen]


def _have_two_plans(pair: ArmPair) -> bool:
    return pair.baseline.test.plan_version_id != pair.candidate.test.plan_version_id


def _too_many_errors(shares: Sequence[float]) -> bool:
    return max(shares) > _MAX_ERROR_SHARE or max(shares) - min(shares) > _MAX_ERROR_DIFFERENCE


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


def overhead_answer(overhead: Overhead, *, is_final: bool) -> OverheadAnswer:
    """The pair as pages render it. A running campaign gets no verdict before its third repeat."""
    pair, found = overhead.pair, overhead.verdict
    word = found.word if overhead.has_word or is_final else None
    return OverheadAnswer(
        plan_label=pair.candidate.plan_label,
        connection_mode=pair.candidate.test.connection_mode,
        baseline_test_id=pair.baseline.test.pk,
        candidate_test_id=pair.candidate.test.pk,
        title=pair.title,
        table=overhead_table(
            f"overhead-{pair.baseline.test.pk}-{pair.candidate.test.pk}",
            _table_title(pair),
            overhead.rows,
            word,
            found.text,
            pair.names,
        ),
        forest=forest(overhead.rows, word),
        split=split_answer(
            [
                (arm.label, arm.scheme, part_means_us([each.total for each in arm.counted]))
                for arm in pair
            ]
        ),
        word=str(word or ""),
        word_reason=found.text,
        like_for_like=overhead.likeness,
        names=pair.names,
        is_chosen=pair.is_chosen,
        n_usable=pair.n_usable,
        decided_by=_flagged(pair, found.decided_by),
        set_aside=set_aside_of(overhead),
        advice=found.advice,
        counted=tuple({each.run.repeat: each.run.pk for each in arm.counted} for arm in pair),
        is_paired=overhead.is_paired,
        blocker=overhead.blocker,
    )


def _table_title(pair: ArmPair) -> str:
    baseline, candidate = pair
    plan = f"{baseline.plan_label}, " if _have_two_plans(pair) else ""
    return f"{candidate.plan_label}: {candidate.label} against {plan}{baseline.label}"


def set_aside_of(overhead: Overhead) -> tuple[FlaggedRun, ...]:
    """The runs that are too far off to count."""
    odd = overhead.mean.interval.set_aside if overhead.mean.interval else ()
    return tuple(_flagged(overhead.pair, each) for each in odd)


def _flagged(pair: ArmPair, odd: OddRun | None) -> FlaggedRun | None:
    if odd is None:
        return None
    arm = tuple(pair)[odd.arm]
    run = next(each.run for each in arm.runs if each.run.repeat == odd.repeat)
    return FlaggedRun(run.pk, run.label, odd.repeat, pair.names[odd.arm], odd.times)
