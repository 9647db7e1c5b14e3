"""What a campaign's arms are drawn as together, if anything: sweeps, a ladder, a matrix."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from campaigns.compare.queries.arm_pairs import ArmPair, MeasuredTest, arm_words
from campaigns.compare.queries.overheads import Overhead, compare
from campaigns.domain.analysis.messages import say
from campaigns.domain.analysis.pair import PairResult
from campaigns.domain.lifecycle import Trust
from campaigns.domain.metrics.figures import figures_of
from campaigns.domain.plan.sweep import INJECTORS, parameter_label
from campaigns.domain.presentation.ladder import Ladder
from campaigns.domain.presentation.sweeps import (
    SweepAnswer,
    SweepPoint,
    of_runs,
    sweep_table,
    with_speed_up,
)
from campaigns.domain.presentation.target_matrix import TargetMatrix
from campaigns.ladder.queries import ladder_of
from campaigns.matrix.queries import target_matrix
from campaigns.models import Campaign
from campaigns.runs.queries.measurements import (
    MeasuredRun,
    judged_in_short,
    pooled_total,
    target_state_of,
    trust_of,
)

_DISTURBED = "not all its runs are trusted"


_Families = dict[tuple[str, str], list[list[MeasuredTest]]]  # by plan and parameter


def _answers(
    campaign: Campaign,
    family: Sequence[list[MeasuredTest]],
    relative: int,
    names: Mapping[int, tuple[str, str]],
) -> Iterator[SweepAnswer]:
    reference = family[relative - 1 if 1 <= relative <= len(family) else 0]
    base = {_value(arm): arm for arm in reference}
    for group in family:
        points = []
        for arm in group:
            other = None if group is reference else base.get(_value(arm))
            against = _against(campaign, other, arm) if other else None
            points.append(replace(_point(arm), against=against))
        first, field = group[0], _field(group[0])
        points = with_speed_up(field, points)
        whole, name = names[first.test.pk]
        injectors = "number of injector processes"
        by = injectors if field == INJECTORS else parameter_label(field).lower()
        title = f"{first.plan_label}: {whole}, by {by}"
        beside = "" if group is reference else names[reference[0].test.pk][1]
        table = sweep_table(f"sweep-{first.test.pk}", title, field, [(name, points)], beside)
        yield SweepAnswer(title, first.plan_label, field, name, table, points, beside)


def _against(campaign: Campaign, base: MeasuredTest, arm: MeasuredTest) -> PairResult:
    """Only where both measure response times, not overload. Of a busy machine the medians without
    the injector's part are compared."""
    for each in (base, arm):
        if not each.comparable:
            return PairResult("mean", text=_why_not(each.ended) or say("no_run"))
        if not (each.counted and each.is_sound):
            return PairResult("mean", text=say("target_overloaded"))
    overhead = compare(campaign, ArmPair(base, arm, is_chosen=True))
    return overhead.judged if overhead.has_word else replace(overhead.judged, word=None)


def _field(arm: MeasuredTest) -> str:
    return arm.test.swept or INJECTORS


def _value(arm: MeasuredTest) -> float:
    return arm.test.swept_value if arm.test.swept else arm.test.injectors


def _point(arm: MeasuredTest) -> SweepPoint:
    ended_runs = arm.ended
    sound = [each for each in ended_runs if _is_trusted(each)]
    is_trusted = bool(arm.ended) and all(map(_is_trusted, arm.ended))
    runs = sound if is_trusted else arm.counted or [each for each in ended_runs if each.is_whole]
    figures = arm.pooled[1] if runs == arm.counted else None
    if runs and runs != arm.counted:
        total = pooled_total(runs, ["response"])
        figures = figures_of(total, sum(each.figures.duration_s for each in runs))
    rate, mean_us = of_runs([each.figures for each in runs]) if is_trusted else (None, None)
    return SweepPoint(
        value=_value(arm),
        figures=figures,
        is_trusted=is_trusted,
        is_usable=bool(arm.counted),
        n_trusted=len(sound),
        n_runs=len(ended_runs),
        trust=trust_of(arm.runs),
        target_state=target_state_of(arm.runs),
        rate=rate,
        mean_us=mean_us,
        why="" if is_trusted else _why_not(ended_runs),
        test_id=arm.test.pk,
        run_id=runs[-1].run.pk if runs else None,
    )


def _is_trusted(each: MeasuredRun) -> bool:
    """A measurement that nobody has doubts about; an overloaded target is a finding."""
    return each.is_whole and each.run.trust in {None, Trust.TRUSTED}


def _why_not(runs: Sequence[MeasuredRun]) -> str:
    for each in runs:
        if not _is_trusted(each):
            why = each.why_unusable
            return why or (each.judged and judged_in_short(each.judged)) or _DISTURBED
    return ""


@dataclass(frozen=True)
class Shapes:
    """Sweeps, several targets side by side, or a ladder. `rungs` is the ladder by its means, which
    the sentence tells, and `ladder_overheads` its comparisons; `ladder` is by the metric that is
    asked for."""

    sweeps: Sequence[SweepAnswer]
    matrix: TargetMatrix | None
    rungs: Ladder | None
    ladder_overheads: Sequence[Overhead]
    ladder: Ladder | None

    @property
    def has_word(self) -> bool:
        return self.rungs is not None and self.rungs.has_word


def shapes_of(
    campaign: Campaign, arms: list[MeasuredTest], relative: int, metric: str, *, is_final: bool
) -> Shapes:
    """`relative`, `metric`: as in `campaign_answer`."""
    # One per plan and arm with several values of one number, arms of one sweep together.
    # `relative`: the arm of each sweep that the others are compared with, from 1; an unknown one is
    # the first.
    groups: dict[tuple, list[MeasuredTest]] = {}
    for arm in arms:
        test = arm.test
        injectors = test.injectors if test.swept else None
        place = test.plan_version_id, test.endpoint_id, test.connection_mode
        groups.setdefault((*place, test.swept, injectors), []).append(arm)
    families: _Families = {}
    for group in groups.values():
        if len(group) > 1:
            families.setdefault((group[0].plan_label, _field(group[0])), []).append(group)
    # What tells the arms of a sweep apart, by test: scheme and mode, with the target where
    # these differ; and the shortest, which may be the target alone.
    has_targets = len({arm.test.endpoint.target_id for arm in arms}) > 1
    has_modes = not has_targets or len({arm_words(arm.test) for arm in arms}) > 1
    names = {}
    for arm in arms:
        target, words = arm.test.endpoint.target.name, arm_words(arm.test)
        whole = f"{words}, {target}" if has_targets else words
        names[arm.test.pk] = whole, whole if has_modes else target
    sweeps = [
        answer
        for family in families.values()
        for answer in _answers(campaign, family, relative, names)
    ]
    # A sweep's tables and curves tell its targets apart at each value.
    # Of two arms in turns, and of all while they narrow, pairs tell more.
    in_pairs = len(arms) == 2 or not is_final
    in_turns = campaign.order == Campaign.Order.SIDE_BY_SIDE
    has_matrix = not (sweeps or (in_turns and in_pairs))
    matrix = target_matrix(campaign, arms, relative) if has_matrix else None
    rungs, ladder_overheads = ladder_of(campaign, arms, is_final=is_final)
    ladder = rungs
    if rungs and metric not in {"", rungs.metric}:
        ladder, _ = ladder_of(campaign, arms, is_final=is_final, metric=metric)
    return Shapes(sweeps, matrix, rungs, ladder_overheads, ladder)
