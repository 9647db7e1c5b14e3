"""A campaign's sweeps: tests that differ only in one number, of the plan or of the injectors."""

from collections.abc import Sequence

from campaigns.domain.lifecycle import Trust
from campaigns.domain.measured.figures import figures_of
from campaigns.domain.measured.snapshot import total_of
from campaigns.domain.plan.sweep import INJECTORS, parameter_label
from campaigns.domain.shown.results import SweepAnswer
from campaigns.domain.shown.sweep_points import SweepPoint, of_runs, with_speed_up
from campaigns.domain.shown.sweep_table import sweep_table
from campaigns.models import Test
from campaigns.queries.arm_pairs import MeasuredTest
from campaigns.queries.arms import arm_words
from campaigns.queries.measured import MeasuredRun, judged_in_short, target_state_of, trust_of

_DISTURBED = "not all its runs are trusted"


def sweep_answers(arms: Sequence[MeasuredTest]) -> list[SweepAnswer]:
    """One per plan and arm with several values of one number."""
    groups: dict[tuple, list[MeasuredTest]] = {}
    for arm in arms:
        groups.setdefault(_key(arm.test), []).append(arm)
    found = [group for group in groups.values() if len(group) > 1]
    names_target = len({arm.test.endpoint.target_id for arm in arms}) > 1
    names_arm = len({arm_words(arm.test) for arm in arms}) > 1
    return [
        _answer(group, names_target=names_target, names_arm=names_arm or not names_target)
        for group in found
    ]


def _key(test: Test) -> tuple:
    injectors = test.injectors if test.swept else None
    arm = (test.endpoint_id, test.connection_mode)
    return test.plan_version_id, *arm, test.swept, injectors


def _answer(group: list[MeasuredTest], *, names_target: bool, names_arm: bool) -> SweepAnswer:
    first = group[0]
    field = first.test.swept or INJECTORS
    target = first.test.endpoint.target.name if names_target else ""
    arm = ", ".join(filter(None, [arm_words(first.test), target]))
    points = with_speed_up(field, [_point(arm) for arm in group])
    title = f"{first.plan_label}: {arm}, by {_parameter(field)}"
    return SweepAnswer(
        title,
        first.plan_label,
        field,
        arm if names_arm else target,
        sweep_table(f"sweep-{first.test.pk}", title, field, points),
        points,
    )


def _parameter(field: str) -> str:
    return "number of injector processes" if field == INJECTORS else parameter_label(field).lower()


def _point(arm: MeasuredTest) -> SweepPoint:
    test = arm.test
    ended = [each for each in arm.runs if each.run.is_done]
    trusted = [each for each in ended if _is_trusted(each)]
    is_trusted = bool(trusted) and len(trusted) == len(ended)
    shown = trusted if is_trusted else arm.counted or [each for each in ended if each.is_whole]
    figures = _pooled(shown)
    rate, mean_us = of_runs([each.figures for each in shown]) if is_trusted else (None, None)
    return SweepPoint(
        value=test.swept_value if test.swept else test.injectors,
        figures=figures,
        is_trusted=is_trusted,
        is_usable=bool(arm.counted),
        n_trusted=len(trusted),
        n_runs=len(ended),
        trust=trust_of(arm.runs),
        target_state=target_state_of(arm.runs),
        rate=rate,
        mean_us=mean_us,
        why="" if is_trusted else _why_not(ended),
    )


def _is_trusted(each: MeasuredRun) -> bool:
    """A measurement that nobody has doubts about; an overloaded target is a finding."""
    return each.is_whole and each.run.trust in {None, Trust.TRUSTED}


def _pooled(runs: Sequence[MeasuredRun]):
    if not runs:
        return None
    total = total_of(each.total for each in runs)
    return figures_of(total, sum(each.figures.duration_s for each in runs))


def _why_not(ended: Sequence[MeasuredRun]) -> str:
    for each in ended:
        if not _is_trusted(each):
            why = each.why_unusable
            return why or (each.judged and judged_in_short(each.judged)) or _DISTURBED
    return ""
